import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type FormPart, formBytes, formType, sendBody } from '../generators/multipart-body.ts';
import { type UploadFields, uploadForm, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { expectRefusal, type Refusal, useIntake } from '../support/worlds/upload-intake.ts';

// What is accepted, what is refused, and that a refused file leaves nothing.
const database = useDatabase();
const uploads = useUploads(database);
const intake = useIntake(database, [uploads]);

const csv = 'Campaign name,Campaign ID,Day,Impressions,Amount spent (USD)\nSpring,1,2026-03-01,10,1.50\n';
const mebibyte = 1024 * 1024;

const { admin, leavingNothing } = intake;

const form = 'upload_form_invalid';
const wrongFields: Record<string, { fields: UploadFields; refusal: Refusal }> = Object.fromEntries(
  (
    [
      ['no workspace', { workspace_id: undefined }, '/workspace_id', /UUID of a workspace/],
      ['a workspace that is no id', { workspace_id: 'main' }, '/workspace_id', /UUID of a workspace/],
      ['no platform', { platform: undefined }, '/platform', /"meta"\|"google"\|"tiktok"/],
      ['an unknown platform', { platform: 'bing' }, '/platform', /"meta"\|"google"\|"tiktok"/],
      ['no source', { source: undefined }, '/source', /"manual"\|"api"\|"webhook"/],
      ['an unknown source', { source: 'ftp' }, '/source', /"manual"\|"api"\|"webhook"/],
      ['a client that is no id', { client_id: '17' }, '/client_id', /UUID/],
      ['a long file name', { filename: 'x'.repeat(501) }, '/filename', /500/],
      ['a file name with a NUL', { filename: 'a\0b.csv' }, '/filename', /NUL/],
      ['a long creator', { created_by: 'x'.repeat(201) }, '/created_by', /200/],
      ['a creator with a NUL', { created_by: 'a\0b' }, '/created_by', /NUL/],
      ['force_partial in other words', { force_partial: 'maybe' }, '/force_partial', /true or false/],
      ['review in other words', { review: 'yes' }, '/review', /true or false/],
      ['a mapping that is no JSON', { mapping: '{Day:1}' }, '/mapping', /JSON/],
      ['a mapping that is a list', { mapping: '["Day"]' }, '/mapping', /object|record/],
      ['a mapping to nothing known', { mapping: '{"Day":"date"}' }, '/mapping/Day', /"metric_date"\|/],
      ['a mapping of a NUL', { mapping: '{"D\\u0000ay":"spend"}' }, '/mapping', /NUL/],
      ['a field with a slip', { platfrom: 'meta' }, '/platfrom', /allowed are workspace_id, .*platform/],
    ] as const
  ).map(([what, fields, pointer, says]) => [
    what,
    { fields, refusal: { status: 400, code: form, pointer, says } },
  ]),
);

describe('a form', () => {
  test.each(Object.entries(wrongFields))(
    'is refused with the field and the allowed values: %s',
    async (_, { fields, refusal }) => {
      const answer = await leavingNothing(() =>
        uploads.post(admin(), csv, { workspace_id: intake.workspaceId, ...fields }),
      );
      expectRefusal(answer, refusal);
    },
  );

  test('reports all of its errors at once', async () => {
    const wrong = { workspace_id: 'x', platform: 'bing', source: 'ftp', colour: 'red' };
    const { body } = await leavingNothing(() => uploads.post(admin(), csv, wrong));
    const pointers = (body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers.sort()).toEqual(['/colour', '/platform', '/source', '/workspace_id']);
  });

  test('gets the same response for another tenant’s workspace as for a missing one', async () => {
    const others = await uploads.tenant();
    const answers = [];
    for (const workspaceId of [newId(), others.workspaceId]) {
      const answer = await leavingNothing(() => uploads.post(admin(), csv, { workspace_id: workspaceId }));
      expectRefusal(answer, {
        status: 403,
        code: 'workspace_unknown',
        pointer: '/workspace_id',
        says: /tenant/,
      });
      const { request_id: _, ...body } = answer.body;
      answers.push(JSON.stringify(body).replaceAll(workspaceId, 'ID'));
    }
    expect(answers[0]).toBe(answers[1]);
  });

  test.each(['first', 'last'])('may have its file %s', async (place) => {
    const fields = { workspace_id: intake.workspaceId, platform: 'meta', source: 'api' };
    const parts = Object.entries(fields).map(([name, content]): FormPart => ({ name, content }));
    const file: FormPart = { name: 'file', content: csv, fileName: 'r.csv' };
    const answer = await send(place === 'first' ? [file, ...parts] : [...parts, file]);
    expect(answer).toMatchObject({ status: 201, body: { status: 'pending' } });
    expect(await uploads.get(admin(), String(answer.body.upload_id))).toMatchObject({
      filename: 'r.csv',
      source: 'api',
      total_rows: 0,
    });
  });
});

async function send(parts: FormPart[], options: { isClosed?: boolean } = {}) {
  const headers = { 'content-type': formType, ...(await uploads.server.bearer(admin())) };
  return sendBody(`${uploads.server.url}/api/uploads`, { headers, body: formBytes(parts, options) });
}

function parts(...more: FormPart[]): FormPart[] {
  const fields = { workspace_id: intake.workspaceId, platform: 'meta', source: 'manual' };
  return [...Object.entries(fields).map(([name, content]): FormPart => ({ name, content })), ...more];
}

const file = (content: FormPart['content'], name = 'file'): FormPart => ({
  name,
  content,
  fileName: 'r.csv',
});

const wrongParts: Record<string, { more: FormPart[]; isClosed?: boolean; refusal: Refusal }> = {
  'no file': {
    more: [],
    refusal: { status: 400, code: 'upload_file_missing', pointer: '/file', says: /required.*CSV or JSON/ },
  },
  'its file as a text': {
    more: [{ name: 'file', content: csv }],
    refusal: { status: 400, code: form, pointer: '/file', says: /must be a file/ },
  },
  'its file under another name': {
    more: [file(csv, 'report')],
    refusal: { status: 400, code: form, pointer: '/report', says: /must not be a file/ },
  },
  'two files': {
    more: [file(csv), file(csv)],
    refusal: { status: 400, code: form, pointer: '/file', says: /one file/ },
  },
  'a field twice': {
    more: [{ name: 'platform', content: 'google' }, file(csv)],
    refusal: { status: 400, code: form, pointer: '/platform', says: /once/ },
  },
  'a field twice, behind the file': {
    more: [file(csv), { name: 'platform', content: 'google' }],
    refusal: { status: 400, code: form, pointer: '/platform', says: /once/ },
  },
  'a field that is longer than a field may be': {
    more: [{ name: 'mapping', content: `{"${'x'.repeat(300_000)}":null}` }, file(csv)],
    refusal: { status: 400, code: form, pointer: '/mapping', says: /262144 bytes/ },
  },
  'a field named after a prototype': {
    more: [{ name: '__proto__', content: 'x' }, file(csv)],
    refusal: { status: 400, code: form, says: /allowed are workspace_id/ },
  },
  'more fields than there are': {
    more: [...Array.from({ length: 25 }, (_, n) => ({ name: `field${n}`, content: 'x' })), file(csv)],
    refusal: { status: 400, code: form, says: /allowed are workspace_id/ },
  },
  'no end': {
    more: [file(csv)],
    isClosed: false,
    refusal: { status: 400, code: form, says: /final boundary/ },
  },
  'an empty file': {
    more: [file('')],
    refusal: {
      status: 422,
      code: 'upload_empty',
      pointer: '/file',
      says: /is empty; .* 1 to 52428800 bytes/,
    },
  },
  'a file name with a NUL': {
    more: [{ ...file(csv), fileName: 'a\0b.csv' }],
    refusal: { status: 400, code: form, pointer: '/filename', says: /NUL/ },
  },
  'a very long file name': {
    more: [{ ...file(csv), fileName: `${'n'.repeat(2_000)}.csv` }],
    refusal: { status: 400, code: form, pointer: '/filename', says: /500/ },
  },
};

test.each(Object.entries(wrongParts))('a form with %s is refused and leaves nothing', async (_, wrong) => {
  const { isClosed = true } = wrong;
  const answer = await leavingNothing(() => send(parts(...wrong.more), { isClosed }));
  expectRefusal(answer, wrong.refusal);
});

const binaries: Record<string, { bytes: Buffer; says: RegExp }> = {
  'a picture': { bytes: Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), says: /PNG/i },
  'a document': { bytes: Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1'), says: /PDF/i },
  'a web page': { bytes: Buffer.from('<!DOCTYPE html><html><body>Log in</body></html>'), says: /HTML/ },
  noise: { bytes: Buffer.from(Array.from({ length: 4_000 }, (_, n) => (n * 7_919) % 32)), says: /binary/ },
};

test.each(Object.entries(binaries))(
  '%s is refused by its bytes, whatever its name',
  async (_, { bytes, says }) => {
    const answer = await leavingNothing(() =>
      uploads.post(admin(), bytes, { workspace_id: intake.workspaceId }),
    );
    expectRefusal(answer, { status: 415, code: 'upload_not_text', pointer: '/file', says });
    expect(answer.body.errors).toMatchObject([{ message: expect.stringMatching(/must be a CSV or JSON/) }]);
  },
);

function* exactly(totalBytes: number): Generator<Uint8Array> {
  const piece = Buffer.from('Campaign name,Day,Clicks\n'.repeat(2_000));
  for (let sent = 0; sent < totalBytes; sent += piece.length)
    yield piece.subarray(0, Math.min(piece.length, totalBytes - sent));
}

test('a file of 50 MB is accepted, and one byte more is refused', { timeout: 180_000 }, async () => {
  const answer = await leavingNothing(() => send(parts(file(exactly(50 * mebibyte + 1)))));
  expectRefusal(answer, {
    status: 413,
    code: 'report_too_large',
    pointer: '/file',
    says: /1 to 52428800 bytes/,
  });
  expect(await send(parts(file(exactly(50 * mebibyte))))).toMatchObject({ status: 201 });
});

test('an upload whose connection dies midway leaves nothing', async () => {
  const before = await intake.left();
  const headers = { 'content-type': formType, ...(await uploads.server.bearer(admin())) };
  const sent = request(`${uploads.server.url}/api/uploads`, { method: 'POST', headers, agent: false });
  sent.on('error', () => {});
  for (const chunk of formBytes(parts(file(exactly(mebibyte))), { isClosed: false })) sent.write(chunk);
  await eventually(
    async () => uploads.storedFiles().length > before.stored.length,
    'the first bytes have come',
  );
  sent.destroy();
  await eventually(
    async () => JSON.stringify(await intake.left()) === JSON.stringify(before),
    'the bytes of the aborted upload are gone',
  );
});

test('a body that is neither a form nor JSON is refused', async () => {
  const headers = { ...(await uploads.server.bearer(admin())), 'content-type': 'text/csv' };
  const answer = await leavingNothing(() =>
    fetch(`${uploads.server.url}/api/uploads`, { method: 'POST', headers, body: csv }),
  );
  expect(answer.status).toBe(415);
  expect(await answer.json()).toMatchObject({
    code: 'unsupported_media_type',
    errors: [
      { pointer: '/headers/content-type', message: 'must be one of multipart/form-data, application/json' },
    ],
  });
  const empty = await leavingNothing(() => uploads.call(admin(), '/api/uploads', 'POST', {}));
  expectRefusal(empty, { status: 400, code: 'upload_file_missing', says: /file_ref/, pointer: '/file_ref' });
});

describe('an Idempotency-Key', () => {
  test('returns the same response for the same content and makes one upload', async () => {
    const fields = { workspace_id: intake.workspaceId };
    const key = { 'idempotency-key': newId() };
    const first = await uploads.post(admin(), csv, fields, key);
    expect(first.status).toBe(201);
    const again = await leavingNothing(() => uploads.post(admin(), csv, fields, key));
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
  });

  test('is refused with other bytes or other fields, which leave nothing', async () => {
    const fields = { workspace_id: intake.workspaceId };
    const key = { 'idempotency-key': newId() };
    await uploads.post(admin(), csv, fields, key);
    for (const [content, more] of [
      [`${csv}Spring,1,2026-03-02,10,1.50\n`, {}],
      [csv, { force_partial: 'true' }],
    ] as const) {
      const answer = await leavingNothing(() => uploads.post(admin(), content, { ...fields, ...more }, key));
      expectRefusal(answer, { status: 422, code: 'idempotency_key_reused', says: /different content/ });
    }
  });

  test('belongs to its caller', async () => {
    const key = { 'idempotency-key': newId() };
    const fields = { workspace_id: intake.workspaceId };
    const [a, b] = [
      await uploads.post({ ...admin(), userId: 'a' }, csv, fields, key),
      await uploads.post({ ...admin(), userId: 'b' }, csv, fields, key),
    ];
    expect([a.status, b.status]).toEqual([201, 201]);
    expect(a.body.upload_id).not.toBe(b.body.upload_id);
  });
});

test.each([
  ['service', 'user-x', 'user-x'],
  ['service', undefined, 'me'],
  ['member', 'user-x', 'me'],
  ['admin', 'user-x', 'me'],
] as const)('an upload by %s that names %s is recorded as by %s', async (role, named, recorded) => {
  const claims = { tenantId: intake.tenantId, role, userId: 'me' };
  const fields = { workspace_id: intake.workspaceId, created_by: named };
  const made = await uploads.post(claims, csv, fields);
  expect(await uploads.get(claims, made.body.upload_id)).toMatchObject({ created_by: recorded });
});

test('a tenant with too many waiting jobs is told to retry later', async () => {
  const full = await uploads.tenant();
  await database.owner(`update tenants set limits = '{"queued_jobs": 0}' where tenant_id = $1`, [
    full.tenantId,
  ]);
  const before = uploads.storedFiles();
  const form = uploadForm(csv, { workspace_id: full.workspaceId });
  const answer = await uploads.call({ tenantId: full.tenantId, role: 'admin' }, '/api/uploads', 'POST', form);
  expect(answer).toMatchObject({ status: 429, body: { code: 'quota_exceeded' } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(uploads.storedFiles()).toEqual(before);
});
