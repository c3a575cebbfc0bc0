import { createHash, timingSafeEqual } from 'node:crypto';
import { newId, newSecret } from '../../lib/ids.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { findUsableApiKey, insertApiKey, touchApiKey } from './api-key-store.ts';
import { tenancyErrors } from './errors.ts';
import { grantableRoles } from './rights.ts';
import { type ApiKey, apiKeyUserPrefix, type BeforeCommit, type Principal, type Role } from './types.ts';

export const apiKeyPrefix = 'slk_';
const apiKeyShape = /^slk_[A-Za-z0-9_-]{43}$/;

export interface CreatedApiKey extends ApiKey {
  /** The key itself, here and never again: only its hash is stored. */
  key: string;
}

export async function createApiKey(
  db: Database,
  {
    principal,
    name,
    role,
    expiresAt,
  }: { principal: Principal; name: string; role: Role; expiresAt: Date | null },
  beforeCommit?: BeforeCommit<CreatedApiKey>,
): Promise<CreatedApiKey> {
  const allowed = grantableRoles(principal.role);
  if (!allowed.includes(role)) {
    throw tenancyErrors.raise.role_not_grantable(
      `The role ${principal.role} cannot create a key with the role ${role}; allowed: ${allowed.join(', ') || 'none'}`,
    );
  }
  const key = `${apiKeyPrefix}${newSecret()}`;
  return db.tenant(principal.tenantId, async (tx) => {
    const stored = await insertApiKey(tx, {
      tenantId: principal.tenantId,
      keyId: newId(),
      name,
      role,
      keyHash: hashOf(key),
      keyHint: key.slice(0, apiKeyPrefix.length + 4),
      createdBy: principal.userId,
      expiresAt,
    });
    if (!stored) {
      throw tenancyErrors.raise.expiry_in_the_past(
        `The key ${name} would have expired already at ${expiresAt?.toISOString()}`,
      );
    }
    const created = { ...stored, key };
    await beforeCommit?.(tx, created);
    return created;
  });
}

/** The principal of a presented key. The error is the same for unknown, expired and revoked keys. */
export async function findApiKeyPrincipal(db: Database, presented: string): Promise<Principal> {
  const hash = hashOf(presented);
  const key = apiKeyShape.test(presented)
    ? await db.kernel(async (tx) => {
        const found = await findUsableApiKey(tx, hash);
        if (found?.touchDue) await touchApiKey(tx, found);
        return found;
      })
    : null;
  if (!key || !timingSafeEqual(key.keyHash, hash)) {
    throw tenancyErrors.raise.invalid_api_key('The API key is unknown, expired or revoked');
  }
  return {
    tenantId: key.tenantId,
    userId: `${apiKeyUserPrefix}${key.keyId}`,
    role: roleOfKey(key),
    via: 'api_key',
    name: key.name,
  };
}

/** Throws while the user behind the key is disabled. The key keeps its role: it belongs to the tenant. */
export function roleOfKey(key: KeyStanding): Role {
  const because = suspendedBecause(key);
  if (because === null) return key.role;
  throw tenancyErrors.raise.api_key_suspended(`The API key is suspended. ${because}`);
}

type KeyStanding = Pick<ApiKey, 'role' | 'userId' | 'userDisabledAt'>;

/** Null: the key is not suspended. */
export function suspendedBecause({ userId, userDisabledAt }: Pick<ApiKey, 'userId' | 'userDisabledAt'>) {
  return userDisabledAt === null ? null : `Its user ${userId} is disabled`;
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
