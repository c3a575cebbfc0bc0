import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql } from '../../lib/postgres/sql.ts';
import type { Breaker, BreakerPolicy, BreakerState } from './types.ts';

/** Usually there is no row, or one without failures. The rest is for `checkStatement`, which may take the probe. */
export function lookStatement(dependency: string): Sql {
  return sql`
    select state, failures
      from circuit_breakers
     where dependency = ${dependency}`;
}

/**
 * Returns at most one row; none means that no problem is known. Of several callers at the same moment, the row lock
 * lets one take the probe. The others find it taken, although they may still read the row as it was before.
 */
export function checkStatement({ dependency, probeMs }: { dependency: string; probeMs: number }): Sql {
  return sql`
    with taken as (
      update circuit_breakers
         set state = 'probing',
             probe_at = clock_timestamp() + ${probeMs}::bigint * interval '1 millisecond',
             updated_at = clock_timestamp()
       where dependency = ${dependency}
         and state <> 'closed'
         and probe_at <= clock_timestamp()
      returning dependency
    )
    select b.state as "state",
           exists (select from taken) as "isProbe",
           ceil(extract(epoch from b.probe_at - clock_timestamp()) * 1000)::bigint as "probeInMs"
      from circuit_breakers b
     where b.dependency = ${dependency}`;
}

export interface LookRow {
  state: BreakerState;
  failures: number;
}

export interface CheckRow {
  state: BreakerState;
  isProbe: boolean;
  probeInMs: number | null;
}

/**
 * A success while the breaker is open comes from a call that began before it opened, so it proves nothing. In the usual
 * case (closed, no failures) nothing is written.
 */
export function successStatement(dependency: string): Sql {
  return sql`
    with before as (
      select dependency, state
        from circuit_breakers
       where dependency = ${dependency}
         and (state = 'probing' or (state = 'closed' and failures > 0))
         for update
    )
    update circuit_breakers b
       set state = 'closed',
           failures = 0,
           opened_count = 0,
           reason = null,
           opened_at = null,
           probe_at = null,
           updated_at = clock_timestamp()
      from before
     where b.dependency = before.dependency
    returning before.state = 'probing' as "hasClosed"`;
}

/** The next caller probes at once. */
export function returnStatement(dependency: string): Sql {
  return sql`
    update circuit_breakers
       set state = 'open',
           probe_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where dependency = ${dependency}
       and state = 'probing'`;
}

/** Returns no row when the breaker is open: the call began before it opened and must not make the wait longer. */
export function failureStatement(
  failure: { dependency: string; tenantId: string | null; reason: string } & BreakerPolicy,
): Sql {
  const { dependency, tenantId, reason, threshold, coolDownMs, maxCoolDownMs } = failure;
  return sql`
    insert into circuit_breakers as b (dependency, tenant_id, state, failures, opened_count, reason, opened_at,
                                       probe_at)
    select ${dependency}, ${tenantId}, s.state, 1, s.opened_count, ${reason},
           case s.state when 'open' then clock_timestamp() end,
           case s.state when 'open' then clock_timestamp() + ${coolDownMs}::bigint * interval '1 millisecond' end
      from (select case when ${threshold}::integer <= 1 then 'open' else 'closed' end as state,
                   case when ${threshold}::integer <= 1 then 1 else 0 end as opened_count) s
        on conflict (dependency) do update
       set failures = b.failures + 1,
           reason = excluded.reason,
           state = case when b.state = 'probing' or b.failures + 1 >= ${threshold}::integer
             then 'open' else 'closed' end,
           opened_count = b.opened_count
             + case when b.state = 'probing' or b.failures + 1 >= ${threshold}::integer then 1 else 0 end,
           opened_at = case when b.state = 'probing' or b.failures + 1 >= ${threshold}::integer
             then coalesce(b.opened_at, clock_timestamp()) end,
           probe_at = case when b.state = 'probing' or b.failures + 1 >= ${threshold}::integer
             then clock_timestamp() + interval '1 millisecond'
               * least(${coolDownMs}::bigint * 2 ^ least(b.opened_count, 30), ${maxCoolDownMs}::bigint) end,
           updated_at = clock_timestamp()
     where b.state <> 'open'
    returning state, failures, opened_count as "openedCount",
              ceil(extract(epoch from probe_at - clock_timestamp()) * 1000)::bigint as "probeInMs"`;
}

export interface FailureRow {
  state: BreakerState;
  failures: number;
  openedCount: number;
  probeInMs: number | null;
}

/** Those that are not closed first. */
export function listBreakers(tx: Tx, limit: number): Promise<Breaker[]> {
  return tx.rows<Breaker>(sql`
    select dependency,
           tenant_id as "tenantId",
           state,
           failures,
           opened_count as "openedCount",
           reason,
           opened_at as "openedAt",
           probe_at as "probeAt",
           updated_at as "updatedAt"
      from circuit_breakers
     order by state = 'closed', dependency
     limit ${limit}`);
}

/** Those without problems for a day, and those of tenants that nobody has called for a week. */
export function deleteForgotten(tx: Tx, limit: number): Promise<number> {
  return tx.run(sql`
    delete from circuit_breakers
     where dependency in (
       select dependency
         from circuit_breakers
        where (state = 'closed' and updated_at < clock_timestamp() - interval '1 day')
           or (tenant_id is not null and updated_at < clock_timestamp() - interval '7 days')
        limit ${limit}
          for update skip locked)`);
}
