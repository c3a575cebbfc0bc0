import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGuardedFetch } from '../../src/lib/fetch/guarded-fetch.ts';
import { type FtpServer, findFtpServer, prepareFtpServer } from '../support/fakes/ftp-server.ts';
import { itemsTarget, type Tenant, useAdapters, visibleJobs } from '../support/servers/adapter-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { secretsHere } from '../support/worlds/secrets.ts';

const program = findFtpServer();
if (program === null)
  console.log(
    'Left out: adapters on a real FTP server. There is no vsftpd here (Debian: apt-get install vsftpd).',
  );

test('vsftpd is installed where no test may be left out', () => {
  expect(program !== null || process.env.CI !== 'true').toBe(true);
});

if (program !== null) {
  describe('an FTP directory', () => {
    const stage = useStage(program, { tls: false });
    scanningTests(stage);
    troubleTests(stage);
    cutTest(stage);
  });
  describe('an FTP directory over TLS', () => {
    const stage = useStage(program, { tls: true });
    scanningTests(stage);
    troubleTests(stage);
    trustTest(stage);
  });
}

/** An FTP server with a directory of the test's tenant. */
function useStage(ftpProgram: string, { tls }: { tls: boolean }) {
  const database = useDatabase();
  let server: FtpServer | undefined;
  let tenant: Tenant | undefined;
  const adapters = useAdapters(database, {
    secrets: secretsHere((name) => (name === 'wrong' ? 'guess' : stage.server.password)),
  });
  beforeAll(async () => {
    server = await prepareFtpServer({ program: ftpProgram, tls, bytesPerSecond: 1_000_000 });
    await server.start();
  });
  afterAll(() => server?.remove());
  beforeEach(async () => {
    tenant = await adapters.tenant();
    await mkdir(stage.place);
  });
  const stage = {
    database,
    adapters,
    get server(): FtpServer {
      if (!server) throw new Error('The FTP server is available only after beforeAll has run');
      return server;
    },
    get tenant(): Tenant {
      if (!tenant) throw new Error('The tenant is there only once beforeEach has run');
      return tenant;
    },
    get place(): string {
      return path.join(stage.server.folder, stage.tenant.tenantId);
    },
    ftp: (more: object = {}) => ({
      ...{ kind: 'ftp', host: 'localhost', port: stage.server.port, path: stage.place },
      ...{ user: stage.server.user, password_secret: 'ftp', tls, settle_seconds: 0 },
      ca_certificate: stage.server.certificate,
      ...more,
    }),
    drop: (name: string, text: string) => writeFile(path.join(stage.place, name), text),
  };
  return stage;
}

type Stage = ReturnType<typeof useStage>;

function scanningTests(stage: Stage): void {
  test('is scanned: each file once, moved away, and changed content counts as new', async () => {
    await stage.adapters.put(stage.tenant, 'in', stage.ftp({ after: 'move', pattern: '*.csv' }));
    await stage.drop('a.csv', 'sku\n1\n2\n');
    await stage.drop('mit Leerzeichen ü.csv', 'sku\n1\n2\n3\n');
    await stage.drop('same.csv', 'sku\n1\n2\n');
    await stage.drop('notes.txt', 'x');
    expect(await stage.adapters.check(stage.tenant, 'in')).toMatchObject({ ok: true, error: null });
    const report = await stage.adapters.scan(stage.tenant, 'in');
    expect(report).toMatchObject({ seen: 3, ingested: 2, duplicates: 1, moved: 3, error: null });
    expect((await readdir(path.join(stage.place, 'done'))).sort()).toEqual([
      'a.csv',
      'mit Leerzeichen ü.csv',
      'same.csv',
    ]);
    await stage.drop('a.csv', 'sku\n9\n');
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({ ingested: 1, moved: 1 });
    expect((await visibleJobs(stage.database, stage.tenant.tenantId)).sort()).toEqual([1, 2, 3]);
  });

  test('takes file names of any kind, and is not stopped by names that no command can carry', async () => {
    await stage.adapters.put(stage.tenant, 'in', stage.ftp({ after: 'move' }));
    const names = [
      '-l a.csv',
      '100%.csv',
      '[1]*.csv',
      "it's.csv",
      '~a.csv',
      'a;b=c.csv',
      'e\u0301 日本 🚀.csv',
      'x  y.csv',
    ];
    for (const [at, name] of names.entries()) await stage.drop(name, `sku\n${at}\n`);
    await stage.drop('carriage\rreturn.csv', 'sku\n98\n');
    await stage.drop('new\nline.csv', 'sku\n99\n');
    const report = await stage.adapters.scan(stage.tenant, 'in');
    expect(report).toMatchObject({ error: null, ingested: names.length, moved: names.length });
    expect((await readdir(path.join(stage.place, 'done'))).sort()).toEqual([...names].sort());
  });

  test('leaves a file alone until two scans have found it unchanged for long enough', async () => {
    await stage.adapters.put(stage.tenant, 'in', stage.ftp({ settle_seconds: 1 }));
    await stage.drop('a.csv', 'sku\n1\n');
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({ waiting: 1 });
    const old = new Date(Date.now() - 3_600_000);
    await utimes(path.join(stage.place, 'a.csv'), old, old);
    // Another time of change: it starts to rest only now.
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({ waiting: 1, ingested: 0 });
    await stage.database.owner(
      `update adapter_files set same_since = same_since - interval '5 s' where tenant_id = $1`,
      [stage.tenant.tenantId],
    );
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({ waiting: 0, ingested: 1 });
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({
      waiting: 0,
      ingested: 0,
      duplicates: 0,
    });
  });
}

