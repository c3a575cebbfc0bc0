import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { ApiKey, PageRequest, Role } from './types.ts';

const apiKeyColumns = sql`
  k.key_id as "keyId", k.name, k.role, k.key_hint as "keyHint", k.created_by as "createdBy", k.user_id as "userId",
  u.disabled_at as "userDisabledAt",
  k.role = 'operator' or u.operator_since is not null as "operatorOnly", k.created_at as "createdAt",
  k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt"`;

export interface NewApiKey {
  tenantId: string;
  keyId: string;
  name: string;
  role: Role;
  keyHash: Buffer;
  keyHint: string;
  createdBy: string;
  expiresAt: Date | null;
}

/** Null when the expiry is not in the future by the database's clock. */
export function insertApiKey(tx: Tx, key: NewApiKey): Promise<ApiKey | null> {
  return tx.find<ApiKey>(sql`
    with made as (
      insert into api_keys (
        tenant_id, key_id, name, role, key_hash, key_hint, created_by, expires_at)
      select ${key.tenantId}, ${key.keyId}, ${key.name}, ${key.role}, ${key.keyHash}, ${key.keyHint},
             ${key.createdBy}, ${key.expiresAt}::timestamptz
       where ${key.expiresAt}::timestamptz is null
          or ${key.expiresAt}::timestamptz > clock_timestamp()
      returning *
    )
    select ${apiKeyColumns}
      from made k
      left join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id`);
}

export function listApiKeys(
  tx: Tx,
  { tenantId, limit, after }: PageRequest & { tenantId: string },
): Promise<ApiKey[]> {
  return tx.rows<ApiKey>(sql`
    select ${apiKeyColumns}
      from api_keys k
      left join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
     where k.tenant_id = ${tenantId}
       and (${after}::uuid is null or k.key_id > ${after}::uuid)
     order by k.key_id
     limit ${limit}`);
}

/** Of a user: those that they made, and those that were made with these. */
export function listApiKeysOf(
  tx: Tx,
  { tenantId, userId, limit }: { tenantId: string; userId: string; limit: number },
): Promise<ApiKey[]> {
  return tx.rows<ApiKey>(sql`
    select ${apiKeyColumns}
      from api_keys k
      left join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
     where k.tenant_id = ${tenantId}
       and k.user_id = ${userId}
       and k.revoked_at is null
     order by k.key_id
     limit ${limit}`);
}

export function findApiKey(
  tx: Tx,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<ApiKey | null> {
  return tx.find<ApiKey>(sql`
    select ${apiKeyColumns}
      from api_keys k
      left join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
     where k.tenant_id = ${tenantId}
       and k.key_id = ${keyId}`);
}

export async function revokeApiKey(
  tx: Tx,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<void> {
  await tx.run(sql`
    update api_keys
       set revoked_at = coalesce(revoked_at, clock_timestamp())
     where tenant_id = ${tenantId}
       and key_id = ${keyId}`);
}

export interface UsableApiKey extends Pick<ApiKey, 'keyId' | 'name' | 'role' | 'userId' | 'userDisabledAt'> {
  tenantId: string;
  keyHash: Buffer;
  touchDue: boolean;
}

const usableColumns = sql`
  k.tenant_id as "tenantId", k.key_id as "keyId", k.name, k.role, k.key_hash as "keyHash", k.user_id as "userId",
  u.disabled_at as "userDisabledAt",
  coalesce(k.last_used_at < clock_timestamp() - interval '1 minute', true) as "touchDue"`;
const notEnded = sql`
  k.revoked_at is null
       and (k.expires_at is null or k.expires_at > clock_timestamp())`;

/** Crosses tenants (the key names its own), so it runs under the kernel role. */
export function findUsableApiKey(tx: Tx, keyHash: Buffer): Promise<UsableApiKey | null> {
  return tx.find<UsableApiKey>(sql`
    select ${usableColumns}
      from api_keys k
      left join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
     where k.key_hash = ${keyHash}
       and ${notEnded}`);
}

/** The key that started a session. */
export function findUsableApiKeyById(
  tx: Tx,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<UsableApiKey | null> {
  return tx.find<UsableApiKey>(sql`
    select ${usableColumns}
      from api_keys k
      left join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
     where k.tenant_id = ${tenantId}
       and k.key_id = ${keyId}
       and ${notEnded}`);
}

export async function touchApiKey(
  tx: Tx,
  { tenantId, keyId }: Pick<UsableApiKey, 'tenantId' | 'keyId'>,
): Promise<void> {
  await tx.run(sql`
    update api_keys
       set last_used_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and key_id = ${keyId}
       and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`);
}
