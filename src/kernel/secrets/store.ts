import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';

export interface SecretRecord {
  name: string;
  updatedBy: string;
  updatedAt: Date;
}

export async function putSecret(
  tx: Tx,
  secret: { tenantId: string; name: string; encrypted: string; updatedBy: string },
): Promise<void> {
  await tx.run(sql`
    insert into tenant_secrets (tenant_id, name, encrypted, updated_by)
    values (${secret.tenantId}, ${secret.name}, ${secret.encrypted}, ${secret.updatedBy})
    on conflict (tenant_id, name) do update
       set encrypted = excluded.encrypted,
           updated_by = excluded.updated_by,
           updated_at = clock_timestamp()`);
}

export function findSecret(
  tx: Tx,
  { tenantId, name }: { tenantId: string; name: string },
): Promise<{ encrypted: string } | null> {
  return tx.find<{ encrypted: string }>(sql`
    select encrypted
      from tenant_secrets
     where tenant_id = ${tenantId}
       and name = ${name}`);
}

export function listSecrets(tx: Tx, tenantId: string): Promise<SecretRecord[]> {
  return tx.rows<SecretRecord>(sql`
    select name, updated_by as "updatedBy", updated_at as "updatedAt"
      from tenant_secrets
     where tenant_id = ${tenantId}
     order by name
     limit 1000`);
}

export async function deleteSecret(
  tx: Tx,
  { tenantId, name }: { tenantId: string; name: string },
): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from tenant_secrets
     where tenant_id = ${tenantId}
       and name = ${name}`);
  return deleted === 1;
}

/** Those without this prefix: another key has encrypted them. */
export function listOlderSecrets(
  tx: Tx,
  { tenantId, currentPrefix }: { tenantId: string; currentPrefix: string },
): Promise<{ name: string; encrypted: string }[]> {
  return tx.rows<{ name: string; encrypted: string }>(sql`
    select name, encrypted
      from tenant_secrets
     where tenant_id = ${tenantId}
       and encrypted not like ${`${currentPrefix}%`}
     order by name
     limit 1000`);
}

/** The same secret, encrypted with another key; who stored it and when stays. */
export async function replaceEncrypted(
  tx: Tx,
  secret: { tenantId: string; name: string; stored: string; encrypted: string },
): Promise<boolean> {
  const replaced = await tx.run(sql`
    update tenant_secrets
       set encrypted = ${secret.encrypted}
     where tenant_id = ${secret.tenantId}
       and name = ${secret.name}
       and encrypted = ${secret.stored}`);
  return replaced === 1;
}
