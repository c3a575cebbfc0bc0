-- The kernel: one table of jobs for every pipeline, the workers that advance them, and what both have to remember.

-- Turns are shared by tenants: the lower a tenant's pass, the earlier its turn. Claims lock the row of the tenant
-- that they take from, so the limit on its running jobs is exact.
alter table tenants add column pass bigint not null default 0;
alter table tenants set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 100);

create table ingestion_jobs (
  tenant_id           text not null references tenants on delete cascade,
  job_id              uuid not null,
  pipeline            text not null check (length(pipeline) between 1 and 64),
  subject_id          text not null check (length(subject_id) between 1 and 500),
  workspace_id        uuid,
  status              text not null default 'queued' check (status in
    ('queued', 'running', 'paused', 'failed', 'dead_letter', 'success', 'canceled')),
  stage               text,
  run_at              timestamptz not null default clock_timestamp(),
  next_retry_at       timestamptz,
  retry_count         integer not null default 0,
  max_retries         integer not null default 5,
  run_id              text,
  correlation_id      text not null,
  error_code          text,
  error_message       text,
  payload             jsonb not null default '{}',
  checkpoint          jsonb not null default '{}',
  counters            jsonb not null default '{}',
  lease_epoch         bigint not null default 0,
  leased_by           uuid,
  lease_expires_at    timestamptz,
  heartbeat_at        timestamptz,
  -- Workers that died with this job since it last made progress; one that turns out to live takes its strike back.
  struck_by           uuid[] not null default '{}',
  -- An upstream's Retry-After: bringing a retry forward never goes before it.
  not_before          timestamptz,
  -- A canceled job whose cleanup slices have not finished yet.
  cleanup_open        boolean not null default false,
  requeued_from       uuid,
  -- Never leased: its slices run side by side, and the fence is on what they work on.
  shared              boolean not null default false,
  connector_id        text,
  external_account_id text,
  user_id             text,
  ip_address          text,
  file_id             uuid,
  created_by          text not null,
  created_at          timestamptz not null default clock_timestamp(),
  started_at          timestamptz,
  finished_at         timestamptz,
  progressed_at       timestamptz,
  updated_at          timestamptz not null default clock_timestamp(),
  primary key (tenant_id, job_id),
  check ((leased_by is null) = (lease_expires_at is null)),
  check (not cleanup_open or status = 'canceled')
);
alter table ingestion_jobs set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);

-- One active job per tenant, pipeline and subject.
create unique index ix_ingestion_jobs_active_unique
    on ingestion_jobs (tenant_id, pipeline, subject_id)
 where status in ('queued', 'running', 'paused') or cleanup_open;
-- What a worker may take, per tenant: started jobs (0) before queued ones (1), then by due time.
create index ix_ingestion_jobs_claimable
    on ingestion_jobs (tenant_id, (case status when 'queued' then 1 else 0 end), run_at)
 where leased_by is null and (status in ('queued', 'running', 'failed') or cleanup_open);
create index ix_ingestion_jobs_leased
    on ingestion_jobs (tenant_id, workspace_id, leased_by)
 where leased_by is not null;
create index ix_ingestion_jobs_waiting_retry
    on ingestion_jobs (tenant_id, pipeline, subject_id, job_id)
 where status = 'failed';
create index ix_ingestion_jobs_struck
    on ingestion_jobs (run_at)
 where struck_by <> '{}' and leased_by is null and (status in ('queued', 'running', 'failed') or cleanup_open);
create index ix_ingestion_jobs_dead_letter
    on ingestion_jobs (tenant_id, job_id)
 where status = 'dead_letter';
-- One requeue per dead letter.
create unique index ix_ingestion_jobs_requeued_from
    on ingestion_jobs (tenant_id, requeued_from)
 where requeued_from is not null;
create index ix_ingestion_jobs_finished
    on ingestion_jobs (finished_at)
 where finished_at is not null;

select guard_tenant_table('ingestion_jobs');
grant select, insert, update on ingestion_jobs to sluice_tenant;
grant select, update, delete on ingestion_jobs to sluice_kernel;
grant update (pass) on tenants to sluice_kernel;

