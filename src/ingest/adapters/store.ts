import type { Tx } from '../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { Adapter, AdapterKey, AdapterSettings } from './types.ts';

/** An `Adapter`, from `adapters a`. */
const adapterColumns = trustedSql(`
  a.tenant_id as "tenantId", a.name, a.place, a.target, a.pattern, a.every_minutes as "everyMinutes", a.after,
  a.settle_seconds as "settleSeconds", a.next_scan_at as "nextScanAt", a.failures_in_row as "failuresInRow",
  a.last_scan_at as "lastScanAt", a.last_success_at as "lastSuccessAt", a.last_result as "lastResult",
  a.last_error as "lastError", a.last_error_code as "lastErrorCode", a.scanning_by as "scanningBy",
  coalesce(a.scan_until > clock_timestamp(), false) as "isScanning", a.created_by as "createdBy",
  a.created_at as "createdAt", a.updated_at as "updatedAt"`);

export interface NewAdapter extends AdapterKey, AdapterSettings {
  createdBy: string;
}

/**
 * Creates or changes an adapter; `isNew` says which. A schedule starts at once. A change clears the last failure, which
 * may have been the reason for it.
 */
export async function putAdapter(tx: Tx, adapter: NewAdapter): Promise<Adapter & { isNew: boolean }> {
  const { place, target } = adapter;
  const row = await tx.find<Adapter & { isNew: boolean }>(sql`
    insert into adapters as a (tenant_id, name, kind, place, target, pattern, every_minutes, after, settle_seconds,
                               next_scan_at, created_by)
    values (${adapter.tenantId}, ${adapter.name}, ${place.kind}, ${JSON.stringify(place)}, ${JSON.stringify(target)},
            ${adapter.pattern}, ${adapter.everyMinutes}::integer, ${adapter.after}, ${adapter.settleSeconds},
            case when ${adapter.everyMinutes}::integer is not null then clock_timestamp() end, ${adapter.createdBy})
    on conflict (tenant_id, name) do update
       set kind = excluded.kind,
           place = excluded.place,
           target = excluded.target,
           pattern = excluded.pattern,
           every_minutes = excluded.every_minutes,
           after = excluded.after,
           settle_seconds = excluded.settle_seconds,
           next_scan_at = excluded.next_scan_at,
           failures_in_row = 0,
           last_error = null,
           last_error_code = null,
           updated_at = clock_timestamp()
    returning ${adapterColumns}, a.xmax = 0 as "isNew"`);
  if (!row) throw new Error(`The row of adapter ${adapter.name} was not returned by its insert`);
  return row;
}

export function findAdapter(tx: Tx, { tenantId, name }: AdapterKey): Promise<Adapter | null> {
  return tx.find<Adapter>(sql`
    select ${adapterColumns}
      from adapters a
     where a.tenant_id = ${tenantId}
       and a.name = ${name}`);
}

/** Ordered by name. */
export function listAdapters(
  tx: Tx,
  { tenantId, after, limit }: { tenantId: string; after: string | null; limit: number },
): Promise<Adapter[]> {
  return tx.rows<Adapter>(sql`
    select ${adapterColumns}
      from adapters a
     where a.tenant_id = ${tenantId}
       and (${after}::text is null or a.name > ${after})
     order by a.name
     limit ${limit}`);
}

/** Counts up to the limit. */
export async function countAdapters(
  tx: Tx,
  { tenantId, limit }: { tenantId: string; limit: number },
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from (select from adapters where tenant_id = ${tenantId} limit ${limit}) counted`);
  return row?.count ?? 0;
}

/** Deletes its records of files too. */
export async function deleteAdapter(tx: Tx, { tenantId, name }: AdapterKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from adapters
     where tenant_id = ${tenantId}
       and name = ${name}`);
  return deleted === 1;
}

/** For the metrics, over all tenants: the age of the oldest last success among scheduled adapters. */
export async function oldestSuccessSeconds(tx: Tx): Promise<number> {
  const row = await tx.find<{ seconds: number }>(sql`
    select coalesce(max(extract(epoch from clock_timestamp() - coalesce(last_success_at, created_at))), 0)::float8
             as seconds
      from adapters
     where every_minutes is not null`);
  return row?.seconds ?? 0;
}
