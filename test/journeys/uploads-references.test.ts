import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { expectRefusal, useIntake } from '../support/worlds/upload-intake.ts';

// Files that are already on the server: only those in the tenant's folder can be named.
const database = useDatabase();
const root = mkdtempSync(path.join(tmpdir(), 'sluice-references-'));
const folder = path.join(root, 'folder');
const uploads = useUploads(database, { ingestFolder: folder });
const withoutFolder = useUploads(database);
const intake = useIntake(database, [uploads, withoutFolder]);
const { admin, leavingNothing } = intake;

const csv = 'Campaign name,Campaign ID,Day,Impressions,Amount spent (USD)\nSpring,1,2026-03-01,10,1.50\n';

beforeAll(() => {
  const own = path.join(folder, intake.tenantId);
  mkdirSync(path.join(own, 'below'), { recursive: true });
  writeFileSync(path.join(own, 'report.csv'), csv);
  writeFileSync(path.join(own, 'below', 'report.csv'), csv);
  writeFileSync(path.join(own, 'empty.csv'), '');
  for (const place of [root, folder]) writeFileSync(path.join(place, 'secret.csv'), csv);
  symlinkSync(path.join(root, 'secret.csv'), path.join(own, 'way-out.csv'));
  symlinkSync(root, path.join(own, 'way-up'));
  symlinkSync(path.join(own, 'report.csv'), path.join(own, 'alias.csv'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('a reference to a file', () => {
  const referring = (file_ref: unknown, more: object = {}) => ({
    workspace_id: intake.workspaceId,
    platform: 'meta',
    source: 'api',
    file_ref,
    ...more,
  });
  const post = (body: object, server = uploads) => server.call(admin(), '/api/uploads', 'POST', body);

  test.each(['report.csv', 'below/report.csv', 'below/../report.csv', 'alias.csv'])(
    'is followed to %s below the folder',
    async (key) => {
      const answer = await post(
        referring({ adapter: 'folder', key }, { force_partial: true, mapping: { X: null } }),
      );
      expect(answer).toMatchObject({ status: 201, body: { status: 'pending' } });
      expect(await uploads.get(admin(), answer.body.upload_id)).toMatchObject({
        filename: key === 'alias.csv' ? 'report.csv' : path.basename(key),
        force_partial: true,
        mapping: { X: null },
      });
    },
  );

  test.each([
    '../secret.csv',
    'below/../../secret.csv',
    '../../secret.csv',
    path.join(root, 'secret.csv'),
    '/etc/passwd',
    'way-out.csv',
    'way-up/secret.csv',
    'below',
    'nothing.csv',
    'report.csv\0',
    '.',
  ])('is refused for %j as for a missing file', async (key) => {
    const answer = await leavingNothing(() => post(referring({ adapter: 'folder', key })));
    expectRefusal(answer, {
      status: 422,
      code: 'upload_file_ref_refused',
      pointer: '/file_ref/key',
      says: /must name a file in the tenant’s folder/,
    });
    expect(JSON.stringify(answer.body)).not.toContain(folder);
  });

  test('is refused on a server without a folder', async () => {
    const body = referring({ adapter: 'folder', key: 'report.csv' });
    const answer = await leavingNothing(() => post(body, withoutFolder));
    expectRefusal(answer, {
      status: 422,
      code: 'upload_file_ref_refused',
      pointer: '/file_ref',
      says: /multipart/,
    });
  });

  test('is refused with the field when it is malformed', async () => {
    const wrong = { adapter: 's3', key: 'report.csv' };
    const answer = await leavingNothing(() => post(referring(wrong)));
    expectRefusal(answer, {
      status: 400,
      code: 'upload_file_missing',
      pointer: '/file_ref/adapter',
      says: /"folder"/,
    });
    const badField = await leavingNothing(() =>
      post(referring({ adapter: 'folder', key: 'report.csv' }, { review: 'yes' })),
    );
    expectRefusal(badField, {
      status: 400,
      code: 'upload_form_invalid',
      pointer: '/review',
      says: /true or false/,
    });
  });

  test('is refused for an empty file like the file itself', async () => {
    const answer = await leavingNothing(() => post(referring({ adapter: 'folder', key: 'empty.csv' })));
    expectRefusal(answer, {
      status: 422,
      code: 'upload_empty',
      pointer: '/file_ref',
      says: /is empty; .* 1 to/,
    });
  });
});