-- Processes that may hold leases. worker_id is the boot id: a restarted process is another worker.
create table workers (
  worker_id    uuid primary key,
  name         text not null,
  -- 'lock': the advisory lock lock_key is held on a connection of its own, and its absence means death.
  -- 'expiry': the connection goes through a pooler, where a lock says nothing.
  guarded_by   text not null check (guarded_by in ('lock', 'expiry')),
  lock_key     bigint not null,
  concurrency  integer not null,
  version      text not null,
  started_at   timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp(),
  -- Set by a rescuer when the lock was gone; cleared when the same boot id comes back.
  lost_at      timestamptz
);
grant select, insert, update, delete on workers to sluice_kernel;

-- Append-only. Ids are handed out in another order than transactions commit, so readers order by (xid, event_id) and
-- stop at the oldest transaction that is still open.
-- No foreign key: the look-up of the tenant would cost more than the insert; erasure deletes the rows itself.
create table events (
  tenant_id      text not null,
  xid            xid8 not null default pg_current_xact_id(),
  event_id       bigint generated always as identity,
  type           text not null,
  subject        text not null,
  -- Whose job it is about; members read only their own.
  user_id        text,
  correlation_id text,
  data           jsonb not null,
  occurred_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, xid, event_id)
);
create index ix_events_subject on events (tenant_id, subject, xid, event_id);
create index ix_events_age on events using brin (occurred_at);
alter table events set (autovacuum_vacuum_insert_scale_factor = 0.2);
select guard_tenant_table('events');
grant select, insert on events to sluice_tenant;
grant select, insert, delete on events to sluice_kernel;

-- Sliding windows: the moments of the last reservations of each key. No index on expires_at: every reservation moves
-- it, and an index would keep the updates from staying within their page.
create table rate_limits (
  key        text primary key check (length(key) between 1 and 500),
  moments    timestamptz[] not null,
  expires_at timestamptz not null
);
alter table rate_limits set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
grant select, insert, update, delete on rate_limits to sluice_kernel;

-- How long until the window has room for one more; zero: it has room now.
create function rate_limit_wait(p_moments timestamptz[], p_now timestamptz, p_limit integer, p_window interval)
returns interval
language sql stable
return coalesce(
  (select m + p_window - p_now
     from unnest(p_moments) m
    where m > p_now - p_window
    order by m desc
   offset p_limit - 1
    limit 1),
  interval '0');

-- Takes a place in every window, or in none of them. Answers zero when taken, else how many milliseconds to wait.
-- A function and not one statement: the windows must be read after all of their rows were locked.
create function reserve_rate_limits(p_keys text[], p_limits integer[], p_windows_ms bigint[]) returns bigint
language plpgsql
as $$
declare
  v_key text;
  v_now timestamptz;
  v_wait interval;
begin
  -- Always in the order of the keys, whatever the caller's: two callers cannot wait for each other.
  for v_key in select k from unnest(p_keys) k order by k collate "C" loop
    loop
      perform from rate_limits r where r.key = v_key for update;
      exit when found;
      insert into rate_limits (key, moments, expires_at)
      values (v_key, '{}', clock_timestamp())
      on conflict (key) do nothing;
    end loop;
  end loop;

  v_now := clock_timestamp();
  select max(rate_limit_wait(r.moments, v_now, p.max_count, p.window_ms * interval '1 millisecond'))
    into v_wait
    from unnest(p_keys, p_limits, p_windows_ms) as p (key, max_count, window_ms)
    join rate_limits r on r.key = p.key;
  if v_wait > interval '0' then
    return ceil(extract(epoch from v_wait) * 1000);
  end if;

  update rate_limits r
     set moments = array(select m
                           from unnest(r.moments) m
                          where m > v_now - p.window_ms * interval '1 millisecond'
                          order by m) || v_now,
         expires_at = v_now + p.window_ms * interval '1 millisecond'
    from unnest(p_keys, p_windows_ms) as p (key, window_ms)
   where r.key = p.key;
  return 0;
end
$$;

-- What is known of the health of each outside dependency, shared by all processes.
--   closed   calls go through; `failures` counts those in a row
--   open     nobody calls before probe_at
--   probing  one caller is trying; at probe_at it counts as lost and the next one may
-- opened_count is the number of openings since the last success: each doubles the cool-down.
create table circuit_breakers (
  dependency        text primary key,
  state             text not null check (state in ('closed', 'open', 'probing')),
  failures          integer not null default 0,
  opened_count      integer not null default 0,
  reason            text,
  opened_at         timestamptz,
  probe_at          timestamptz,
  updated_at        timestamptz not null default clock_timestamp()
);
grant select, insert, update, delete on circuit_breakers to sluice_kernel;

