import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import type { ProviderKey, ProviderRow, ProviderSettings } from './types.ts';

const columns = sql`
  host, rate_per_second as "ratePerSecond", concurrency, daily_budget as "dailyBudget", timeout_ms as "timeoutMs",
  cost_per_call as "costPerCall",
  case when day = (clock_timestamp() at time zone 'UTC')::date then calls_today else 0 end as "callsToday",
  case when day = (clock_timestamp() at time zone 'UTC')::date then cost_today else 0 end as "costToday",
  pace, paused_for as "pausedFor", updated_at as "updatedAt",
  (extract(epoch from paused_until - clock_timestamp()) * 1000)::float8 as "pausedMs",
  (select coalesce(sum((c.value ->> 'calls')::integer), 0)
     from jsonb_each(callers) c
    where (c.value ->> 'at')::timestamptz > clock_timestamp() - interval '2 minutes')::integer as "callsOpen"`;

export function providerStatement({ tenantId, host }: ProviderKey): Sql {
  return sql`select ${columns} from item_providers where tenant_id = ${tenantId} and host = ${host}`;
}

export function listProviders(tx: Tx, tenantId: string): Promise<ProviderRow[]> {
  return tx.rows<ProviderRow>(sql`
    select ${columns}
      from item_providers
     where tenant_id = ${tenantId}
     order by host
     limit 500`);
}

export async function saveSettings(
  tx: Tx,
  { tenantId, host }: ProviderKey,
  settings: ProviderSettings,
): Promise<ProviderRow | null> {
  await tx.run(sql`
    insert into item_providers (tenant_id, host, rate_per_second, concurrency, daily_budget, timeout_ms, cost_per_call)
    values (${tenantId}, ${host}, ${settings.ratePerSecond}, ${settings.concurrency}, ${settings.dailyBudget},
            ${settings.timeoutMs}, ${settings.costPerCall})
    on conflict (tenant_id, host) do update
       set rate_per_second = excluded.rate_per_second,
           concurrency = excluded.concurrency,
           daily_budget = excluded.daily_budget,
           timeout_ms = excluded.timeout_ms,
           cost_per_call = excluded.cost_per_call,
           updated_at = clock_timestamp()`);
  return tx.find<ProviderRow>(providerStatement({ tenantId, host }));
}

/** Jobs that wait for a budget or a pause look again: the settings may allow more now. */
export async function wakeWaitingJobs(tx: Tx, tenantId: string): Promise<void> {
  await tx.run(sql`
    with waiting as (
      update item_jobs
         set waiting_until = null
       where tenant_id = ${tenantId}
         and waiting_until > clock_timestamp()
      returning job_id
    )
    update only ingestion_jobs j
       set run_at = clock_timestamp()
      from waiting w
     where j.tenant_id = ${tenantId}
       and j.job_id = w.job_id
       and j.status = 'running'`);
}

export function takeStatement(
  { tenantId, host }: ProviderKey,
  { workerId, inFlight, defaults }: { workerId: string; inFlight: number; defaults: ProviderSettings },
): Sql {
  return sql`
    select wait_ms as "waitMs", waiting_for as "waitingFor"
      from take_provider_call(
        ${tenantId}, ${host}, ${workerId}, ${inFlight}, ${defaults.ratePerSecond}, ${defaults.concurrency},
        ${defaults.dailyBudget}, ${defaults.costPerCall})`;
}

export function pauseStatement(
  { tenantId, host }: ProviderKey,
  { waitMs, waitingFor }: { waitMs: number; waitingFor: string },
): Sql {
  return sql`
    insert into item_providers as p (tenant_id, host, paused_until, paused_for)
    values (${tenantId}, ${host}, clock_timestamp() + ${Math.round(waitMs)} * interval '1 millisecond', ${waitingFor})
    on conflict (tenant_id, host) do update
       set paused_until = greatest(p.paused_until, excluded.paused_until),
           paused_for = excluded.paused_for`;
}

export async function countCalls(
  tx: Tx,
  { tenantId, host }: ProviderKey,
  told: { workerId: string; inFlight: number; calls: number; cost: number | null; pace: object },
): Promise<void> {
  await tx.run(sql`
    select count_provider_calls(
      ${tenantId}, ${host}, ${told.workerId}, ${told.inFlight}, ${told.calls}, ${told.cost},
      ${JSON.stringify(told.pace)})`);
}
