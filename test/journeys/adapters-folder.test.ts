import { appendFile, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { picture } from '../generators/images.ts';
import { zipOf } from '../generators/zip-archive.ts';
import { type Tenant, useAdapters, visibleJobs } from '../support/servers/adapter-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const adapters = useAdapters(database);
let tenant: Tenant;

const at = (name: string) => path.join(tenant.folder, name);
/** Old enough that no write can still be in progress. */
const old = new Date(Date.now() - 3_600_000);

async function drop(name: string, text: string | Buffer = 'sku,title\n1,one\n2,two\n'): Promise<void> {
  await writeFile(at(name), text);
  await utimes(at(name), old, old);
}

/** The first scan only finds the file; the second takes it in. */
async function scanTwice(name = 'in') {
  await adapters.scan(tenant, name);
  return adapters.scan(tenant, name);
}

beforeEach(async () => {
  tenant = await adapters.tenant();
});

describe('a folder', () => {
  test('gives one job per file after two scans, and a third scan finds nothing new', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder' });
    await drop('a.csv');
    await drop('b.csv', 'sku\n1\n2\n3\n');
    const first = await adapters.scan(tenant, 'in');
    expect(first).toMatchObject({ seen: 2, ingested: 0, waiting: 2, error: null });
    expect(first.files[0]?.reason).toContain('may still be written to');
    const second = await adapters.scan(tenant, 'in');
    expect(second).toMatchObject({ seen: 2, ingested: 2, waiting: 0, failed: 0 });
    expect(second.files.map(({ path: name, outcome }) => [name, outcome])).toEqual([
      ['a.csv', 'ingested'],
      ['b.csv', 'ingested'],
    ]);
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 2, ingested: 0, duplicates: 0 });
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 3]);
    expect(await adapters.get(tenant, 'in')).toMatchObject({
      state: 'ok',
      files: { ingested: 2, waiting: 0 },
      last_error: null,
    });
  });

  test('takes a file once although it is dropped twice, renamed or touched', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder' });
    await drop('a.csv');
    await drop('copy of a.csv');
    expect(await scanTwice()).toMatchObject({ ingested: 1, duplicates: 1 });
    await rename(at('a.csv'), at('z.csv'));
    expect(await scanTwice()).toMatchObject({ ingested: 0, duplicates: 1 });
    const touched = new Date(old.getTime() + 60_000);
    await utimes(at('z.csv'), touched, touched);
    expect(await scanTwice()).toMatchObject({ ingested: 0, duplicates: 1 });
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 0, duplicates: 0, waiting: 0 });
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2]);
    const files = await adapters.files(tenant, 'in');
    const original = files.find(({ state }) => state === 'ingested');
    for (const copy of files.filter(({ state }) => state === 'duplicate')) {
      expect(copy).toMatchObject({ duplicate_of: original?.file_id, jobId: original?.jobId });
      expect(copy.reason).toContain('a.csv');
    }
  });

  test('keeps one record of a file that is touched after it was taken in', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder' });
    await drop('a.csv');
    await scanTwice();
    const [before] = await adapters.files(tenant, 'in');
    const touched = new Date(old.getTime() + 60_000);
    await utimes(at('a.csv'), touched, touched);
    await scanTwice();
    const after = await adapters.files(tenant, 'in');
    expect(after).toHaveLength(1);
    expect(after[0]).toMatchObject({ file_id: before?.file_id, jobId: before?.jobId, state: 'ingested' });
    expect(after[0]?.version).not.toBe(before?.version);
  });

  test('takes new content under an old name as a new file', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder' });
    await drop('a.csv');
    await scanTwice();
    await drop('a.csv', 'sku\n7\n8\n9\n');
    expect(await scanTwice()).toMatchObject({ ingested: 1 });
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 3]);
  });

  test('leaves a file alone that grows between two scans, and takes it whole when it stops growing', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 600 });
    await writeFile(at('a.csv'), 'sku\n1\n');
    await adapters.scan(tenant, 'in');
    await appendFile(at('a.csv'), '2\n');
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ waiting: 1, ingested: 0 });
    // Unchanged since the last look, and yet younger than settle_seconds.
    const young = await adapters.scan(tenant, 'in');
    expect(young).toMatchObject({ waiting: 1, ingested: 0 });
    expect(young.files[0]?.reason).toContain('changed a moment ago');
    await utimes(at('a.csv'), old, old);
    expect(await scanTwice()).toMatchObject({ ingested: 1 });
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2]);
  });

  test('ignores hidden and unfinished names, links, and names that do not match', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', pattern: '*.csv' });
    for (const name of ['.a.csv', 'a.csv.part', 'b.tmp', 'c.filepart', 'd.json']) await drop(name);
    await symlink('/etc/hostname', at('link.csv'));
    await mkdir(at('folder.csv'));
    await drop('E.CSV');
    expect(await scanTwice()).toMatchObject({ seen: 1, ingested: 1 });
  });

  test('forgets a waiting file that was removed', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder' });
    await drop('a.csv');
    await adapters.scan(tenant, 'in');
    await rm(at('a.csv'));
    await adapters.scan(tenant, 'in');
    expect(await adapters.files(tenant, 'in')).toEqual([]);
  });

  test('takes everything in the first scan when files need not rest', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0 });
    await writeFile(at('a.csv'), 'sku\n1\n');
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1 });
  });
});