create table upkeep_tasks (
  task             text primary key,
  next_run_at      timestamptz not null default clock_timestamp(),
  last_started_at  timestamptz,
  last_finished_at timestamptz,
  last_result      jsonb,
  last_error       text
);
grant select, insert, update on upkeep_tasks to sluice_kernel;

-- Tenants that have due work, in the order of their turns. Walks the claimable index from tenant to tenant instead of
-- reading the backlog, so its cost depends on the number of tenants, not of jobs.
create function tenants_with_due_work(p_now timestamptz) returns table (tenant_id text, pass bigint)
language sql stable
begin atomic
  with recursive with_work as (
    (select j.tenant_id
       from ingestion_jobs j
      where j.leased_by is null and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
      order by j.tenant_id
      limit 1)
    union all
    select (select j.tenant_id
              from ingestion_jobs j
             where j.leased_by is null and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
               and j.tenant_id > w.tenant_id
             order by j.tenant_id
             limit 1)
      from with_work w
     where w.tenant_id is not null
  )
  select t.tenant_id, t.pass
    from with_work w
    join tenants t on t.tenant_id = w.tenant_id
   -- Not `exists`: of two of them joined by `or` the planner makes hash tables of the whole backlog.
   where coalesce(
           (select true
              from ingestion_jobs j
             where j.tenant_id = w.tenant_id
               and (case j.status when 'queued' then 1 else 0 end) = 0 and j.run_at <= p_now
               and j.leased_by is null and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
             limit 1),
           (select true
              from ingestion_jobs j
             where j.tenant_id = w.tenant_id
               and (case j.status when 'queued' then 1 else 0 end) = 1 and j.run_at <= p_now
               and j.leased_by is null and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
             limit 1),
           false)
   order by t.pass, t.tenant_id;
end;

-- Takes up to p_limit due jobs, tenants by turns, and leases them to p_worker.
--   p_tenant, p_job  only this tenant's jobs, only this job (a service's own cycle, kickoff)
--   p_struck         true: only jobs that a worker died with, because they run alone; false: only the others
-- A function and not one statement: the count of a tenant's leases must be read after its row was locked, and inside
-- one statement it would be as old as the statement's snapshot.
create function claim_jobs(
  p_worker uuid, p_pipelines text[], p_limit integer, p_lease_ms integer, p_tenant_limit integer,
  p_tenant text default null, p_job uuid default null, p_struck boolean default false
) returns table (claimed ingestion_jobs, was text)
language plpgsql
-- The planner cannot know how the due jobs lie in the index: it would sort a whole backlog to take its first rows
-- (138 ms instead of 1 ms with 100,000 waiting). The index has the order, so nothing else may be tried.
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_tenants text[];
  v_passes bigint[];
  v_share integer;
  v_remaining integer := p_limit;
  v_limits jsonb;
  v_free integer;
  v_taken integer;
  v_full_workspaces uuid[];
  v_ids uuid[];
  v_was text[];
