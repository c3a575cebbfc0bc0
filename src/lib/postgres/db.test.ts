import { expect, onTestFinished, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { signatureFor } from '../../../test/support/worlds/tenant-signature.ts';
import { isSluiceError } from '../errors.ts';
import { Database, type Tx } from './db.ts';
import { sql } from './sql.ts';

const database = useDatabase();

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return isSluiceError(error) ? error.code : `not a SluiceError: ${String(error)}`;
}

test('a transaction runs under its role and tenant, and leaves neither on the connection', async () => {
  const tenantId = await newTenant(database);
  const inside = await database.db.tenant(tenantId, (tx) =>
    tx.find<{ role: string; tenant: string }>(
      sql`select current_user as role, current_setting('app.tenant_id') as tenant`,
    ),
  );
  expect(inside).toEqual({ role: 'sluice_tenant', tenant: tenantId });
  const outside = await database.db.pool.driver.query(
    `select current_user as role, current_setting('app.tenant_id', true) as tenant`,
  );
  expect(outside.rows[0]).toEqual({ role: 'sluice_app', tenant: '' });
});

test('what crosses tenants runs under a login of its own', async () => {
  const statement = sql`select session_user as login, current_user as role`;
  const tenantId = await newTenant(database);
  expect([
    await database.db.tenant(tenantId, (tx) => tx.find(statement)),
    await database.db.kernel((tx) => tx.find(statement)),
  ]).toEqual([
    { login: 'sluice_app', role: 'sluice_tenant' },
    { login: 'sluice_kernel_login', role: 'sluice_kernel' },
  ]);
});

/** What somebody who got SQL into a tenant's request could send to see the workspaces of another tenant. */
const injections = (victim: string) => [
  `select workspace_id from workspaces where tenant_id = '${victim}'`,
  `with named as materialized (select set_config('app.tenant_id', '${victim}', true))
   select w.workspace_id from named, workspaces w where w.tenant_id = '${victim}'`,
  `with named as materialized (select set_config('role', 'none', true), set_config('app.tenant_id', '${victim}', true))
   select w.workspace_id from named, workspaces w`,
  `select set_config('role', 'sluice_kernel', true)`,
  `select key::text from tenant_signing`,
];

test('a statement that was injected into a tenant’s request reaches no other tenant', async () => {
  const [victim, intruder] = [await newTenant(database), await newTenant(database)];
  for (const tenantId of [victim, intruder]) {
    await database.owner(
      'insert into workspaces (tenant_id, workspace_id, name) values ($1, gen_random_uuid(), $1)',
      [tenantId],
    );
  }
  const seen = (tenantId: string, text: string) =>
    database.db.tenant(tenantId, async (tx) => {
      await tx.run(sql`select 1`);
      return tx.rows({ text, values: [] });
    });
  expect(await seen(victim, injections(victim)[0] ?? '')).toHaveLength(1);
  for (const text of injections(victim)) {
    const rows = await seen(intruder, text).catch((error: { code?: string }) => error.code);
    expect([[], '42501', 'tenant_not_signed'], text).toContainEqual(rows);
  }
});

test('a name that was changed inside the transaction is refused in the next statement', async () => {
  const [victim, intruder] = [await newTenant(database), await newTenant(database)];
  const forged = database.db.tenant(intruder, async (tx) => {
    await tx.rows(sql`select set_config('app.tenant_id', ${victim}, true)`);
    return tx.rows(sql`select workspace_id from workspaces`);
  });
  await expect(forged).rejects.toThrow('The tenant of this transaction is not signed by Sluice');
});