describe('after a file was dealt with', () => {
  test('it is moved to done or failed without overwriting another file, and is not found again', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', path: 'inbox', after: 'move', settle_seconds: 0 });
    await mkdir(at('inbox'));
    await drop('inbox/a.csv');
    await drop('inbox/bad.csv', 'sku\n"never closed\n');
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, failed: 1, moved: 2 });
    expect(await readdir(at('inbox/done'))).toEqual(['a.csv']);
    expect(await readdir(at('inbox/failed'))).toEqual(['bad.csv']);
    await drop('inbox/a.csv', 'sku\n5\n');
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 1, ingested: 1, moved: 1 });
    const done = await readdir(at('inbox/done'));
    expect(done).toHaveLength(2);
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 1]);
    const files = await adapters.files(tenant, 'in');
    expect(files.map(({ moved_to }) => moved_to?.split('/')[1]).sort()).toEqual([...done, 'bad.csv'].sort());
  });

  test('the same file, equal to the last bit and second, is recognised by its content', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', after: 'move', settle_seconds: 0 });
    await drop('a.csv');
    await adapters.scan(tenant, 'in');
    await drop('a.csv');
    expect(await adapters.scan(tenant, 'in')).toMatchObject({
      seen: 1,
      ingested: 0,
      duplicates: 1,
      moved: 1,
    });
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2]);
  });

  test('a missed move is made up for by the next scan', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', after: 'move', settle_seconds: 0, pattern: '*.csv' });
    await drop('a.csv');
    // Where the folder should be is a file: nothing can be moved there.
    await writeFile(at('done'), '');
    const first = await adapters.scan(tenant, 'in');
    expect(first).toMatchObject({ moved: 0 });
    expect(first.files.find(({ outcome }) => outcome === 'not_moved')?.reason).toContain(
      'could not be moved',
    );
    await rm(at('done'));
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 0, duplicates: 0 });
    expect(await readdir(at('done'))).toContain('a.csv');
  });
});

describe('a file that failed', () => {
  test('has its reason, is not retried by itself, and is taken in by a retry when it is readable', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0, after: 'move' });
    await drop('bad.csv', 'sku\n"never closed\n');
    await adapters.scan(tenant, 'in');
    const [failed] = await adapters.files(tenant, 'in', '&state=failed');
    expect(failed).toMatchObject({ state: 'failed', moved_to: 'failed/bad.csv' });
    expect(failed?.reason).toBeTruthy();
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 0, failed: 0 });
    await writeFile(at('failed/bad.csv'), 'sku\n1\n');
    expect(await adapters.retry(tenant, 'in', failed?.file_id ?? '')).toMatchObject({
      status: 200,
      body: { state: 'waiting' },
    });
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, moved: 1 });
    const [now] = await adapters.files(tenant, 'in');
    expect(now).toMatchObject({ state: 'ingested', moved_to: 'done/bad.csv', reason: null });
    expect(await adapters.retry(tenant, 'in', failed?.file_id ?? '')).toMatchObject({ status: 409 });
  });

  test('reports that it is gone when its retry cannot find it', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0, after: 'move' });
    await drop('bad.csv', '');
    await adapters.scan(tenant, 'in');
    const [failed] = await adapters.files(tenant, 'in');
    await rm(at('failed/bad.csv'));
    await adapters.retry(tenant, 'in', failed?.file_id ?? '');
    await adapters.scan(tenant, 'in');
    expect((await adapters.files(tenant, 'in'))[0]).toMatchObject({ reason_code: 'adapter_file_gone' });
  });
});

