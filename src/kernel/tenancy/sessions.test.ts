import { describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { createLoginLink, endSession, findSessionPrincipal, startSession } from './sessions.ts';

const database = useDatabase();

async function newLink(): Promise<{ tenantId: string; code: string }> {
  const tenantId = await newTenant(database);
  const code = await createLoginLink(database.db, { tenantId, userId: 'ada', role: 'operator' });
  return { tenantId, code };
}

describe('a login link', () => {
  test('gives a session to exactly one of 20 simultaneous uses', async () => {
    const { tenantId, code } = await newLink();
    const uses = await Promise.allSettled(Array.from({ length: 20 }, () => startSession(database.db, code)));
    expect(uses.filter((use) => use.status === 'fulfilled')).toHaveLength(1);
    for (const use of uses) {
      if (use.status === 'rejected') expect(use.reason).toMatchObject({ code: 'login_link_refused' });
    }
    expect(await database.owner('select 1 from sessions where tenant_id = $1', [tenantId])).toHaveLength(1);
  });

  test('lasts 30 minutes', async () => {
    const { tenantId, code } = await newLink();
    const [row] = await database.owner<{ minutes: number }>(
      `select round(extract(epoch from expires_at - now()) / 60)::int as minutes from login_links where tenant_id = $1`,
      [tenantId],
    );
    expect(row?.minutes).toBe(30);
    await database.owner('update login_links set expires_at = now() where tenant_id = $1', [tenantId]);
    await expect(startSession(database.db, code)).rejects.toMatchObject({ code: 'login_link_refused' });
  });

  test.each(['', 'x', 'A'.repeat(43)])('a login link that nobody made (%j) is refused', async (code) => {
    await expect(startSession(database.db, code)).rejects.toMatchObject({ code: 'login_link_refused' });
  });
});

describe('a session', () => {
  test('stands for the user of the link for 12 hours, and only its hash is stored', async () => {
    const { tenantId, code } = await newLink();
    const session = await startSession(database.db, code);
    expect(await findSessionPrincipal(database.db, session)).toEqual({
      tenantId,
      userId: 'ada',
      role: 'operator',
      via: 'session',
    });
    const rows = await database.owner<{ hours: number; row: string }>(
      `select round(extract(epoch from expires_at - now()) / 3600)::int as hours, s::text as row
         from sessions s where tenant_id = $1`,
      [tenantId],
    );
    expect(rows[0]?.hours).toBe(12);
    expect(rows[0]?.row).not.toContain(session);
    await database.owner('update sessions set expires_at = now() where tenant_id = $1', [tenantId]);
    await expect(findSessionPrincipal(database.db, session)).rejects.toMatchObject({
      code: 'invalid_session',
    });
  });

  test('a session that was ended is over, and another one of the same user is not', async () => {
    const first = await startSession(database.db, (await newLink()).code);
    const second = await startSession(database.db, (await newLink()).code);
    await endSession(database.db, first);
    await expect(findSessionPrincipal(database.db, first)).rejects.toMatchObject({ code: 'invalid_session' });
    expect((await findSessionPrincipal(database.db, second)).userId).toBe('ada');
  });

  test('links and sessions that ended are cleared away by the next login', async () => {
    const old = await newLink();
    await startSession(database.db, old.code);
    await database.owner('update sessions set expires_at = now() where tenant_id = $1', [old.tenantId]);
    await database.owner('update login_links set expires_at = now() where tenant_id = $1', [old.tenantId]);
    await startSession(database.db, (await newLink()).code);
    expect(await database.owner('select 1 from sessions where tenant_id = $1', [old.tenantId])).toEqual([]);
    expect(await database.owner('select 1 from login_links where tenant_id = $1', [old.tenantId])).toEqual(
      [],
    );
  });
});
