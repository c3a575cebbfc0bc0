import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { isSluiceError } from '../errors.ts';
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
  const outside = await database.db.pool.query(
    `select current_user as role, current_setting('app.tenant_id', true) as tenant`,
  );
  expect(outside.rows[0]).toEqual({ role: 'sluice_app', tenant: '' });
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
