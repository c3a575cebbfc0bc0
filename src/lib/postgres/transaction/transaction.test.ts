import path from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTcpProxy } from '../../../../test/support/fakes/tcp-proxy.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { Database } from '../db.ts';
import { sql } from '../sql.ts';

const database = useDatabase();

beforeAll(async () => {
  await database.owner('create table kept (note text primary key)');
  await database.owner('grant select, insert on kept to sluice_kernel');
});

const isKept = async (note: string) =>
  (await database.owner('select from kept where note = $1', [note])).length === 1;

test('a statement that brings the commit along keeps what the transaction wrote, and returns its rows', async () => {
  const rows = await database.db.kernel(async (tx) => {
    await tx.run(sql`insert into kept values ('first')`);
    return tx.commitWith(sql`insert into kept values ('second') returning note`);
  });
  expect(rows).toEqual([{ note: 'second' }]);
  expect([await isKept('first'), await isKept('second')]).toEqual([true, true]);
});

test('nothing is kept when the statement before the commit is refused', async () => {
  const refused = database.db.kernel(async (tx) => {
    await tx.run(sql`insert into kept values ('third')`);
    await tx.commitWith(sql`insert into kept values ('third')`);
  });
  await expect(refused).rejects.toMatchObject({ code: '23505' });
  expect(await isKept('third')).toBe(false);
});

test('an error that was swallowed before the last statement is not taken for a commit', async () => {
  const swallowed = database.db.kernel(async (tx) => {
    await tx.run(sql`insert into kept values ('fourth')`);
    await tx.run(sql`select 1 / 0`).catch(() => {});
    await tx.commitWith(sql`select 1`);
  });
  await expect(swallowed).rejects.toMatchObject({ code: '25P02' });
  expect(await isKept('fourth')).toBe(false);
});

test('actions after the commit run when the last statement has brought it along', async () => {
  const ran: string[] = [];
  await database.db.kernel(async (tx) => {
    tx.afterCommit(() => ran.push('committed'));
    await tx.commitWith(sql`select 1`);
  });
  expect(ran).toEqual(['committed']);
});

test('a commit whose response is lost may have taken effect, and is reported so', async () => {
  const url = new URL(database.appUrl);
  const socketDir = decodeURIComponent(url.hostname);
  const proxy = await startTcpProxy({ path: path.join(socketDir, '.s.PGSQL.5432') });
  url.host = `127.0.0.1:${proxy.port}`;
  const db = new Database({ url: url.href, applicationName: 'lost-commit', maxConnections: 2 });
  onTestFinished(async () => {
    await db.close();
    await proxy.close();
  });
  await db.kernel((tx) => tx.rows(sql`select 1`));
  const lost = proxy.loseNextCommit();
  const unknown = db.kernel((tx) => tx.commitWith(sql`insert into kept values ('fifth')`));
  await expect(unknown).rejects.toMatchObject({ code: 'commit_unknown' });
  await lost;
  await expect.poll(() => isKept('fifth')).toBe(true);
});
