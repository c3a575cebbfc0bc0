import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { SecretRecord } from './types.ts';

export async function putSecret(
  tx: Tx,
  secret: Omit<SecretRecord, 'updatedAt'> & { tenantId: string; encrypted: string },
): Promise<void> {
  await tx.run(sql`
    insert into tenant_secrets (tenant_id, name, encrypted, hosts, roles, uses, updated_by)
    values (${secret.tenantId}, ${secret.name}, ${secret.encrypted}, ${secret.hosts}::text[], ${secret.roles}::text[],
            ${secret.uses}::text[], ${secret.updatedBy})
    on conflict (tenant_id, name) do update
       set encrypted = excluded.encrypted,
           hosts = excluded.hosts,
           roles = excluded.roles,
           uses = excluded.uses,
           updated_by = excluded.updated_by,
           updated_at = clock_timestamp()`);
}

/** Undefined members stay as they are. */
export async function changeSecret(
  tx: Tx,
  change: Pick<SecretRecord, 'name' | 'updatedBy'> & {
    tenantId: string;
    roles?: SecretRecord['roles'];
    uses?: SecretRecord['uses'];
  },
): Promise<boolean> {
  const changed = await tx.run(sql`
    update tenant_secrets
       set roles = coalesce(${change.roles ?? null}::text[], roles),
           uses = case when ${change.uses === undefined} then uses else ${change.uses ?? null}::text[] end,
           updated_by = ${change.updatedBy},
           updated_at = clock_timestamp()
     where tenant_id = ${change.tenantId}
       and name = ${change.name}`);
  return changed === 1;
}

type FoundSecret = Pick<SecretRecord, 'hosts' | 'roles' | 'uses'> & { encrypted: string };

export function findSecret(
  tx: Tx,
  { tenantId, name }: { tenantId: string; name: string },
): Promise<FoundSecret | null> {
  return tx.find<FoundSecret>(sql`
    select encrypted, hosts, roles, uses
      from tenant_secrets
     where tenant_id = ${tenantId}
       and name = ${name}`);
}

export function listSecrets(tx: Tx, tenantId: string): Promise<SecretRecord[]> {
  return tx.rows<SecretRecord>(sql`
    select name, hosts, roles, uses, updated_by as "updatedBy", updated_at as "updatedAt"
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
