import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useS3Server } from '../../../test/support/fakes/s3-server.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { saveFile } from '../../../test/support/worlds/saved-file.ts';
import { newId } from '../../lib/ids.ts';
import { databaseErrors } from '../../lib/postgres/db-errors.ts';
import { createLocalFiles } from './local-files.ts';
import { createS3Files } from './s3-files.ts';
import { getFile, removeFile, sweepOrphans } from './service.ts';
import { listFiles } from './store.ts';
import type { FileRecord, Files } from './types.ts';

const database = useDatabase();
const s3 = useS3Server();
let root = '';
let files: Files;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'sluice-file-service-'));
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

const places = {
  local: () => createLocalFiles({ root }),
  s3: () => createS3Files({ ...s3.access, prefix: 'service/', userAgent: 'test/1' }),
};

function upload(tenantId: string, content = 'hello') {
  const source = Readable.from([content]);
  return {
    tenantId,
    content: source,
    maxBytes: 1000,
    name: 'a.csv',
    mediaType: 'text/csv',
    createdBy: 'ann',
  };
}

function save(tenantId: string, content?: string): Promise<FileRecord> {
  return saveFile({ db: database.db, files }, upload(tenantId, content), async (_tx, file) => file);
}

const everythingOld = { olderThanMs: -60_000 };

describe.each(['local', 's3'] as const)('in %s', (backend) => {
  beforeAll(() => {
    files = places[backend]();
  });
  afterAll(() => files.close());

  test('a saved file has its row and its bytes', async () => {
    const tenantId = await newTenant(database);
    const saved = await save(tenantId);
    const found = await database.db.tenant(tenantId, (tx) => getFile(tx, { tenantId, fileId: saved.fileId }));
    expect(found).toEqual(saved);
    expect(found).toMatchObject({ sizeBytes: 5, storage: backend, name: 'a.csv', createdBy: 'ann' });
    expect(await text(await files.open(found.storageKey))).toBe('hello');
  });

  test('another tenant does not find it', async () => {
    const saved = await save(await newTenant(database));
    const tenantId = await newTenant(database);
    const found = database.db.tenant(tenantId, (tx) => getFile(tx, { tenantId, fileId: saved.fileId }));
    await expect(found).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('when the transaction fails, neither row nor bytes remain', async () => {
    const tenantId = await newTenant(database);
    let storageKey = '';
    const failing = saveFile({ db: database.db, files }, upload(tenantId), async (_tx, file) => {
      storageKey = file.storageKey;
      throw new Error('the job could not be made');
    });
    await expect(failing).rejects.toThrow('the job could not be made');
    expect(await files.exists(storageKey)).toBe(false);
    expect(await database.owner('select file_id from files where tenant_id = $1', [tenantId])).toEqual([]);
  });

  test('when the response to the commit is lost, the bytes stay until the sweep decides', async () => {
    const tenantId = await newTenant(database);
    let storageKey = '';
    const failing = saveFile({ db: database.db, files }, upload(tenantId), async (_tx, file) => {
      storageKey = file.storageKey;
      throw databaseErrors.raise.commit_unknown('lost');
    });
    await expect(failing).rejects.toMatchObject({ code: 'commit_unknown' });
    expect(await files.exists(storageKey)).toBe(true);
  });

  test('removing a file deletes the bytes only after the row’s deletion has committed', async () => {
    const tenantId = await newTenant(database);
    const { fileId, storageKey } = await save(tenantId);
    const rolledBack = database.db.tenant(tenantId, async (tx) => {
      await removeFile(tx, { tenantId, fileId, files });
      throw new Error('changed my mind');
    });
    await expect(rolledBack).rejects.toThrow('changed my mind');
    expect(await files.exists(storageKey)).toBe(true);
    expect(await database.db.tenant(tenantId, (tx) => removeFile(tx, { tenantId, fileId, files }))).toBe(
      true,
    );
    await expect.poll(() => files.exists(storageKey), { timeout: 15_000 }).toBe(false);
    expect(await database.db.tenant(tenantId, (tx) => removeFile(tx, { tenantId, fileId, files }))).toBe(
      false,
    );
  });

  test('files are listed newest first, page by page', async () => {
    const tenantId = await newTenant(database);
    const saved: string[] = [];
    for (let n = 0; n < 5; n += 1) saved.push((await save(tenantId, `${n}`)).fileId);
    const page = (beforeFileId: string | null) =>
      database.db.tenant(tenantId, (tx) => listFiles(tx, { tenantId, beforeFileId, limit: 3 }));
    const first = await page(null);
    const second = await page(first.at(-1)?.fileId ?? null);
    const expected = saved.sort().reverse();
    expect([...first, ...second].map((file) => file.fileId)).toEqual(expected);
  });

  test('the sweep removes bytes without a row, in batches, and keeps those with one, for every tenant', async () => {
    const kept = [await save(await newTenant(database)), await save(await newTenant(database))];
    const orphans: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      orphans.push((await files.store(Readable.from([newId()]), { maxBytes: 100 })).storageKey);
    }
    const young = await sweepOrphans({ db: database.db, files });
    expect(young.looked).toBe(0);
    const bounded = await sweepOrphans({ db: database.db, files }, { ...everythingOld, limit: 1 });
    expect(bounded).toMatchObject({ looked: 1, complete: false });
    const swept = await sweepOrphans({ db: database.db, files }, { ...everythingOld, batchSize: 2 });
    expect(swept.complete).toBe(true);
    for (const orphan of orphans) expect(await files.exists(orphan)).toBe(false);
    for (const file of kept) expect(await files.exists(file.storageKey)).toBe(true);
  });
});
