-- A sync's `job.started` names the run at Airbyte, which is known only after the trigger: a job whose payload says
-- `announcesStart` gets the event from its worker, and the claim writes none while there is no run.

-- Leases these jobs to a worker and tells of each attempt that starts. A shared job gets no lease, and goes to the end
-- of its lane.
create or replace function lease_jobs(p_worker uuid, p_lease_ms integer, p_tenant text, p_jobs uuid[], p_was text[])
returns table (claimed ingestion_jobs, was text)
language plpgsql
set search_path = public, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
    with moved as (
      update only ingestion_jobs j
         set status = case j.status when 'canceled' then 'canceled' else 'running' end,
             lease_epoch = j.lease_epoch + case when j.shared and j.status <> 'canceled' then 0 else 1 end,
             leased_by = case when j.shared and j.status <> 'canceled' then null else p_worker end,
             lease_expires_at = case when j.shared and j.status <> 'canceled' then null
               else v_now + p_lease_ms * interval '1 millisecond' end,
             run_at = case when j.shared and j.status <> 'canceled' then v_now else j.run_at end,
             heartbeat_at = v_now,
             started_at = coalesce(j.started_at, v_now),
             next_retry_at = null,
             not_before = null,
             updated_at = v_now
        from unnest(p_jobs, p_was) as h (job_id, was)
       where j.tenant_id = p_tenant
         and j.job_id = h.job_id
      returning j, h.was
    ), logged as (
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select (m.j).tenant_id, 'job.started', (m.j).job_id::text, (m.j).user_id, (m.j).correlation_id,
             started_event((m.j), p_worker)
        from moved m
       where m.was in ('queued', 'failed')
         and not ((m.j).payload ? 'announcesStart' and (m.j).run_id is null)
    )
    select m.j, m.was from moved m;
end
$$;

-- What outside services said last about their rate limits, for whoever looks at their status in another process.
create table dependency_rate_limits (
  dependency text primary key check (length(dependency) <= 200),
  headers jsonb not null,
  status integer not null,
  said_at timestamptz not null
);
grant select, insert, update on dependency_rate_limits to sluice_kernel;
