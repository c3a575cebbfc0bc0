import { describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { createAdmissions } from './provisioning.ts';
import * as service from './service.ts';
import type { Principal, Role } from './types.ts';

const database = useDatabase();
const firstPage = { limit: 50, after: null };

function principalOf(tenantId: string, role: Role = 'admin', userId = 'ada'): Principal {
  return { tenantId, role, userId, via: 'token' };
}

describe('workspaces', () => {
  test('one of two simultaneous deletions of the last two workspaces is refused', async () => {
    for (let round = 0; round < 5; round += 1) {
      const tenantId = await newTenant(database);
      const a = await service.createWorkspace(database.db, { tenantId, name: 'a' });
      const b = await service.createWorkspace(database.db, { tenantId, name: 'b' });
      const outcomes = await Promise.allSettled(
        [a, b].map(({ workspaceId }) => service.deleteWorkspace(database.db, { tenantId, workspaceId })),
      );
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(await service.listWorkspaces(database.db, tenantId, firstPage)).toHaveLength(1);
    }
  });

  test('a taken name is refused when creating and when renaming', async () => {
    const tenantId = await newTenant(database);
    await service.createWorkspace(database.db, { tenantId, name: 'a' });
    const { workspaceId } = await service.createWorkspace(database.db, { tenantId, name: 'b' });
    const taken = { code: 'workspace_name_taken' };
    await expect(service.createWorkspace(database.db, { tenantId, name: 'a' })).rejects.toMatchObject(taken);
    await expect(
      service.renameWorkspace(database.db, { tenantId, workspaceId, name: 'a' }),
    ).rejects.toMatchObject(taken);
    expect((await service.renameWorkspace(database.db, { tenantId, workspaceId, name: 'c' })).name).toBe('c');
  });

  test('workspaces of another tenant cannot be renamed or deleted: as if they did not exist', async () => {
    const owner = await newTenant(database);
    const { workspaceId } = await service.createWorkspace(database.db, { tenantId: owner, name: 'theirs' });
    const tenantId = await newTenant(database);
    const missing = { code: 'workspace_not_found' };
    await expect(
      service.renameWorkspace(database.db, { tenantId, workspaceId, name: 'mine' }),
    ).rejects.toMatchObject(missing);
    await expect(service.deleteWorkspace(database.db, { tenantId, workspaceId })).rejects.toMatchObject(
      missing,
    );
    expect(await service.listWorkspaces(database.db, owner, firstPage)).toMatchObject([{ name: 'theirs' }]);
  });

  test('what runs before the commit decides: when it fails, nothing was created', async () => {
    const tenantId = await newTenant(database);
    const failing = service.createWorkspace(database.db, { tenantId, name: 'a' }, async () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await service.listWorkspaces(database.db, tenantId, firstPage)).toEqual([]);
  });
});

describe('tenants', () => {
  test('an operator sees and changes any tenant, everybody else sees only the own one', async () => {
    const mine = await newTenant(database);
    const theirs = await newTenant(database);
    const operator = principalOf(mine, 'operator');
    expect((await service.getTenant(database.db, operator, theirs)).tenantId).toBe(theirs);
    const all = await service.listTenants(database.db, operator, { limit: 500, after: null });
    expect(all.map(({ tenantId }) => tenantId)).toEqual(expect.arrayContaining([mine, theirs]));
    const own = await service.listTenants(database.db, principalOf(mine), firstPage);
    expect(own.map(({ tenantId }) => tenantId)).toEqual([mine]);
    await expect(service.getTenant(database.db, principalOf(mine), theirs)).rejects.toMatchObject({
      code: 'tenant_not_found',
    });
  });

  test('a change touches what it names and nothing else', async () => {
    const tenantId = await newTenant(database);
    await service.changeTenant(database.db, { tenantId, plan: 'growth' });
    const changed = await service.changeTenant(database.db, { tenantId, limits: { concurrent_jobs: 3 } });
    expect(changed).toMatchObject({ name: tenantId, plan: 'growth', limits: { concurrent_jobs: 3 } });
  });

  test('are created with a first workspace, and only once', async () => {
    const tenant = { tenantId: 'made by hand', name: 'By hand', plan: 'enterprise' } as const;
    expect(await service.createTenant(database.db, tenant)).toMatchObject(tenant);
    expect(await service.listWorkspaces(database.db, tenant.tenantId, firstPage)).toMatchObject([
      { name: 'Default' },
    ]);
    await expect(service.createTenant(database.db, tenant)).rejects.toMatchObject({ code: 'tenant_exists' });
  });
});

describe('users', () => {
  async function twoUsers(role: Role) {
    const tenantId = await newTenant(database);
    const admissions = createAdmissions(database.db, systemClock);
    await admissions.admit(principalOf(tenantId, 'admin', 'ada'));
    await admissions.admit(principalOf(tenantId, role, 'bob'));
    return { tenantId, deps: { db: database.db, admissions } };
  }

  test('a disabled user is out at once, and in again once enabled', async () => {
    const { tenantId, deps } = await twoUsers('member');
    const bob = principalOf(tenantId, 'member', 'bob');
    const change = { principal: principalOf(tenantId), userId: 'bob' };
    expect((await service.changeUser(deps, { ...change, disabled: true })).disabledAt).not.toBeNull();
    await expect(deps.admissions.admit(bob)).rejects.toMatchObject({ code: 'user_disabled' });
    await service.changeUser(deps, { ...change, disabled: false });
    await deps.admissions.admit(bob);
  });

  test('nobody disables the own user, an admin no operator, and nobody a user of another tenant', async () => {
    const { tenantId, deps } = await twoUsers('operator');
    const principal = principalOf(tenantId);
    const refused = { code: 'user_not_changeable' };
    const disable = (by: Principal, userId: string) =>
      service.changeUser(deps, { principal: by, userId, disabled: true });
    await expect(disable(principal, 'ada')).rejects.toMatchObject(refused);
    await expect(disable(principal, 'bob')).rejects.toMatchObject(refused);
    const stranger = principalOf(await newTenant(database), 'operator', 'eve');
    await expect(disable(stranger, 'bob')).rejects.toMatchObject({ code: 'user_not_found' });
    expect(await service.listUsers(database.db, tenantId, firstPage)).toMatchObject([
      { userId: 'ada', disabledAt: null },
      { userId: 'bob', disabledAt: null },
    ]);
  });
});
