import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { AdapterKey, ScanCounts, ScanLease } from '../types.ts';

/** Takes the lease of an adapter. Returns false when another scan holds it or the adapter does not exist. */
export async function claimScan(
  tx: Tx,
  claim: AdapterKey & { token: string; leaseMs: number; scanningBy: string },
): Promise<boolean> {
  const claimed = await tx.run(sql`
    update adapters
       set scan_token = ${claim.token},
           scan_until = clock_timestamp() + ${claim.leaseMs} * interval '1 millisecond',
           scanning_by = ${claim.scanningBy}
     where ctid = (
       select ctid
         from adapters
        where tenant_id = ${claim.tenantId}
          and name = ${claim.name}
          and (scan_until is null or scan_until <= clock_timestamp())
          for update skip locked)`);
  return claimed === 1;
}

export async function keepScan(tx: Tx, lease: ScanLease & { leaseMs: number }): Promise<boolean> {
  const kept = await tx.run(sql`
    update adapters
       set scan_until = clock_timestamp() + ${lease.leaseMs} * interval '1 millisecond'
     where tenant_id = ${lease.tenantId}
       and name = ${lease.name}
       and scan_token = ${lease.token}`);
  return kept === 1;
}

/** The fence: no other scan can take over until the transaction ends. Returns false when one has. */
export async function holdScan(tx: Tx, { tenantId, name, token }: ScanLease): Promise<boolean> {
  const held = await tx.find(sql`
    select 1 as held
      from adapters
     where tenant_id = ${tenantId}
       and name = ${name}
       and scan_token = ${token}
       for share`);
  return held !== null;
}

/**
 * The next scan follows the schedule. It comes sooner when this one left files that were not ready or not reached, and
 * later after failures.
 */
export async function endScan(
  tx: Tx,
  end: ScanLease & {
    counts: ScanCounts;
    errorCode: string | null;
    error: string | null;
    /** How soon a scheduled adapter should be scanned again; null: by its schedule. */
    againInSeconds: number | null;
  },
): Promise<boolean> {
  const isGood = end.error === null;
  const ended = await tx.run(sql`
    update adapters
       set scan_token = null,
           scan_until = null,
           scanning_by = null,
           last_scan_at = clock_timestamp(),
           last_success_at = case when ${isGood}::boolean then clock_timestamp() else last_success_at end,
           last_result = ${JSON.stringify(end.counts)},
           last_error = ${end.error},
           last_error_code = ${end.errorCode},
           failures_in_row = case when ${isGood}::boolean then 0 else failures_in_row + 1 end,
           next_scan_at = case
             when every_minutes is null then null
             when not ${isGood}::boolean then clock_timestamp() + least(
               greatest(every_minutes, 60) * interval '1 minute',
               interval '15 seconds' * power(2, least(failures_in_row, 12)))
             else clock_timestamp() + least(
               every_minutes * interval '1 minute',
               coalesce(${end.againInSeconds}::integer * interval '1 second', every_minutes * interval '1 minute'))
           end
     where tenant_id = ${end.tenantId}
       and name = ${end.name}
       and scan_token = ${end.token}`);
  return ended === 1;
}

/** Releases the lease of a scan that did not finish, so that it need not expire. */
export async function dropScan(tx: Tx, { tenantId, name, token }: ScanLease): Promise<void> {
  await tx.run(sql`
    update adapters
       set scan_token = null,
           scan_until = null,
           scanning_by = null
     where tenant_id = ${tenantId}
       and name = ${name}
       and scan_token = ${token}`);
}

/** The adapters of all tenants that are due and not being scanned. */
export function listDueAdapters(tx: Tx, { limit }: { limit: number }): Promise<AdapterKey[]> {
  return tx.rows<AdapterKey>(sql`
    select tenant_id as "tenantId", name
      from adapters
     where next_scan_at <= clock_timestamp()
       and (scan_until is null or scan_until <= clock_timestamp())
     order by next_scan_at
     limit ${limit}`);
}

export async function scanSoon(tx: Tx, { tenantId, name }: AdapterKey): Promise<void> {
  await tx.run(sql`
    update adapters
       set next_scan_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and name = ${name}`);
}
