import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';

/** What an Idempotency-Key is unique within. */
export interface KeyScope {
  tenantId: string;
  principal: string;
  route: string;
  key: string;
}

export interface StoredKey {
  requestHash: string;
  statusCode: number | null;
  headers: Record<string, string> | null;
  body: string | null;
  /** How long the present owner is still believed to be at work. */
  leaseSeconds: number;
}

/**
 * Claims the key for this owner if it is new, older than a day, or if its owner has been silent past its lease
 * and the request is the same. Returns false when another owner has it, or its response is stored.
 */
export async function claimKey(
  tx: Tx,
  scope: KeyScope,
  { requestHash, owner, leaseSeconds }: { requestHash: string; owner: string; leaseSeconds: number },
): Promise<boolean> {
  const claimed = await tx.run(sql`
    insert into idempotency_keys (tenant_id, principal, route, key, request_hash, owner, owner_expires_at)
    values (${scope.tenantId}, ${scope.principal}, ${scope.route}, ${scope.key}, ${requestHash}, ${owner},
            clock_timestamp() + make_interval(secs => ${leaseSeconds}))
    on conflict (tenant_id, principal, route, key) do update
       set request_hash = excluded.request_hash,
           owner = excluded.owner,
           owner_expires_at = excluded.owner_expires_at,
           status_code = null,
           headers = null,
           body = null,
           created_at = clock_timestamp()
     where idempotency_keys.created_at < clock_timestamp() - interval '24 hours'
        or (idempotency_keys.status_code is null
            and idempotency_keys.owner_expires_at < clock_timestamp()
            and idempotency_keys.request_hash = excluded.request_hash)`);
  return claimed === 1;
}

export function findKey(tx: Tx, scope: KeyScope): Promise<StoredKey | null> {
  return tx.find<StoredKey>(sql`
    select request_hash as "requestHash",
           status_code as "statusCode",
           headers,
           body,
           extract(epoch from owner_expires_at - clock_timestamp())::float8 as "leaseSeconds"
      from idempotency_keys
     where tenant_id = ${scope.tenantId}
       and principal = ${scope.principal}
       and route = ${scope.route}
       and key = ${scope.key}`);
}

/** Returns false when the key is no longer this owner's: a retry has taken the work over. */
export async function keepAnswer(
  tx: Tx,
  scope: KeyScope,
  answer: { owner: string; status: number; headers: Record<string, string>; body: string },
): Promise<boolean> {
  const kept = await tx.run(sql`
    update idempotency_keys
       set status_code = ${answer.status},
           headers = ${JSON.stringify(answer.headers)}::jsonb,
           body = ${answer.body}
     where tenant_id = ${scope.tenantId}
       and principal = ${scope.principal}
       and route = ${scope.route}
       and key = ${scope.key}
       and owner = ${answer.owner}
       and status_code is null`);
  return kept === 1;
}

/** Releases the key; a stored response stays. */
export async function releaseKey(tx: Tx, scope: KeyScope, owner: string): Promise<void> {
  await tx.run(sql`
    delete from idempotency_keys
     where tenant_id = ${scope.tenantId}
       and principal = ${scope.principal}
       and route = ${scope.route}
       and key = ${scope.key}
       and owner = ${owner}
       and status_code is null`);
}
