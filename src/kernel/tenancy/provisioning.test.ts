import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { newId } from '../../lib/ids.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { createAdmissions, tenantHashOf } from './provisioning.ts';
import type { Principal } from './types.ts';

const database = useDatabase();

function principalOf(tenantId: string, changed: Partial<Principal> = {}): Principal {
  return { tenantId, userId: 'ada', role: 'member', via: 'token', ...changed };
}

function workspacesOf(tenantId: string): Promise<{ name: string }[]> {
  return database.owner('select name from workspaces where tenant_id = $1', [tenantId]);
}

describe('admission', () => {
  test('a tenant whose id looks like another one’s is not created, and one that exists is admitted', async () => {
    const admit = (tenantId: string) =>
      createAdmissions(database.db, systemClock).admit(principalOf(tenantId));
    const id = `look-${newId()}`;
    await admit(id);
    for (const other of [`${id} `, ` ${id}`, `${id}\u200b`, `\u202e${id}`, `${id}e\u0301`]) {
      await expect(admit(other)).rejects.toMatchObject({ code: 'tenant_id_refused' });
      expect(await workspacesOf(other)).toEqual([]);
    }
    await database.owner('insert into tenants (tenant_id, name) values ($1, $1)', [`${id} `]);
    await admit(`${id} `);
  });

  test('50 simultaneous first requests of a tenant make one tenant, one workspace and their 50 users', async () => {
    const tenantId = `new-${newId()}`;
    // Each as a process of its own would do it: nothing shared but the database.
    const requests = Array.from({ length: 50 }, (_, index) =>
      createAdmissions(database.db, systemClock).admit(principalOf(tenantId, { userId: `user-${index}` })),
    );
    await Promise.all(requests);
    expect(await database.owner('select name, plan from tenants where tenant_id = $1', [tenantId])).toEqual([
      { name: tenantId, plan: 'free' },
    ]);
    expect(await workspacesOf(tenantId)).toEqual([{ name: 'Default' }]);
    expect(await database.owner('select user_id from users where tenant_id = $1', [tenantId])).toHaveLength(
      50,
    );
  });

  test('50 simultaneous first requests of one user make one user', async () => {
    const tenantId = `new-${newId()}`;
    await Promise.all(
      Array.from({ length: 50 }, () =>
        createAdmissions(database.db, systemClock).admit(principalOf(tenantId)),
      ),
    );
    expect(await database.owner('select user_id from users where tenant_id = $1', [tenantId])).toHaveLength(
      1,
    );
    expect(await workspacesOf(tenantId)).toHaveLength(1);
  });

  test('a deleted workspace does not come back with the next request', async () => {
    const tenantId = `kept-${newId()}`;
    await createAdmissions(database.db, systemClock).admit(principalOf(tenantId));
    await database.owner('delete from workspaces where tenant_id = $1', [tenantId]);
    await createAdmissions(database.db, systemClock).admit(principalOf(tenantId));
    expect(await workspacesOf(tenantId)).toEqual([]);
  });

  test('follows the token: a new role, name and e-mail are written down', async () => {
    const tenantId = `changed-${newId()}`;
    const admissions = createAdmissions(database.db, systemClock);
    await admissions.admit(principalOf(tenantId));
    await admissions.admit(principalOf(tenantId, { role: 'admin', name: 'Ada', email: 'ada@example.com' }));
    await admissions.admit(principalOf(tenantId, { role: 'admin' }));
    const rows = await database.owner('select role, name, email from users where tenant_id = $1', [tenantId]);
    expect(rows).toEqual([{ role: 'admin', name: 'Ada', email: 'ada@example.com' }]);
  });

  test('does not ask the database again within ten seconds, and does afterwards', async () => {
    const tenantId = `cached-${newId()}`;
    let nowMs = 0;
    const admissions = createAdmissions(database.db, { nowMs: () => nowMs });
    await admissions.admit(principalOf(tenantId));
    await database.owner('update users set disabled_at = now() where tenant_id = $1', [tenantId]);
    nowMs = 9_000;
    await admissions.admit(principalOf(tenantId));
    nowMs = 11_000;
    await expect(admissions.admit(principalOf(tenantId))).rejects.toMatchObject({ code: 'user_disabled' });
  });

  test('notices at once what this process has changed', async () => {
    const tenantId = `forgotten-${newId()}`;
    const admissions = createAdmissions(database.db, { nowMs: () => 0 });
    await admissions.admit(principalOf(tenantId));
    await database.owner('update users set disabled_at = now() where tenant_id = $1', [tenantId]);
    admissions.forget(tenantId, 'somebody else');
    await admissions.admit(principalOf(tenantId));
    admissions.forget(tenantId, 'ada');
    await expect(admissions.admit(principalOf(tenantId))).rejects.toMatchObject({ code: 'user_disabled' });
  });

  test('an erased tenant does not come back, and nothing of the attempt stays', async () => {
    const tenantId = `erased-${newId()}`;
    await database.owner('insert into erased_tenants (tenant_hash) values ($1)', [tenantHashOf(tenantId)]);
    const admissions = createAdmissions(database.db, systemClock);
    await expect(admissions.admit(principalOf(tenantId))).rejects.toMatchObject({ code: 'tenant_erased' });
    expect(await database.owner('select 1 from tenants where tenant_id = $1', [tenantId])).toEqual([]);
  });
});
