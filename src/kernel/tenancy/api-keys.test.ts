import { describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { createApiKey, findApiKeyPrincipal } from './api-keys.ts';
import { revokeKey } from './service.ts';
import type { Principal, Role } from './types.ts';

const database = useDatabase();

async function newKey(role: Role = 'service', creator: Role = 'admin') {
  const principal: Principal = {
    tenantId: await newTenant(database),
    userId: 'ada',
    role: creator,
    via: 'token',
  };
  const created = await createApiKey(database.db, { principal, name: 'ci', role, expiresAt: null });
  return { principal, created };
}

async function lastUsed(keyId: string): Promise<Date | null> {
  const rows = await database.owner<{ at: Date | null }>(
    'select last_used_at as at from api_keys where key_id = $1',
    [keyId],
  );
  return rows[0]?.at ?? null;
}

describe('an API key', () => {
  test('has the documented form and stands for itself with its role', async () => {
    const { principal, created } = await newKey();
    expect(created.key).toMatch(/^slk_[A-Za-z0-9_-]{43}$/);
    expect(await findApiKeyPrincipal(database.db, created.key)).toEqual({
      tenantId: principal.tenantId,
      userId: `api_key:${created.keyId}`,
      role: 'service',
      via: 'api_key',
      name: 'ci',
    });
  });

  test('is stored as a hash only', async () => {
    const { created } = await newKey();
    const rows = await database.owner<{ row: string }>(
      'select k::text as row from api_keys k where key_id = $1',
      [created.keyId],
    );
    expect(rows[0]?.row).not.toContain(created.key.slice(8));
    expect(created.key.startsWith(created.keyHint)).toBe(true);
    expect(created.keyHint).toHaveLength(8);
  });

  test('works no more once it is revoked or expired', async () => {
    const revoked = await newKey();
    await revokeKey(database.db, { principal: revoked.principal, keyId: revoked.created.keyId });
    await revokeKey(database.db, { principal: revoked.principal, keyId: revoked.created.keyId });
    const expired = await newKey();
    await database.owner('update api_keys set expires_at = now() where key_id = $1', [expired.created.keyId]);
    for (const { created } of [revoked, expired]) {
      await expect(findApiKeyPrincipal(database.db, created.key)).rejects.toMatchObject({
        code: 'invalid_api_key',
      });
    }
  });

  test('cannot be revoked by another tenant', async () => {
    const { created } = await newKey();
    const tenantId = await newTenant(database);
    await expect(
      revokeKey(database.db, { principal: { tenantId, role: 'admin' }, keyId: created.keyId }),
    ).rejects.toMatchObject({
      code: 'api_key_not_found',
    });
    expect((await findApiKeyPrincipal(database.db, created.key)).role).toBe('service');
  });

  test('notes its use at most once a minute', async () => {
    const { created } = await newKey();
    expect(await lastUsed(created.keyId)).toBeNull();
    await findApiKeyPrincipal(database.db, created.key);
    const first = await lastUsed(created.keyId);
    await findApiKeyPrincipal(database.db, created.key);
    expect(await lastUsed(created.keyId)).toEqual(first);
    await database.owner(
      `update api_keys set last_used_at = now() - interval '2 minutes' where key_id = $1`,
      [created.keyId],
    );
    await findApiKeyPrincipal(database.db, created.key);
    expect((await lastUsed(created.keyId))?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? Number.NaN);
  });

  test('cannot be given more than its creator has', async () => {
    await expect(newKey('operator', 'admin')).rejects.toMatchObject({ code: 'role_not_grantable' });
    await expect(newKey('support', 'admin')).rejects.toMatchObject({ code: 'role_not_grantable' });
    expect((await newKey('support', 'operator')).created.role).toBe('support');
  });

  test('with an end in the past is refused', async () => {
    const { principal } = await newKey();
    const expiresAt = new Date(Date.now() - 1000);
    await expect(
      createApiKey(database.db, { principal, name: 'late', role: 'member', expiresAt }),
    ).rejects.toMatchObject({ code: 'expiry_in_the_past' });
  });
});