describe('a folder adapter', () => {
  test('reads only below its tenant’s own folder, despite links and upward paths', async () => {
    const other = await adapters.tenant();
    await writeFile(path.join(other.folder, 'theirs.csv'), 'sku\n1\n');
    await symlink(other.folder, at('sideways'));
    await adapters.put(tenant, 'in', { kind: 'folder', path: 'sideways', settle_seconds: 0 });
    expect(await adapters.scan(tenant, 'in')).toMatchObject({
      seen: 0,
      error_code: 'adapter_folder_missing',
    });
    const upward = { kind: 'folder', path: `../${other.tenantId}`, target: { kind: 'items' } };
    const answer = await adapters.call(tenant, '/api/ingestion/adapters/up', { method: 'PUT', body: upward });
    expect(answer.status).toBe(400);
    await symlink(other.folder, at('done'));
    await adapters.put(tenant, 'in', { kind: 'folder', after: 'move', settle_seconds: 0 });
    await drop('a.csv');
    await adapters.scan(tenant, 'in');
    expect(await readdir(other.folder)).toEqual(['theirs.csv']);
  });

  test('reports a missing folder, and continues when the folder exists', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', path: 'later', settle_seconds: 0, every_minutes: 60 });
    expect(await adapters.check(tenant, 'in')).toMatchObject({
      ok: false,
      error_code: 'adapter_folder_missing',
    });
    await adapters.scan(tenant, 'in');
    await adapters.scan(tenant, 'in');
    const failing = await adapters.get(tenant, 'in');
    expect(failing).toMatchObject({ state: 'failing', failures_in_row: 2 });
    expect(failing.last_error).toContain('does not exist');
    // The next try comes much sooner than the schedule says.
    expect(Date.parse(failing.next_scan_at ?? '')).toBeLessThan(Date.now() + 50 * 60_000);
    await mkdir(at('later'));
    await drop('later/a.csv');
    expect(await adapters.check(tenant, 'in')).toMatchObject({ ok: true, files: ['a.csv'], error: null });
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, error: null });
    expect(await adapters.get(tenant, 'in')).toMatchObject({
      state: 'ok',
      failures_in_row: 0,
      last_error: null,
    });
  });

  test('takes rows and images when it has no processor', async () => {
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0, target: { kind: 'items' } });
    await drop('rows.csv', 'sku\n1\n2\n');
    await drop('picture.png', await picture().png().toBuffer());
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 2, failed: 0 });
    const jobs = await database.owner(
      'select processor, job_type as type from item_jobs where tenant_id = $1 order by processor',
      [tenant.tenantId],
    );
    expect(jobs).toEqual([
      { processor: 'image', type: 'image' },
      { processor: 'noop', type: 'csv' },
    ]);
  });

  test('makes one upload of each report when its target is uploads', async () => {
    const [workspace] = await database.owner<{ id: string }>(
      `insert into workspaces (tenant_id, workspace_id, name) values ($1, gen_random_uuid(), 'W')
       returning workspace_id as id`,
      [tenant.tenantId],
    );
    const target = { kind: 'uploads', platform: 'meta', workspace_id: workspace?.id };
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0, target });
    await drop('report.csv', 'Campaign ID,Day,Spend\n1,2026-01-01,5\n');
    await drop('image.csv', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
    const report = await adapters.scan(tenant, 'in');
    expect(report).toMatchObject({ ingested: 1, failed: 1 });
    const [taken] = await adapters.files(tenant, 'in', '&state=ingested');
    expect(taken?.uploadId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 0, failed: 0 });
    const uploads = await database.owner('select upload_id from data_uploads where tenant_id = $1', [
      tenant.tenantId,
    ]);
    expect(uploads).toEqual([{ upload_id: taken?.uploadId }]);
    const members = ['a.csv', 'b.csv'].map((name) => ({
      name,
      content: 'Campaign ID,Day,Spend\n2,2026-01-01,5\n',
    }));
    await drop('reports.zip', zipOf(members));
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, failed: 0 });
    const names = await database.owner(
      `select filename from data_uploads where tenant_id = $1 and unpacked is not null order by 1`,
      [tenant.tenantId],
    );
    expect(names).toEqual([{ filename: 'a.csv' }, { filename: 'b.csv' }]);
  });

  test('is refused with an unknown processor or workspace, and when there are too many adapters', async () => {
    const put = (body: object) =>
      adapters.call(tenant, '/api/ingestion/adapters/x', {
        method: 'PUT',
        body: { kind: 'folder', ...body },
      });
    expect(await put({ target: { kind: 'items', processor: 'nope' } })).toMatchObject({ status: 422 });
    const workspace_id = '00000000-0000-4000-8000-000000000000';
    expect(await put({ target: { kind: 'uploads', platform: 'meta', workspace_id } })).toMatchObject({
      status: 403,
      body: { code: 'workspace_unknown' },
    });
  });
});