begin
  if p_tenant is not null then
    v_tenants := array[p_tenant];
    v_passes := array[0];
  else
    select array_agg(t.tenant_id), array_agg(t.pass)
      into v_tenants, v_passes
      from tenants_with_due_work(v_now) t;
  end if;
  v_share := ceil(p_limit::numeric / greatest(cardinality(v_tenants), 1));

  for i in 1 .. coalesce(cardinality(v_tenants), 0) loop
    exit when v_remaining <= 0;
    -- Another worker that takes from this tenant right now has it locked: go on with the next tenant.
    select t.limits into v_limits from tenants t where t.tenant_id = v_tenants[i] for no key update skip locked;
    continue when not found;
    select coalesce((v_limits ->> 'concurrent_jobs')::integer, p_tenant_limit) - count(*)
      into v_free
      from ingestion_jobs j
     where j.tenant_id = v_tenants[i] and j.leased_by is not null;
    v_free := least(v_free, v_share, v_remaining);

    -- Started jobs first: the other way round a large backlog would start all its jobs and finish none.
    for v_queued in 0 .. 1 loop
      exit when v_free <= 0;
      v_full_workspaces := full_workspaces(v_tenants[i], (v_limits ->> 'concurrent_jobs_per_workspace')::integer);
      select array_agg(h.job_id), array_agg(h.status)
        into v_ids, v_was
        from (select j.job_id, j.status
                from ingestion_jobs j
               where j.tenant_id = v_tenants[i]
                 and (case j.status when 'queued' then 1 else 0 end) = v_queued
                 and j.run_at <= v_now
                 and j.leased_by is null
                 and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
                 and j.pipeline = any(p_pipelines)
                 and (p_job is null or j.job_id = p_job)
                 and (j.struck_by <> '{}') = p_struck
                 and (v_full_workspaces is null or j.workspace_id is null or j.workspace_id <> all(v_full_workspaces))
                 and (j.status <> 'failed' or retry_may_start(j.tenant_id, j.pipeline, j.subject_id, j.job_id))
               order by j.run_at
               limit case when v_limits ? 'concurrent_jobs_per_workspace' then 1 else v_free end
                 for update skip locked) h;
      continue when v_ids is null;

      return query
        with moved as (
          update ingestion_jobs j
             set status = case j.status when 'canceled' then 'canceled' else 'running' end,
                 lease_epoch = j.lease_epoch + case when j.shared and j.status <> 'canceled' then 0 else 1 end,
                 leased_by = case when j.shared and j.status <> 'canceled' then null else p_worker end,
                 lease_expires_at = case when j.shared and j.status <> 'canceled' then null
                   else clock_timestamp() + p_lease_ms * interval '1 millisecond' end,
                 heartbeat_at = clock_timestamp(),
                 started_at = coalesce(j.started_at, clock_timestamp()),
                 next_retry_at = null,
                 not_before = null,
                 updated_at = clock_timestamp()
            from unnest(v_ids, v_was) as h (job_id, was)
           where j.tenant_id = v_tenants[i]
             and j.job_id = h.job_id
          returning j, h.was
        ), logged as (
          insert into events (tenant_id, type, subject, user_id, correlation_id, data)
          select (m.j).tenant_id, 'job.started', (m.j).job_id::text, (m.j).user_id, (m.j).correlation_id,
                 jsonb_strip_nulls(jsonb_build_object(
                   'job_id', (m.j).job_id, 'tenant_id', (m.j).tenant_id, 'pipeline', (m.j).pipeline,
                   'subject_id', (m.j).subject_id, 'connector_id', (m.j).connector_id, 'run_id', (m.j).run_id,
                   'retry_count', (m.j).retry_count, 'worker_id', p_worker))
            from moved m
           where m.was in ('queued', 'failed')
        )
        select m.j, m.was from moved m;
      get diagnostics v_taken = row_count;
      v_free := v_free - v_taken;
      v_remaining := v_remaining - v_taken;
      -- Behind all that wait now: a tenant that was idle, or is new, gets this turn and then no more than the others.
      update tenants t
         set pass = greatest(t.pass, v_passes[cardinality(v_passes)]) + v_taken
       where t.tenant_id = v_tenants[i];
    end loop;
  end loop;
end
$$;

-- Workspaces of a tenant that have as many running jobs as the tenant allows for each.
create function full_workspaces(p_tenant text, p_limit integer) returns uuid[]
language sql stable
begin atomic
  select array_agg(f.workspace_id)
    from (select j.workspace_id
            from ingestion_jobs j
           where p_limit is not null and j.tenant_id = p_tenant and j.leased_by is not null
             and j.workspace_id is not null
           group by j.workspace_id
          having count(*) >= p_limit) f;
end;

-- A due retry waits while its subject has an active job, and behind an older retry of the same subject.
create function retry_may_start(p_tenant text, p_pipeline text, p_subject text, p_job uuid) returns boolean
language sql stable
begin atomic
  select not exists (
           select from ingestion_jobs a
            where a.tenant_id = p_tenant and a.pipeline = p_pipeline and a.subject_id = p_subject
              and (a.status in ('queued', 'running', 'paused') or a.cleanup_open))
     and not exists (
           select from ingestion_jobs f
            where f.tenant_id = p_tenant and f.pipeline = p_pipeline and f.subject_id = p_subject
              and f.status = 'failed' and f.job_id < p_job);
end;

-- What becomes of a job in p_status when its slice ends with p_outcome. The table of legal moves as SQL; a test
-- compares it with the one in the program.
create function settled_status(p_status text, p_outcome text) returns text
language sql immutable
return case
  when p_status = 'canceled' then 'canceled'
  when p_outcome = 'done' then 'success'
  when p_outcome = 'dead' then 'dead_letter'
  when p_status = 'paused' then 'paused'
  when p_outcome = 'retry' then 'failed'
  else 'running'
end;