test('neither a signature nor a parameter can be read in the list of sessions', async () => {
  const tenantId = await newTenant(database);
  const word = 'a word that only this test knows';
  await database.db.transaction(
    { role: 'sluice_tenant', tenantId },
    async (tx) => {
      const pid = (await tx.find<{ pid: number }>(sql`select pg_backend_pid() as pid`))?.pid;
      expect(pid).toBeGreaterThan(0);
    },
    sql`select ${word}::text as word`,
  );
  const own = database.db.tenant(tenantId, (tx) =>
    tx.rows<{ query: string }>(sql`select query from pg_stat_activity where query like '%tenant_signature%'`),
  );
  const texts = (await own).map(({ query }) => query);
  const signature = await signatureFor(database, tenantId);
  expect(texts.filter((text) => text.includes(signature) || text.includes(word))).toEqual([]);
});

test('one statement takes context, parameters and answer in one message', async () => {
  const tenantId = `quo'te\\"-${await newTenant(database)}`;
  const rows = await database.db.statement<{ tenant: string; list: string[]; n: number }>(
    { role: 'sluice_tenant', tenantId },
    sql`select current_setting('app.tenant_id') as tenant, ${['a', 'b"c', 'd\\e', null]}::text[] as list,
               ${41}::int + 1 as n`,
  );
  expect(rows).toEqual([{ tenant: tenantId, list: ['a', 'b"c', 'd\\e', null], n: 42 }]);
});

test('a failing single statement leaves the connection usable', async () => {
  await expect(database.db.statement({ role: 'sluice_tenant' }, sql`select 1 / ${0}::int`)).rejects.toThrow(
    /division by zero/,
  );
  expect(await database.db.statement({ role: 'sluice_kernel' }, sql`select 1 as one`)).toEqual([{ one: 1 }]);
});

test('a transaction whose error was swallowed is not reported as committed', async () => {
  const swallowed = database.db.kernel(async (tx) => {
    await tx.run(sql`select 1 / 0`).catch(() => {});
    return 'looks fine';
  });
  expect(await codeOf(swallowed)).toBe('transaction_aborted');
});

test('a backend killed in a transaction is the transient error database_unavailable', async () => {
  const killed = database.db.kernel(async (tx) => {
    const pid = (await tx.find<{ pid: number }>(sql`select pg_backend_pid() as pid`))?.pid;
    await database.owner('select pg_terminate_backend($1)', [pid]);
    return tx.run(sql`select 1`);
  });
  expect(await codeOf(killed)).toBe('database_unavailable');
  expect(await database.db.kernel((tx) => tx.find(sql`select 1 as one`))).toEqual({ one: 1 });
});

test('a route that writes in a transaction opened to read is a mistake, and its connection stays in use', async () => {
  const tenantId = await newTenant(database);
  const db = new Database({ url: database.appUrl, applicationName: 'read only', maxConnections: 1 });
  onTestFinished(() => db.close());
  const pidOf = (tx: Tx) => tx.find<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  const before = await db.tenant(tenantId, pidOf);
  const writing = db.read(tenantId, (tx) =>
    tx.run(
      sql`insert into workspaces (tenant_id, workspace_id, name) values (${tenantId}, gen_random_uuid(), 'w')`,
    ),
  );
  await expect(writing).rejects.toMatchObject({ code: '25006' });
  expect(await db.tenant(tenantId, pidOf)).toEqual(before);
});

test('tenants that wait for a connection get it by turns', async () => {
  const db = new Database({ url: database.appUrl, applicationName: 'turns', maxConnections: 1 });
  onTestFinished(() => db.close());
  const order: string[] = [];
  const names = ['greedy', 'greedy', 'greedy', 'greedy', 'small', 'greedy', 'other'];
  await Promise.all(names.map((name) => db.tenant(name, async () => order.push(name))));
  expect(order.slice(0, 4)).toEqual(['greedy', 'greedy', 'small', 'other']);
});

test('actions after commit run only when it committed', async () => {
  const ran: string[] = [];
  await database.db.kernel(async (tx) => tx.afterCommit(() => ran.push('committed')));
  await database.db
    .kernel(async (tx) => {
      tx.afterCommit(() => ran.push('rolled back'));
      throw new Error('no');
    })
    .catch(() => {});
  expect(ran).toEqual(['committed']);
});
