-- What a tenant allows its items to ask of a provider, by host, and what all processes know of it together: the calls
-- of today and their cost, who has calls under way, the pace, and a pause that the provider has asked for.
create table item_providers (
  tenant_id text not null references tenants on delete cascade,
  host text not null,
  rate_per_second double precision,
  concurrency integer,
  daily_budget double precision,
  timeout_ms integer,
  cost_per_call double precision,
  day date not null default (clock_timestamp() at time zone 'UTC')::date,
  calls_today bigint not null default 0,
  cost_today double precision not null default 0,
  -- With the calls that are under way; the budget counts them, too.
  spent_today double precision not null default 0,
  tokens double precision not null default 0,
  tokens_at timestamptz not null default '-infinity',
  callers jsonb not null default '{}',
  pace jsonb,
  paused_until timestamptz,
  paused_for text,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, host)
) with (fillfactor = 50);
select guard_tenant_table('item_providers');
grant select, insert, update on item_providers to sluice_tenant;

-- One call, if the settings allow it now. Whatever the row leaves open, the parameters say: the config file's defaults.
create function take_provider_call(
  p_tenant text, p_host text, p_worker uuid, p_in_flight integer,
  p_rate double precision, p_concurrency integer, p_budget double precision, p_cost double precision
) returns table (wait_ms integer, waiting_for text)
language plpgsql
set search_path = public, pg_temp
as $$
declare
  v item_providers;
  v_now timestamptz := clock_timestamp();
  v_today date := (v_now at time zone 'UTC')::date;
  v_rate double precision;
  v_limit integer;
  v_budget double precision;
  v_cost double precision;
  v_burst double precision;
  v_others integer;
begin
  insert into item_providers (tenant_id, host) values (p_tenant, p_host) on conflict do nothing;
  select * into v from item_providers p where p.tenant_id = p_tenant and p.host = p_host for update;
  if v.day <> v_today then
    v.day := v_today; v.calls_today := 0; v.cost_today := 0; v.spent_today := 0;
  end if;
  v_rate := coalesce(v.rate_per_second, p_rate);
  v_limit := coalesce(v.concurrency, p_concurrency);
  v_budget := coalesce(v.daily_budget, p_budget);
  v_cost := coalesce(v.cost_per_call, p_cost, 1);
  v_burst := greatest(1, v_rate * 0.1);
  v.tokens := least(
    v_burst, v.tokens + extract(epoch from v_now - greatest(v.tokens_at, v_now - interval '1 hour')) * v_rate);
  select coalesce(sum((c.value ->> 'calls')::integer), 0) into v_others
    from jsonb_each(v.callers) c
   where c.key <> p_worker::text and (c.value ->> 'at')::timestamptz > v_now - interval '2 minutes';
  if v_budget is not null and greatest(v.spent_today, v.cost_today) + v_cost > v_budget then
    return query select ceil(extract(epoch from ((v_today + 1)::timestamp at time zone 'UTC') - v_now) * 1000)::integer,
                        'budget'::text;
    return;
  elsif v_limit is not null and v_others + p_in_flight >= v_limit then
    update item_providers p
       set callers = p.callers || jsonb_build_object(p_worker, jsonb_build_object('calls', p_in_flight, 'at', v_now))
     where p.tenant_id = p_tenant and p.host = p_host;
    return query select 100, 'provider_pause'::text;
    return;
  elsif v_rate is not null and v.tokens < 1 then
    return query select greatest(1, ceil((1 - v.tokens) / v_rate * 1000))::integer, 'provider_pause'::text;
    return;
  end if;
  update item_providers p
     set day = v.day, calls_today = v.calls_today, cost_today = v.cost_today,
         spent_today = v.spent_today + v_cost,
         tokens = case when v_rate is null then 0 else v.tokens - 1 end,
         tokens_at = v_now,
         callers = p.callers || jsonb_build_object(p_worker, jsonb_build_object('calls', p_in_flight + 1, 'at', v_now)),
         updated_at = v_now
   where p.tenant_id = p_tenant and p.host = p_host;
  return query select 0, null::text;
end
$$;

-- What calls a worker has made, written with their rows.
create function count_provider_calls(
  p_tenant text, p_host text, p_worker uuid, p_in_flight integer, p_calls integer, p_cost double precision, p_pace jsonb
) returns void
language sql
set search_path = public, pg_temp
as $$
  insert into item_providers as p (tenant_id, host, calls_today, cost_today, pace)
  values (p_tenant, p_host, p_calls, coalesce(p_cost, 0), p_pace)
  on conflict (tenant_id, host) do update
     set day = (clock_timestamp() at time zone 'UTC')::date,
         calls_today = p_calls + case when p.day = (clock_timestamp() at time zone 'UTC')::date
           then p.calls_today else 0 end,
         cost_today = coalesce(p_cost, p_calls * p.cost_per_call, 0)
           + case when p.day = (clock_timestamp() at time zone 'UTC')::date then p.cost_today else 0 end,
         spent_today = case when p.day = (clock_timestamp() at time zone 'UTC')::date then p.spent_today else 0 end,
         callers = p.callers
           || jsonb_build_object(p_worker, jsonb_build_object('calls', p_in_flight, 'at', clock_timestamp())),
         pace = p_pace,
         updated_at = clock_timestamp()
$$;

-- What the calls of a job have cost so far.
alter table item_jobs
  add column cost double precision;

alter table search_events
  add column cost double precision,
  add column tokens integer;

-- Attempts that were lost because a worker was cut off; they are given back with the row's next outcome.
alter table job_items
  add column uncharged smallint;
