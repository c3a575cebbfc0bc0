import { createHash, timingSafeEqual } from 'node:crypto';
import { newId, newSecret } from '../../lib/ids.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { findUsableApiKey, insertApiKey, touchApiKey } from './api-key-store.ts';
import { tenancyErrors } from './errors.ts';
import { grantableRoles, lowerRole } from './rights.ts';
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
      issuedAt: principal.issuedAtMs === undefined ? null : new Date(principal.issuedAtMs),
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

/** What a key may do now: its own role, but never more than the newest role of the user behind it. */
export function roleOfKey(key: KeyStanding): Role {
  const { role, because } = standingOf(key);
  if (role !== null) return role;
  throw tenancyErrors.raise.api_key_suspended(`The API key is suspended. ${because}`);
}

type KeyStanding = Pick<ApiKey, 'role' | 'userId' | 'userRole' | 'userDisabledAt'>;

/** Without a role the key is suspended, and `because` says why. */
export function standingOf({ role, userId, userRole, userDisabledAt }: KeyStanding): {
  role: Role | null;
  because: string | null;
} {
  if (userDisabledAt !== null) {
    return { role: null, because: `Its user ${userId} is disabled` };
  }
  const lower = userRole === null ? role : lowerRole(role, userRole);
  if (lower !== null) return { role: lower, because: null };
  const because = `Its user ${userId} is now ${userRole}, which does not cover ${role}`;
  return { role: null, because };
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
