import { existsSync, readdirSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import {
  brokenFiles,
  brokenForms,
  field,
  file,
  form,
  manyRows,
  type Sent,
  wideHeader,
} from '../generators/broken-uploads.ts';
import {
  type Answer,
  boundary,
  formBytes,
  formType,
  repeated,
  sendBody,
} from '../generators/multipart-body.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// Invalid files and forms, sent to the built product: each gets a clear response and leaves nothing.
const database = useDatabase();
const server = useServerProcess(database, { SLUICE_WORKER: 'false' });
const mebibyte = 1024 * 1024;

async function post(tenantId: string, { body, headers = {} }: Sent): Promise<Answer> {
  const all = { 'content-type': formType, ...(await server.bearer({ tenantId })), ...headers };
  return sendBody(`${server.url}/api/jobs`, { headers: all, body });
}

/** Everything that an ingest writes, counted in the database directly. */
async function leftOf(tenantId: string): Promise<object> {
  const [left] = await database.owner<Record<string, string>>(
    `select (select count(*) from ingestion_jobs where tenant_id = $1) as jobs,
            (select count(*) from item_jobs where tenant_id = $1) as "itemJobs",
            (select count(*) from job_items where tenant_id = $1) as items,
            (select count(*) from files where tenant_id = $1) as files,
            (select count(*) from events where tenant_id = $1 and type like 'job.%') as events`,
    [tenantId],
  );
  const stored = existsSync(server.filesDir)
    ? readdirSync(server.filesDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    : [];
  return { ...left, stored: stored.map(({ name }) => name) };
}

const nothing = { jobs: '0', itemJobs: '0', items: '0', files: '0', events: '0', stored: [] };

async function expectNothing(tenantId: string): Promise<void> {
  expect(await leftOf(tenantId)).toEqual(nothing);
  const headers = await server.bearer({ tenantId });
  const listed = await fetch(`${server.url}/api/jobs`, { headers });
  expect(await listed.json()).toEqual({ data: [], has_more: false, next_cursor: null });
}

for (const [what, { sent, status, code, detail }] of Object.entries({ ...brokenFiles, ...brokenForms })) {
  test(`${what}: ${status} ${code}, and nothing stays`, { timeout: 180_000 }, async () => {
    const tenantId = await newTenant(database);
    const answer = await post(tenantId, sent());
    expect(answer).toMatchObject({ status, body: { status, code, detail: expect.stringMatching(detail) } });
    expect(answer.headers['content-type']).toContain('application/problem+json');
    await expectNothing(tenantId);
  });
}

test('fields before the file are used, also when they are declared as JSON', async () => {
  const tenantId = await newTenant(database);
  const options = { rules: [{ column: 'a', required: true }] };
  const json = { mediaType: 'application/json' };
  const answer = await post(
    tenantId,
    form(
      field('processor', 'validate'),
      field('options', JSON.stringify(options), json),
      file('a\n1\n', { mediaType: 'text/csv' }),
    ),
  );
  expect(answer.status).toBe(201);
  const [stored] = await database.owner<{ processor: string; options: object }>(
    'select processor, options from item_jobs where tenant_id = $1',
    [tenantId],
  );
  expect(stored).toMatchObject({ processor: 'validate', options });
});

// What is refused is read to its end and dropped: a process that kept it would need all of it.
const largeBytes = 300 * mebibyte;

test('a cell of 300 MB and a table of 10,000 columns are refused in a fraction of their size', {
  timeout: 120_000,
}, async () => {
  const tenantId = await newTenant(database);
  // Once small, so that what the first request of its kind loads is not counted.
  await post(tenantId, form(file('a\n"x')));
  const cell = await server.growthDuring(async () => {
    const answer = await post(tenantId, form(file(joined('a\n"', repeated('x', largeBytes)))));
    const body = { code: 'cell_too_large', max_bytes: mebibyte, row: 1 };
    expect(answer).toMatchObject({ status: 413, body });
    expect(answer.sentBytes).toBeGreaterThan(largeBytes);
  });
  expect(cell).toBeLessThan(largeBytes / 3);
  const json = await server.growthDuring(async () => {
    const answer = await post(tenantId, form(file(joined('[{"a":"', repeated('x', largeBytes)))));
    expect(answer).toMatchObject({ status: 413, body: { code: 'row_too_large', row: 1 } });
  });
  expect(json).toBeLessThan(largeBytes / 3);
  const columns = await server.growthDuring(async () => {
    const row = `${'1,'.repeat(9_999)}1\n`;
    const answer = await post(tenantId, form(file(joined(`${wideHeader}\n`, repeated(row, largeBytes)))));
    expect(answer).toMatchObject({ status: 422, body: { code: 'too_many_columns', max_columns: 1_000 } });
  });
  expect(columns).toBeLessThan(largeBytes / 3);
  await expectNothing(tenantId);
});

function* joined(first: string, rest: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield Buffer.from(first);
  yield* rest;
}

test('a tenant with too many waiting jobs is told to retry later', async () => {
  const tenantId = await newTenant(database);
  await database.owner(`update tenants set limits = '{"queued_jobs": 0}' where tenant_id = $1`, [tenantId]);
  const answer = await post(tenantId, form(file(manyRows)));
  expect(answer).toMatchObject({ status: 429, body: { code: 'quota_exceeded', limit: 0 } });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  await expectNothing(tenantId);
});

/** Rows are in the database already, and their job is not to be seen. */
async function rowsAreIn(tenantId: string): Promise<boolean> {
  const rows = await database.owner('select from job_items where tenant_id = $1 limit 1', [tenantId]);
  return rows.length > 0;
}

const isEmpty = async (tenantId: string) =>
  JSON.stringify(await leftOf(tenantId)) === JSON.stringify(nothing);

test('an upload whose socket dies midway leaves nothing, and its job is never visible', async () => {
  const tenantId = await newTenant(database);
  const headers = { 'content-type': formType, ...(await server.bearer({ tenantId })) };
  const sent = request(`${server.url}/api/jobs`, { method: 'POST', headers, agent: false });
  sent.on('error', () => {});
  const [head, ...rows] = formBytes([file(manyRows)], { isClosed: false });
  for (const chunk of [head, ...rows]) sent.write(chunk);
  await eventually(() => rowsAreIn(tenantId), 'the first rows are in the database');
  const listed = await fetch(`${server.url}/api/jobs`, { headers: await server.bearer({ tenantId }) });
  expect(await listed.json()).toMatchObject({ data: [] });
  sent.destroy();
  await eventually(() => isEmpty(tenantId), 'the rows of the aborted upload are gone');
  await expectNothing(tenantId);
});

/** Writes bytes unchanged and returns everything that came back until the other side closed. */
async function raw(tenantId: string, { head, body }: { head: string[]; body: Buffer }): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const { authorization } = await server.bearer({ tenantId });
  const lines = ['POST /api/jobs HTTP/1.1', `host: ${hostname}`, `authorization: ${authorization}`, ...head];
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]));
  let text = '';
  try {
    for await (const chunk of socket.setEncoding('utf8')) text += chunk;
  } catch (error) {
    // A server that closes before it has read everything resets the connection after its response.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET' || text === '') throw error;
  }
  return text;
}

test('a content length larger than the body is an aborted upload', async () => {
  const tenantId = await newTenant(database);
  const body = Buffer.concat([...formBytes([file(manyRows)])]);
  const head = [`content-type: ${formType}`, `content-length: ${body.length + 1_000_000}`];
  // Without the last boundary: with it, all of the form would have come.
  const text = await raw(tenantId, { head, body: body.subarray(0, -boundary.length - 6) });
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  await eventually(() => isEmpty(tenantId), 'the rows of the short upload are gone');
  await expectNothing(tenantId);
});

test('a content length smaller than the body truncates the form, which is refused', async () => {
  const tenantId = await newTenant(database);
  const body = Buffer.concat([...formBytes([file(manyRows)])]);
  const head = [`content-type: ${formType}`, `content-length: ${body.length - 50_000}`, 'connection: close'];
  const text = await raw(tenantId, { head, body });
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  // The rest of the body looks like a second request, and what is first found wrong is a matter of time.
  expect(text).toMatch(/"code":"(upload_aborted|malformed_http)"/);
  await eventually(() => isEmpty(tenantId), 'the rows of the cut form are gone');
  await expectNothing(tenantId);
});

test('none of the requests above was a server error', () => {
  expect(server.logs()).not.toContain('request failed');
});