function troubleTests(stage: Stage): void {
  test('reports a wrong password, a wrong path or a server that is down, and continues afterwards', async () => {
    await stage.adapters.put(stage.tenant, 'in', stage.ftp({ password_secret: 'wrong' }));
    const refused = await stage.adapters.check(stage.tenant, 'in');
    expect(refused).toMatchObject({ ok: false, error_code: 'adapter_refused' });
    expect(refused.error).toContain('rejected the user or password');
    await stage.adapters.put(stage.tenant, 'in', stage.ftp({ path: '/there/is/no/such' }));
    expect((await stage.adapters.check(stage.tenant, 'in')).error).toContain('/there/is/no/such');
    await stage.adapters.put(stage.tenant, 'in', stage.ftp());
    await stage.drop('a.csv', 'sku\n1\n');
    await stage.server.kill();
    const down = await stage.adapters.scan(stage.tenant, 'in');
    expect(down).toMatchObject({ error_code: 'adapter_unreachable', ingested: 0 });
    expect(await stage.adapters.get(stage.tenant, 'in')).toMatchObject({
      state: 'failing',
      failures_in_row: 1,
    });
    await stage.server.start();
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({ error: null, ingested: 1 });
  });
}

function trustTest(stage: Stage): void {
  test('refuses a server whose certificate it does not trust', async () => {
    await stage.adapters.put(stage.tenant, 'in', stage.ftp({ ca_certificate: null }));
    expect(await stage.adapters.check(stage.tenant, 'in')).toMatchObject({ ok: false });
  });
}

function cutTest(stage: Stage): void {
  test('takes a file whole although the connection breaks in the middle of it', async () => {
    // Six seconds at the pace of the server: it is cut before the whole file is on its way, however slow we are.
    const rows = 40_000;
    await stage.drop('big.csv', `sku\n${`${'0123456789'.repeat(15)}\n`.repeat(rows)}`);
    await stage.adapters.put(stage.tenant, 'in', stage.ftp());
    const scanning = stage.adapters.scan(stage.tenant, 'in');
    const hasBegun = async () => {
      const [file] = await stage.adapters.files(stage.tenant, 'in');
      return file?.attempts === 1;
    };
    await eventually(hasBegun, 'the file is being read');
    await stage.server.kill();
    expect(await scanning).toMatchObject({ ingested: 0, error_code: 'adapter_unreachable' });
    expect(await visibleJobs(stage.database, stage.tenant.tenantId)).toEqual([]);
    // The file is not the cause: no attempt is used.
    expect(await stage.adapters.files(stage.tenant, 'in')).toMatchObject([{ state: 'waiting', attempts: 0 }]);
    await stage.server.start();
    expect(await stage.adapters.scan(stage.tenant, 'in')).toMatchObject({ ingested: 1, error: null });
    expect(await visibleJobs(stage.database, stage.tenant.tenantId)).toEqual([rows]);
    await rm(path.join(stage.place, 'big.csv'));
  });
}

describe('the guard', () => {
  const database = useDatabase();
  const adapters = useAdapters(database, {
    blockPrivateAddresses: true,
    fetch: createGuardedFetch({ blockPrivateAddresses: true, userAgent: 'Sluice/test' }),
  });

  test('refuses FTP and S3 servers at private addresses, by address and by name', async () => {
    const tenant = await adapters.tenant();
    const put = (body: object) =>
      adapters.call(tenant, '/api/ingestion/adapters/x', {
        method: 'PUT',
        body: { target: itemsTarget, password_secret: 'p', ...body },
      });
    expect(await put({ kind: 'ftp', host: '127.0.0.1' })).toMatchObject({
      status: 422,
      body: { code: 'address_blocked' },
    });
    expect(await put({ kind: 'ftp', host: '169.254.169.254' })).toMatchObject({ status: 422 });
    expect(await put({ kind: 'ftp', host: 'localhost', port: 25 })).toMatchObject({ status: 400 });
    expect(await put({ kind: 'ftp', host: 'localhost' })).toMatchObject({ status: 201 });
    expect(await adapters.check(tenant, 'x')).toMatchObject({ ok: false, error_code: 'address_blocked' });
    expect(await adapters.scan(tenant, 'x')).toMatchObject({ error_code: 'address_blocked' });
    const s3 = {
      ...{ kind: 's3', bucket: 'bucket', endpoint: 'http://127.0.0.1:9000', path_style: true },
      ...{ access_key_id_secret: 'a', secret_access_key_secret: 'b' },
    };
    const without = { ...s3, password_secret: undefined };
    expect(await put(without)).toMatchObject({ status: 422, body: { code: 'address_blocked' } });
    expect(await put({ ...without, path_style: false })).toMatchObject({
      status: 422,
      body: { code: 's3_endpoint_invalid' },
    });
    const named = { ...s3, endpoint: 'http://localhost:9000' };
    await adapters.put(tenant, 's3', named);
    expect(await adapters.scan(tenant, 's3')).toMatchObject({ error_code: 'address_blocked' });
  });
});
