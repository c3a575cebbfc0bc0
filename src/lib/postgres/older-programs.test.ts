import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../../test/support/fakes/postgres-server.ts';
import { withOwner } from './client.ts';
import { Database } from './db.ts';
import { migrateDown, migrateUp } from './migrate.ts';
import { retireOlderPrograms } from './older-programs.ts';
import { appUrlFor, ensureLogins, ensureRoles } from './roles.ts';
import { sql } from './sql.ts';

// Roles belong to the whole server, so these tests have one of their own.
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await ensureRoles(server.ownerUrl);
  await migrateUp(server.ownerUrl);
  await ensureLogins(server.ownerUrl);
});
afterAll(() => server.stop());

function owner<Row extends object>(text: string): Promise<Row[]> {
  return withOwner(server.ownerUrl, async (client) => (await client.query(text)).rows as Row[]);
}

async function isRequired(): Promise<boolean | undefined> {
  return (await owner<{ isRequired: boolean }>('select is_required as "isRequired" from tenant_signing'))[0]
    ?.isRequired;
}

/** Works as programs of older versions did: one login for everything, and tenants without a signature. */
async function connectOlderProgram(): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: appUrlFor(server.ownerUrl),
    application_name: 'sluice-server 019a0000-0000-7000-8000-000000000000',
  });
  await client.connect();
  return client;
}

async function asTenant(client: pg.Client, tenantId: string): Promise<number> {
  await client.query('begin');
  try {
    await client.query(
      "select set_config('role', 'sluice_tenant', true), set_config('app.tenant_id', $1, true)",
      [tenantId],
    );
    return (await client.query('select tenant_id from tenants')).rowCount ?? 0;
  } finally {
    await client.query('rollback');
  }
}

test('a new installation requires signatures from the start', async () => {
  expect(await isRequired()).toBe(true);
  expect(await retireOlderPrograms(server.ownerUrl)).toBe('retired');
});

test('an upgrade serves older programs until none is connected, and new ones all the while', async () => {
  await migrateDown(server.ownerUrl, { to: 19 });
  await owner('grant sluice_kernel to sluice_app');
  await owner("insert into tenants (tenant_id, name) values ('acme', 'Acme')");
  await ensureRoles(server.ownerUrl);
  await migrateUp(server.ownerUrl);
  expect(await isRequired()).toBe(false);
  const older = await connectOlderProgram();
  const newer = new Database({
    url: appUrlFor(server.ownerUrl),
    applicationName: 'sluice new',
    maxConnections: 2,
  });
  const countAsNewer = () => newer.tenant('acme', (tx) => tx.run(sql`select tenant_id from tenants`));
  expect(await retireOlderPrograms(server.ownerUrl)).toBe('still_running');
  expect(await asTenant(older, 'acme')).toBe(1);
  await older.query('begin; set local role sluice_kernel; rollback');
  expect(await countAsNewer()).toBe(1);
  await older.end();
  await expect.poll(() => retireOlderPrograms(server.ownerUrl)).toBe('retired');
  expect(await isRequired()).toBe(true);
  const late = await connectOlderProgram();
  await expect(asTenant(late, 'acme')).rejects.toThrow(/not signed/);
  await expect(late.query('set role sluice_kernel')).rejects.toThrow(/permission denied/);
  await late.end();
  expect(await countAsNewer()).toBe(1);
  await newer.close();
});

test('the owner may name a tenant without a signature, to read and mend by hand', async () => {
  await owner("insert into tenants (tenant_id, name) values ('by hand', 'By hand')");
  const client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
  expect(await asTenant(client, 'by hand')).toBe(1);
  await client.end();
});

test('after the key was replaced, the next transaction reads the new one', async () => {
  await owner("insert into tenants (tenant_id, name) values ('restored', 'Restored')");
  const db = new Database({
    url: appUrlFor(server.ownerUrl),
    applicationName: 'sluice key',
    maxConnections: 2,
  });
  const count = () => db.tenant('restored', (tx) => tx.run(sql`select tenant_id from tenants`));
  expect(await count()).toBe(1);
  await owner("update tenant_signing set key = sha256('another key')");
  await expect(count()).rejects.toThrow(/not signed/);
  expect(await count()).toBe(1);
  await db.close();
});
