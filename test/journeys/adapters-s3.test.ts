import { Readable } from 'node:stream';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createGuardedFetch, type GuardedFetch } from '../../src/lib/fetch/guarded-fetch.ts';
import { useS3Server } from '../support/fakes/s3-server.ts';
import { type Tenant, useAdapters, visibleJobs } from '../support/servers/adapter-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { secretsHere } from '../support/worlds/secrets.ts';

const database = useDatabase();
const s3 = useS3Server();
const open = createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' });
afterAll(() => open.close());
const adapters = useAdapters(database, {
  // The server here has one key that may do everything; others have rights for each object.
  fetch: Object.assign(open, { stream: denying(open.stream) }),
  secrets: secretsHere((name) => (name === 'wrong' ? 'guess' : s3.access.secretAccessKey)),
});
let tenant: Tenant;
let prefix: string;

beforeEach(async () => {
  tenant = await adapters.tenant();
  prefix = `${tenant.tenantId}/in/`;
});

function denying(stream: GuardedFetch['stream']): GuardedFetch['stream'] {
  return async (url, options) => {
    if (!url.includes('locked') || options?.method !== 'GET') return stream(url, options);
    const body = Readable.from([
      Buffer.from('<Error><Code>AccessDenied</Code><Message>No</Message></Error>'),
    ]);
    return { status: 403, headers: {}, body, finalUrl: url, tookMs: 0 };
  };
}

const place = (more: object = {}) => ({
  kind: 's3',
  endpoint: s3.access.endpoint,
  region: s3.access.region,
  bucket: s3.access.bucket,
  prefix,
  path_style: true,
  access_key_id_secret: 'key',
  secret_access_key_secret: 'secret',
  ...more,
});

const drop = (name: string, text: string) => s3.client().put(`${prefix}${name}`, asContent(text));

async function* asContent(text: string) {
  yield Buffer.from(text);
}

test('an S3 prefix is taken in by the first scan, each content once, without deeper levels', async () => {
  await adapters.put(tenant, 'in', place());
  await drop('a.csv', 'sku\n1\n2\n');
  await drop('copy ü.csv', 'sku\n1\n2\n');
  await drop('below/c.csv', 'sku\n1\n2\n3\n');
  expect(await adapters.check(tenant, 'in')).toMatchObject({ ok: true, files: ['a.csv', 'copy ü.csv'] });
  const report = await adapters.scan(tenant, 'in');
  expect(report).toMatchObject({ seen: 2, ingested: 1, duplicates: 1, waiting: 0, error: null });
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 2, ingested: 0, duplicates: 0 });
  await drop('a.csv', 'sku\n3\n');
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1 });
  expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 1]);
});

test('processed objects are moved below the prefix and not found again, unless they are retried', async () => {
  await adapters.put(tenant, 'in', place({ after: 'move' }));
  await drop('a.csv', 'sku\n1\n2\n');
  await drop('bad.csv', '');
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, failed: 1, moved: 2 });
  const { objects } = await s3.client().list({ prefix });
  expect(objects.map(({ key }) => key.slice(prefix.length))).toEqual(['done/a.csv', 'failed/bad.csv']);
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 0, ingested: 0 });
  const [failed] = await adapters.files(tenant, 'in', '&state=failed');
  await s3.client().put(`${prefix}failed/bad.csv`, asContent('sku\n5\n'));
  await adapters.retry(tenant, 'in', failed?.file_id ?? '');
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, moved: 1 });
  expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 1]);
});

test('an object that may not be read waits with its reason and does not block the others', async () => {
  await adapters.put(tenant, 'in', place());
  await drop('a locked one.csv', 'sku\n1\n');
  await drop('b.csv', 'sku\n2\n');
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 2, ingested: 1, waiting: 1, error: null });
  const [waiting] = await adapters.files(tenant, 'in', '&state=waiting');
  expect(waiting).toMatchObject({
    path: 'a locked one.csv',
    attempts: 0,
    reason_code: 'adapter_file_unreadable',
  });
  expect(waiting?.reason).toContain('does not allow reading');
});

test('a file that follows more than a page of moved objects is found', { timeout: 180_000 }, async () => {
  const client = s3.client();
  for (let from = 0; from < 1_050; from += 50) {
    const names = Array.from({ length: 50 }, (_, at) => `${prefix}done/${from + at}.csv`);
    await Promise.all(names.map((name) => client.put(name, asContent('x'))));
  }
  await drop('a.csv', 'sku\n1\n');
  await drop('z.csv', 'sku\n2\n');
  await adapters.put(tenant, 'in', place());
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ seen: 2, ingested: 2, error: null });
});

test('a server that is down, a wrong key and a missing bucket are reported, and nothing is lost', async () => {
  await adapters.put(tenant, 'in', place());
  await drop('a.csv', 'sku\n1\n');
  await s3.kill();
  const down = await adapters.scan(tenant, 'in');
  expect(down).toMatchObject({ ingested: 0, seen: 0 });
  expect(down.error).toBeTruthy();
  expect(await adapters.get(tenant, 'in')).toMatchObject({ state: 'failing' });
  await s3.start();
  await adapters.put(tenant, 'wrong', place({ secret_access_key_secret: 'wrong' }));
  expect(await adapters.check(tenant, 'wrong')).toMatchObject({ ok: false });
  await adapters.put(tenant, 'none', place({ bucket: 'no-such-bucket' }));
  expect(await adapters.check(tenant, 'none')).toMatchObject({ ok: false, error_code: 's3_bucket_missing' });
  expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, error: null });
});
