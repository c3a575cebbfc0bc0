import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { ApiKey, PageRequest, Role } from './types.ts';

const apiKeyColumns = sql`
  key_id as "keyId", name, role, key_hint as "keyHint", created_by as "createdBy", created_at as "createdAt",
  expires_at as "expiresAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;

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
    insert into api_keys (tenant_id, key_id, name, role, key_hash, key_hint, created_by, expires_at)
    select ${key.tenantId}, ${key.keyId}, ${key.name}, ${key.role}, ${key.keyHash}, ${key.keyHint},
           ${key.createdBy}, ${key.expiresAt}::timestamptz
     where ${key.expiresAt}::timestamptz is null
        or ${key.expiresAt}::timestamptz > clock_timestamp()
    returning ${apiKeyColumns}`);
}

export function listApiKeys(
  tx: Tx,
  { tenantId, limit, after }: PageRequest & { tenantId: string },
): Promise<ApiKey[]> {
  return tx.rows<ApiKey>(sql`
    select ${apiKeyColumns}
      from api_keys
     where tenant_id = ${tenantId}
       and (${after}::uuid is null or key_id > ${after}::uuid)
     order by key_id
     limit ${limit}`);
}

export async function revokeApiKey(
  tx: Tx,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<boolean> {
  const updated = await tx.run(sql`
    update api_keys
       set revoked_at = coalesce(revoked_at, clock_timestamp())
     where tenant_id = ${tenantId}
       and key_id = ${keyId}`);
  return updated === 1;
}

export interface UsableApiKey {
  tenantId: string;
  keyId: string;
  name: string;
  role: Role;
  keyHash: Buffer;
  touchDue: boolean;
}

/** Crosses tenants (the key names its own), so it runs under the kernel role. */
export function findUsableApiKey(tx: Tx, keyHash: Buffer): Promise<UsableApiKey | null> {
  return tx.find<UsableApiKey>(sql`
    select tenant_id as "tenantId",
           key_id as "keyId",
           name,
           role,
           key_hash as "keyHash",
           coalesce(last_used_at < clock_timestamp() - interval '1 minute', true) as "touchDue"
      from api_keys
     where key_hash = ${keyHash}
       and revoked_at is null
       and (expires_at is null or expires_at > clock_timestamp())`);
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
