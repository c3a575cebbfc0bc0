-- Jobs in two parts. `ingestion_jobs` itself holds what is open; what has ended is appended once to a table of its
-- own period that inherits from it. A SELECT from `ingestion_jobs` reads both, a claim reads only the first.

-- A job that ends leaves this table, so nothing can refer to it here; upkeep removes rows of jobs that are gone.
alter table item_jobs drop constraint item_jobs_tenant_id_job_id_fkey;
grant delete on item_jobs to sluice_kernel;
-- Room for new versions of a row on its own page.
alter table ingestion_jobs set (fillfactor = 70);

create table ingestion_jobs_ended () inherits (ingestion_jobs);
comment on table ingestion_jobs_ended is
  'Jobs that ended since the last rotation; older ones are in ingestion_jobs_ended_<n>';

-- Periods of ended jobs. `ended_before` is when the table stopped taking jobs; null for the one that takes them now.
create table ended_job_tables (
  name         text primary key,
  began_at     timestamptz not null default clock_timestamp(),
  ended_before timestamptz
);
insert into ended_job_tables (name) values ('ingestion_jobs_ended');
grant select on ended_job_tables to sluice_kernel;

-- Gives a table of ended jobs its indexes, policies and grants.
create function prepare_ended_jobs(p_table regclass) returns void
language plpgsql
set search_path = public, pg_temp
as $$
begin
  execute format('alter table %s add primary key (tenant_id, job_id)', p_table);
  execute format('create index on %s (tenant_id, job_id) where status = ''dead_letter''', p_table);
  execute format('create index on %s (tenant_id, requeued_from) where requeued_from is not null', p_table);
  execute format('create index on %s (tenant_id, connector_id, job_id) where connector_id is not null', p_table);
  execute format('create index on %s (tenant_id, subject_id, job_id) where pipeline = ''knowledge''', p_table);
  execute format('create index on %s (run_id) where run_id is not null', p_table);
  execute format('create index on %s using brin (finished_at)', p_table);
  -- A program of the version before may reopen a job where it lies: upkeep takes it back into the queue.
  execute format(
    'create index on %s (tenant_id) where status in (''queued'', ''running'', ''paused'', ''failed'')', p_table);
  execute format('select guard_tenant_table(%L)', p_table);
  execute format('grant select, insert, update, delete on %s to sluice_tenant', p_table);
  execute format('grant select, insert, update, delete on %s to sluice_kernel', p_table);
end
$$;
revoke execute on function prepare_ended_jobs(regclass) from public;
select prepare_ended_jobs('ingestion_jobs_ended');
grant delete on ingestion_jobs to sluice_tenant;
-- Programs of the version before erase a tenant by ctid, which is not unique where tables inherit: they would delete
-- jobs of other tenants. What this keeps them from goes with the tenant's row and with the tables of ended jobs.
create policy no_erasure_by_ctid on ingestion_jobs as restrictive for delete to sluice_kernel
 using ((select current_query() !~ '^\s*delete from "ingestion_jobs"\s+where ctid'));

-- Closes the table that takes ended jobs and opens the next one. Readers and writers wait for the renaming only.
create function rotate_ended_jobs() returns text
language plpgsql
security definer
set search_path = public, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_closed text;
  v_now timestamptz;
begin
  lock table ingestion_jobs_ended in access exclusive mode;
  v_now := clock_timestamp();
  v_closed := 'ingestion_jobs_ended_' || to_char(v_now at time zone 'utc', 'YYYYMMDD_HH24MISS');
  execute format('alter table ingestion_jobs_ended rename to %I', v_closed);
  create table ingestion_jobs_ended () inherits (ingestion_jobs);
  perform prepare_ended_jobs('ingestion_jobs_ended');
  update ended_job_tables set name = v_closed, ended_before = v_now where name = 'ingestion_jobs_ended';
  insert into ended_job_tables (name, began_at) values ('ingestion_jobs_ended', v_now);
  return v_closed;
end
$$;
revoke execute on function rotate_ended_jobs() from public;
grant execute on function rotate_ended_jobs() to sluice_kernel;

-- Drops a closed table. What it held must be past everybody's retention, or kept elsewhere, before.
create function drop_ended_jobs(p_name text) returns void
language plpgsql
security definer
set search_path = public, pg_temp
set lock_timeout = '2s'
as $$
begin
  delete from ended_job_tables where name = p_name and ended_before is not null;
  if not found then
    raise exception 'There is no closed table of ended jobs named %', p_name;
  end if;
  execute format('drop table %I', p_name);
end
$$;
revoke execute on function drop_ended_jobs(text) from public;
grant execute on function drop_ended_jobs(text) to sluice_kernel;

-- A process that only serves does not look for jobs: word of one is not for it.
alter table workers add column is_working boolean not null default true;

-- Lanes: what a tenant has waiting in one pipeline. A claim reads the first few lanes instead of the backlog.
--   is_due      it has, or had a moment ago, a job that may be taken; such lanes take turns in the order of their pass
--   next_due    when a lane that is not due has its next job
--   head_at     no job that may be taken is due before this; dead index entries of taken jobs lie before it
--   busy_until  a lane that goes idle and due again many times a second stays due for a while: fewer writes
--   is_limited  its tenant has as many running jobs as it may: the end of one makes the lane due
create table tenant_queue (
  tenant_id  text not null references tenants on delete cascade,
  pipeline   text not null,
  is_due     boolean not null default false,
  next_due   timestamptz not null default 'infinity',
  pass       bigint not null default 0,
  head_at    timestamptz not null default '-infinity',
  moved_at   timestamptz not null default '-infinity',
  busy_until timestamptz not null default '-infinity',
  is_limited boolean not null default false,
  primary key (tenant_id, pipeline)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 100);
create index ix_tenant_queue_turns on tenant_queue (pipeline, pass, tenant_id) where is_due;
create index ix_tenant_queue_waiting on tenant_queue (next_due) where not is_due and next_due < 'infinity';
create index ix_tenant_queue_limited on tenant_queue (tenant_id) where is_limited;
select guard_tenant_table('tenant_queue');
grant select on tenant_queue to sluice_tenant;
grant select, insert, update, delete on tenant_queue to sluice_kernel;

-- Work that came to a lane that was not due. Appended by whoever makes a job claimable, taken by the next claim: a
-- dispatch inside a long transaction must not lock the lane for the others.
create table tenant_queue_marks (
  tenant_id text not null,
  pipeline  text not null,
  due_at    timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
create index ix_tenant_queue_marks on tenant_queue_marks (tenant_id, pipeline);
select guard_tenant_table('tenant_queue_marks');
grant insert on tenant_queue_marks to sluice_tenant;
grant select, insert, update, delete on tenant_queue_marks to sluice_kernel;

create function lane_key(p_tenant text, p_pipeline text) returns integer
language sql immutable parallel safe
return hashtext(p_pipeline || '/' || p_tenant);

-- Says that a job of this lane may be taken from p_due on. The lock is shared: those who say so do not wait for each
-- other, and a claim finds the lane idle only when nobody is about to commit a job into it.
create function note_work(p_tenant text, p_pipeline text, p_due timestamptz) returns void
language plpgsql
set search_path = public, pg_temp
as $$
begin
  perform pg_advisory_xact_lock_shared(20993, lane_key(p_tenant, p_pipeline));
  if not exists (
    select
      from tenant_queue q
     where q.tenant_id = p_tenant
       and q.pipeline = p_pipeline
       and (q.is_due or q.next_due <= p_due)
       and q.head_at <= p_due) then
    insert into tenant_queue_marks (tenant_id, pipeline, due_at) values (p_tenant, p_pipeline, p_due);
  end if;
end
$$;

create function note_new_jobs() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
  perform note_work(n.tenant_id, n.pipeline, n.due)
     from (select j.tenant_id, j.pipeline, min(j.run_at) as due
             from new_jobs j
            where j.leased_by is null
              and j.run_at < 'infinity'
              and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
            group by j.tenant_id, j.pipeline) n;
  return null;
end
$$;
create trigger trg_note_new_jobs after insert on ingestion_jobs
  referencing new table as new_jobs
  for each statement execute function note_new_jobs();

create function note_moved_job() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
  perform note_work(new.tenant_id, new.pipeline, new.run_at);
  return null;
end
$$;
-- Whatever statement makes a job claimable, of this version or the one before: none can forget it.
create trigger trg_note_moved_job after update on ingestion_jobs
  for each row
  when (new.leased_by is null and new.run_at < 'infinity'
    and (new.status in ('queued', 'running', 'failed') or new.cleanup_open)
    and (old.leased_by is not null or old.run_at is distinct from new.run_at or old.status is distinct from new.status
      or old.cleanup_open is distinct from new.cleanup_open or old.struck_by is distinct from new.struck_by))
  execute function note_moved_job();

-- The end of a lease, of a job, or of a limit may let something start that a lane had to leave.
create function note_room(p_tenant text) returns void
language plpgsql
set search_path = public, pg_temp
as $$
begin
  insert into tenant_queue_marks (tenant_id, pipeline, due_at)
  select q.tenant_id, q.pipeline, clock_timestamp()
    from tenant_queue q
   where q.tenant_id = p_tenant
     and q.is_limited;
end
$$;

create function note_room_of_job() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
  perform note_room(new.tenant_id);
  return null;
end
$$;
create trigger trg_note_room_of_job after update on ingestion_jobs
  for each row
  when ((old.leased_by is not null and new.leased_by is null)
    or (old.status is distinct from new.status and new.status not in ('queued', 'running')))
  execute function note_room_of_job();
create trigger trg_note_room_of_tenant after update of limits on tenants
  for each row
  when (old.limits is distinct from new.limits)
  execute function note_room_of_job();

-- The policies hold for the owner as well, who acts for no tenant here.
alter table ingestion_jobs no force row level security;
alter table tenant_queue_marks no force row level security;
insert into tenant_queue_marks (tenant_id, pipeline, due_at)
select j.tenant_id, j.pipeline, min(j.run_at)
  from ingestion_jobs j
 where j.leased_by is null
   and j.run_at < 'infinity'
   and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
 group by j.tenant_id, j.pipeline;
alter table ingestion_jobs force row level security;
alter table tenant_queue_marks force row level security;

-- When the first job of a lane may be taken, from p_from on; null when it has none.
create function lane_head(p_tenant text, p_pipeline text, p_from timestamptz) returns timestamptz
language plpgsql stable
set search_path = public, pg_temp
as $$
begin
  return least(
    (select j.run_at
       from only ingestion_jobs j
      where j.tenant_id = p_tenant and j.pipeline = p_pipeline
        and (case j.status when 'queued' then 1 else 0 end) = 0 and j.run_at >= p_from
        and j.leased_by is null and j.struck_by = '{}'
        and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
      order by j.run_at
      limit 1),
    (select j.run_at
       from only ingestion_jobs j
      where j.tenant_id = p_tenant and j.pipeline = p_pipeline
        and (case j.status when 'queued' then 1 else 0 end) = 1 and j.run_at >= p_from
        and j.leased_by is null and j.struck_by = '{}'
        and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
      order by j.run_at
      limit 1));
end
$$;

-- Lets marked lanes know of their work, and lanes whose next job has come due take turns again, before all that wait
-- now. A lane that another claim has locked keeps its mark for the next claim.
create function wake_lanes(p_now timestamptz, p_pipelines text[]) returns void
language plpgsql
set search_path = public, pg_temp
as $$
declare
  v_mark record;
  v_due timestamptz;
begin
  for v_mark in select m.tenant_id, m.pipeline from tenant_queue_marks m group by 1, 2 limit 100 loop
    continue when not pg_try_advisory_xact_lock(20994, lane_key(v_mark.tenant_id, v_mark.pipeline));
    perform
       from tenant_queue q
      where q.tenant_id = v_mark.tenant_id and q.pipeline = v_mark.pipeline
        for update skip locked;
    continue when not found and exists (
      select from tenant_queue q where q.tenant_id = v_mark.tenant_id and q.pipeline = v_mark.pipeline);
    with gone as (
      delete from tenant_queue_marks m
       where m.tenant_id = v_mark.tenant_id and m.pipeline = v_mark.pipeline
      returning m.due_at)
    select min(g.due_at) into v_due from gone g;
    insert into tenant_queue as q (tenant_id, pipeline, next_due, head_at)
    select t.tenant_id, v_mark.pipeline, v_due, v_due
      from tenants t
     where t.tenant_id = v_mark.tenant_id and v_due is not null
    on conflict (tenant_id, pipeline) do update
       set next_due = least(q.next_due, excluded.next_due),
           head_at = least(q.head_at, excluded.head_at),
           busy_until = case
             when q.moved_at > p_now - interval '100 milliseconds' then p_now + interval '1 second'
             else q.busy_until end;
  end loop;
  update tenant_queue q
     set is_due = true,
         is_limited = false,
         pass = coalesce(
           (select min(f.pass) - 1
              from unnest(p_pipelines || q.pipeline) p (name),
                   lateral (select t.pass
                              from tenant_queue t
                             where t.pipeline = p.name and t.is_due
                             order by t.pass
                             limit 1) f),
           q.pass)
   where q.ctid = any(array(
     select w.ctid
       from tenant_queue w
      where not w.is_due and w.next_due < 'infinity' and w.next_due <= p_now
      order by w.next_due
      limit 100
        for update skip locked));
end
$$;

-- What becomes of a lane from which fewer jobs were taken than there was room for.
create function rest_lane(p_lane tenant_queue, p_now timestamptz, p_spared uuid[]) returns void
language plpgsql
set search_path = public, pg_temp
as $$
declare
  v_next timestamptz := lane_head(p_lane.tenant_id, p_lane.pipeline, p_lane.head_at);
begin
  if v_next <= p_now then
    -- The spared jobs are at work here; others may take them. What is left otherwise waits for something else: for the
    -- active job of its subject, or for room in its workspace.
    if not exists (
      select
        from only ingestion_jobs j
       where j.tenant_id = p_lane.tenant_id and j.job_id = any(p_spared) and j.pipeline = p_lane.pipeline
         and j.run_at <= p_now and j.status = 'running') then
      update tenant_queue q
         set is_due = false, is_limited = true, next_due = p_now + interval '200 milliseconds'
       where q.tenant_id = p_lane.tenant_id and q.pipeline = p_lane.pipeline;
    end if;
    return;
  end if;
  if p_lane.busy_until > p_now
     or not pg_try_advisory_xact_lock(20993, lane_key(p_lane.tenant_id, p_lane.pipeline)) then
    return;
  end if;
  -- Nobody is about to commit a job into this lane; read it once more.
  v_next := lane_head(p_lane.tenant_id, p_lane.pipeline, p_lane.head_at);
  if v_next is null or v_next > p_now then
    update tenant_queue q
       set is_due = false, is_limited = false, next_due = coalesce(v_next, 'infinity'),
           head_at = coalesce(v_next, p_now), moved_at = p_now
     where q.tenant_id = p_lane.tenant_id and q.pipeline = p_lane.pipeline;
  end if;
end
$$;

-- Leases these jobs to a worker and tells of each attempt that starts. A shared job gets no lease, and goes to the end
-- of its lane.
create function lease_jobs(p_worker uuid, p_lease_ms integer, p_tenant text, p_jobs uuid[], p_was text[])
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
    )
    select m.j, m.was from moved m;
end
$$;

create function started_event(j ingestion_jobs, p_worker uuid) returns jsonb
language sql stable
return jsonb_strip_nulls(jsonb_build_object(
  'job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline, 'subject_id', j.subject_id,
  'connector_id', j.connector_id, 'run_id', j.run_id, 'retry_count', j.retry_count, 'worker_id', p_worker));

-- How many jobs of a tenant run now, counted up to p_most. Dead index entries of ended leases lie before p_now.
create function count_leases(p_tenant text, p_now timestamptz, p_most integer) returns integer
language plpgsql stable
set search_path = public, pg_temp
as $$
begin
  return (select count(*)
            from (select
                    from only ingestion_jobs j
                   where j.tenant_id = p_tenant and j.leased_by is not null and j.lease_expires_at > p_now
                   limit p_most) running);
end
$$;

-- Takes up to p_limit due jobs, tenants by turns, and leases them to p_worker.
--   p_spared  shared jobs that are at work in this process: left out, because others come first
--   p_tenant  only this tenant's jobs: a service's own cycle
-- A function and not one statement: the count of a tenant's leases must be read after its row was locked, and inside
-- one statement it would be as old as the statement's snapshot.
create function claim_due_jobs(
  p_worker uuid, p_pipelines text[], p_limit integer, p_lease_ms integer, p_tenant_limit integer,
  p_spared uuid[], p_tenant text
) returns table (claimed ingestion_jobs, was text)
language plpgsql
set search_path = public, pg_temp
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
  v_lanes tenant_queue[];
  v_lane tenant_queue;
  v_locked tenant_queue;
  v_tenants integer;
  v_last_pass bigint;
  v_share integer;
  v_remaining integer := p_limit;
  v_limits jsonb;
  v_limit integer;
  v_room integer;
  v_want integer;
  v_taken integer;
  v_of_tenant integer := 0;
  v_tenant_before text := '';
  v_full_workspaces uuid[];
  v_ids uuid[];
  v_was text[];
begin
  perform wake_lanes(v_now, p_pipelines);
  select array_agg(l order by (l).pass, (l).tenant_id, (l).pipeline), count(distinct (l).tenant_id), max((l).pass)
    into v_lanes, v_tenants, v_last_pass
    from first_lanes(p_pipelines, p_limit + 50, p_tenant) l;
  v_share := ceil(p_limit::numeric / greatest(v_tenants, 1));

  foreach v_lane in array coalesce(v_lanes, '{}') loop
    exit when v_remaining <= 0;
    if v_lane.tenant_id <> v_tenant_before then
      v_of_tenant := 0;
      v_tenant_before := v_lane.tenant_id;
    end if;
    continue when v_of_tenant >= v_share;
    -- Another worker that takes from this tenant right now has it locked: go on with the next one. The only tenant
    -- that waits is waited for, because that takes no longer than a claim.
    if v_tenants > 1 then
      select t.limits into v_limits from tenants t where t.tenant_id = v_lane.tenant_id for no key update skip locked;
    else
      select t.limits into v_limits from tenants t where t.tenant_id = v_lane.tenant_id for no key update;
    end if;
    continue when not found;
    -- Read again, because it may have been woken for an earlier job since. A lane that another claim has locked is left
    -- as it is: that claim may be waiting for this tenant.
    select q.* into v_locked
      from tenant_queue q
     where q.tenant_id = v_lane.tenant_id and q.pipeline = v_lane.pipeline
       for update skip locked;
    if found then
      v_lane := v_locked;
    end if;
    v_limit := coalesce((v_limits ->> 'concurrent_jobs')::integer, p_tenant_limit);
    v_room := v_limit - count_leases(v_lane.tenant_id, v_now, v_limit);
    if v_room <= 0 then
      update tenant_queue q
         set is_due = false, is_limited = true, next_due = v_now + interval '1 second'
       where q.tenant_id = v_locked.tenant_id and q.pipeline = v_locked.pipeline;
      continue;
    end if;
    v_want := least(v_room, v_share - v_of_tenant, v_remaining);

    -- Started jobs first: the other way round a large backlog would start all its jobs and finish none.
    for v_queued in 0 .. 1 loop
      exit when v_want <= 0;
      v_full_workspaces := case when v_limits ? 'concurrent_jobs_per_workspace'
        then full_workspaces(v_lane.tenant_id, (v_limits ->> 'concurrent_jobs_per_workspace')::integer) end;
      select array_agg(h.job_id), array_agg(h.status)
        into v_ids, v_was
        from (select j.job_id, j.status
                from only ingestion_jobs j
               where j.tenant_id = v_lane.tenant_id
                 and j.pipeline = v_lane.pipeline
                 and (case j.status when 'queued' then 1 else 0 end) = v_queued
                 and j.run_at >= v_lane.head_at
                 and j.run_at <= v_now
                 and j.leased_by is null
                 and j.struck_by = '{}'
                 and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
                 and j.job_id <> all(p_spared)
                 and (v_full_workspaces is null or j.workspace_id is null or j.workspace_id <> all(v_full_workspaces))
                 and (j.status <> 'failed' or retry_may_start(j.tenant_id, j.pipeline, j.subject_id, j.job_id))
               order by j.run_at
               limit case when v_limits ? 'concurrent_jobs_per_workspace' then 1 else v_want end
                 for update skip locked) h;
      continue when v_ids is null;
      return query select l.claimed, l.was from lease_jobs(p_worker, p_lease_ms, v_lane.tenant_id, v_ids, v_was) l;
      get diagnostics v_taken = row_count;
      v_want := v_want - v_taken;
      v_remaining := v_remaining - v_taken;
      v_of_tenant := v_of_tenant + v_taken;
    end loop;

    -- Behind all that wait now, and behind the other lanes of its tenant. Those move as well when something was taken,
    -- because the tenant had its turn. A lane that is alone keeps its place, and its row its version.
    if cardinality(v_lanes) > 1 then
      update tenant_queue q
         set pass = greatest(q.pass, v_last_pass) + greatest(v_of_tenant, 1) + (q.pipeline = v_lane.pipeline)::integer
       where q.ctid = any(array(
         select w.ctid
           from tenant_queue w
          where w.tenant_id = v_lane.tenant_id
            and (v_of_tenant > 0 or w.pipeline = v_lane.pipeline)
            for update skip locked));
    end if;
    continue when v_locked.tenant_id is null;
    if v_want > 0 and not (v_limits ? 'concurrent_jobs_per_workspace' and v_of_tenant > 0) then
      perform rest_lane(v_lane, v_now, p_spared);
    elsif v_lane.moved_at < v_now - interval '250 milliseconds'
       and pg_try_advisory_xact_lock(20993, lane_key(v_lane.tenant_id, v_lane.pipeline)) then
      update tenant_queue q
         set head_at = coalesce(lane_head(q.tenant_id, q.pipeline, q.head_at), v_now), moved_at = v_now
       where q.tenant_id = v_lane.tenant_id and q.pipeline = v_lane.pipeline;
    end if;
  end loop;
end
$$;

-- The lanes whose turn it is, of these pipelines.
create function first_lanes(p_pipelines text[], p_limit integer, p_tenant text) returns setof tenant_queue
language plpgsql stable
set search_path = public, pg_temp
as $$
begin
  if p_tenant is null then
    return query
      select q.*
        from unnest(p_pipelines) as p (name)
       cross join lateral (
         select t.*
           from tenant_queue t
          where t.pipeline = p.name and t.is_due
          order by t.pass, t.tenant_id
          limit p_limit) q
       order by q.pass, q.tenant_id
       limit p_limit;
  else
    return query
      select t.*
        from tenant_queue t
       where t.tenant_id = p_tenant and t.pipeline = any(p_pipelines) and t.is_due;
  end if;
end
$$;

-- Takes one job by its id, if it is due and free: a kickoff. p_now is infinite for a job that is driven by hand.
create function claim_one_job(
  p_worker uuid, p_lease_ms integer, p_tenant_limit integer, p_tenant text, p_job uuid
) returns table (claimed ingestion_jobs, was text)
language plpgsql
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_limits jsonb;
  v_limit integer;
  v_job ingestion_jobs;
begin
  select t.limits into v_limits from tenants t where t.tenant_id = p_tenant for no key update;
  v_limit := coalesce((v_limits ->> 'concurrent_jobs')::integer, p_tenant_limit);
  select j.* into v_job
    from only ingestion_jobs j
   where j.tenant_id = p_tenant
     and j.job_id = p_job
     and j.run_at <= v_now
     and j.leased_by is null
     and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
     and (j.status <> 'failed' or retry_may_start(j.tenant_id, j.pipeline, j.subject_id, j.job_id))
     for update skip locked;
  if not found or count_leases(p_tenant, v_now, v_limit) >= v_limit
     or v_job.workspace_id = any(
       full_workspaces(p_tenant, (v_limits ->> 'concurrent_jobs_per_workspace')::integer)) then
    return;
  end if;
  return query
    select l.claimed, l.was
      from lease_jobs(p_worker, p_lease_ms, p_tenant, array[p_job], array[v_job.status]) l;
end
$$;

-- The first due job that a worker died with and that a process with these pipelines can claim now.
create function find_struck_job(p_pipelines text[], p_tenant_limit integer, p_tenant text)
returns table (tenant_id text, job_id uuid)
language plpgsql stable
set search_path = public, pg_temp
as $$
begin
  return query
    select j.tenant_id, j.job_id
      from only ingestion_jobs j
      join tenants t on t.tenant_id = j.tenant_id
     cross join lateral (
       select coalesce((t.limits ->> 'concurrent_jobs')::integer, p_tenant_limit) as concurrent,
              (t.limits ->> 'concurrent_jobs_per_workspace')::integer as per_workspace) l
     where j.struck_by <> '{}'
       and j.leased_by is null
       and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
       and j.run_at <= (select clock_timestamp())
       and j.pipeline = any(p_pipelines)
       and (p_tenant is null or j.tenant_id = p_tenant)
       and (j.status <> 'failed' or retry_may_start(j.tenant_id, j.pipeline, j.subject_id, j.job_id))
       and count_leases(j.tenant_id, clock_timestamp(), l.concurrent) < l.concurrent
       -- A job that cannot be claimed would hide all jobs behind it.
       and (j.workspace_id is null
         or j.workspace_id <> all(coalesce(full_workspaces(j.tenant_id, l.per_workspace), '{}')))
     order by j.run_at
     limit 1;
end
$$;

create or replace function full_workspaces(p_tenant text, p_limit integer) returns uuid[]
language sql stable
begin atomic
  select array_agg(f.workspace_id)
    from (select j.workspace_id
            from only ingestion_jobs j
           where p_limit is not null and j.tenant_id = p_tenant and j.leased_by is not null
             and j.workspace_id is not null
           group by j.workspace_id
          having count(*) >= p_limit) f;
end;

create or replace function retry_may_start(p_tenant text, p_pipeline text, p_subject text, p_job uuid) returns boolean
language sql stable
begin atomic
  select not exists (
           select from only ingestion_jobs a
            where a.tenant_id = p_tenant and a.pipeline = p_pipeline and a.subject_id = p_subject
              and (a.status in ('queued', 'running', 'paused') or a.cleanup_open))
     and not exists (
           select from only ingestion_jobs f
            where f.tenant_id = p_tenant and f.pipeline = p_pipeline and f.subject_id = p_subject
              and f.status = 'failed' and f.job_id < p_job);
end;

-- Lets a retry that waits for this subject start now, or when its upstream's Retry-After allows. If the subject has an
-- active job, the retry stays as it is: it could not start anyway, and the caller has to learn of the active job.
create function forward_retry(p_tenant text, p_pipeline text, p_subject text) returns setof ingestion_jobs
language plpgsql
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_job ingestion_jobs;
begin
  select f.* into v_job
    from only ingestion_jobs f
   where f.tenant_id = p_tenant
     and f.pipeline = p_pipeline
     and f.subject_id = p_subject
     and f.status = 'failed'
   order by f.job_id
   limit 1
     for update;
  if not found or exists (
    select
      from only ingestion_jobs a
     where a.tenant_id = p_tenant
       and a.pipeline = p_pipeline
       and a.subject_id = p_subject
       and (a.status in ('queued', 'running', 'paused') or a.cleanup_open)) then
    return;
  end if;
  update only ingestion_jobs j
     set run_at = least(j.run_at, greatest(v_now, j.not_before)),
         next_retry_at = least(j.next_retry_at, greatest(v_now, j.not_before)),
         updated_at = v_now
   where j.tenant_id = p_tenant
     and j.job_id = v_job.job_id
     and j.status = 'failed'
  returning * into v_job;
  if not found then
    return;
  end if;
  insert into events (tenant_id, type, subject, user_id, correlation_id, data)
  values (
    p_tenant, 'job.retry', v_job.job_id::text, v_job.user_id, v_job.correlation_id,
    jsonb_build_object(
      'job_id', v_job.job_id, 'tenant_id', p_tenant, 'pipeline', p_pipeline, 'subject_id', p_subject,
      'retry_count', v_job.retry_count, 'brought_forward', true,
      'delay_seconds', greatest(0, extract(epoch from v_job.next_retry_at - clock_timestamp()))));
  return next v_job;
end
$$;

-- Creates a queued job and its event, unless its subject has an active one. A retry that waits for the subject is
-- brought forward instead; a requeued dead letter always gets a job of its own. With p_worker the job is leased to that
-- worker at once, if nothing of its lane waits and its tenant may run one more: it starts without a claim of its own.
create function dispatch_job(
  p_tenant text, p_job uuid, p_pipeline text, p_subject text, p_workspace uuid, p_stage text, p_run_at timestamptz,
  p_max_retries integer, p_correlation text, p_payload jsonb, p_requeued_from uuid, p_shared boolean,
  p_connector text, p_account text, p_user text, p_ip text, p_file uuid, p_created_by text,
  p_worker uuid, p_lease_ms integer, p_tenant_limit integer
) returns setof ingestion_jobs
language plpgsql
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_worker uuid := p_worker;
  v_job ingestion_jobs;
begin
  if p_requeued_from is null then
    return query select f.* from forward_retry(p_tenant, p_pipeline, p_subject) f;
    if found then
      return;
    end if;
  end if;
  if v_worker is not null and not may_start_at_once(p_tenant, p_pipeline, p_tenant_limit) then
    v_worker := null;
  end if;
  insert into ingestion_jobs (
    tenant_id, job_id, pipeline, subject_id, workspace_id, status, stage, run_at, max_retries, correlation_id, payload,
    lease_epoch, leased_by, lease_expires_at, heartbeat_at, started_at,
    requeued_from, shared, connector_id, external_account_id, user_id, ip_address, file_id, created_by,
    created_at, updated_at)
  values (
    p_tenant, p_job, p_pipeline, p_subject, p_workspace, case when v_worker is null then 'queued' else 'running' end,
    p_stage, coalesce(p_run_at, v_now), p_max_retries, p_correlation, p_payload,
    case when v_worker is null then 0 else 1 end, v_worker,
    case when v_worker is not null then v_now + p_lease_ms * interval '1 millisecond' end,
    case when v_worker is not null then v_now end, case when v_worker is not null then v_now end,
    p_requeued_from, p_shared, p_connector, p_account, p_user, p_ip, p_file, p_created_by, v_now, v_now)
  on conflict (tenant_id, pipeline, subject_id)
    where status in ('queued', 'running', 'paused') or cleanup_open
    do nothing
  returning * into v_job;
  if not found then
    return;
  end if;
  insert into events (tenant_id, type, subject, user_id, correlation_id, data)
  values (
    p_tenant, 'job.queued', p_job::text, p_user, p_correlation,
    jsonb_strip_nulls(jsonb_build_object(
      'job_id', p_job, 'tenant_id', p_tenant, 'pipeline', p_pipeline, 'subject_id', p_subject,
      'connector_id', p_connector, 'requeued_from', p_requeued_from, 'created_by', p_created_by)));
  if p_requeued_from is not null then
    insert into events (tenant_id, type, subject, user_id, correlation_id, data)
    values (
      p_tenant, 'job.requeued', p_job::text, p_user, p_correlation,
      jsonb_strip_nulls(jsonb_build_object(
        'job_id', p_job, 'tenant_id', p_tenant, 'pipeline', p_pipeline, 'subject_id', p_subject,
        'connector_id', p_connector, 'requeued_from', p_requeued_from, 'created_by', p_created_by)));
  end if;
  if v_worker is not null then
    insert into events (tenant_id, type, subject, user_id, correlation_id, data)
    values (p_tenant, 'job.started', p_job::text, p_user, p_correlation, started_event(v_job, v_worker));
  end if;
  return next v_job;
end
$$;

-- Whether a new job of this lane would be the next one to be taken. It counts without a lock, so that several at once
-- could pass a limit: a tenant with a limit of its own leaves it to the claims, and others keep a distance to theirs.
create function may_start_at_once(p_tenant text, p_pipeline text, p_tenant_limit integer) returns boolean
language plpgsql stable
set search_path = public, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_limits jsonb := coalesce((select t.limits from tenants t where t.tenant_id = p_tenant), '{}');
  v_head timestamptz := (
    select q.head_at from tenant_queue q where q.tenant_id = p_tenant and q.pipeline = p_pipeline);
begin
  return not v_limits ?| array['concurrent_jobs', 'concurrent_jobs_per_workspace']
     and coalesce(lane_head(p_tenant, p_pipeline, coalesce(v_head, '-infinity')) > v_now, true)
     and count_leases(p_tenant, v_now, p_tenant_limit) < p_tenant_limit / 2;
end
$$;

-- The fence: locks the job's row for the rest of the transaction if the lease is still this worker's. A paused job lets
-- its slice in flight commit, a canceled one only its own cleanup slices; an old epoch never commits. The worker is
-- named as well: after a failover that lost a claim, the same epoch is handed out again.
create function fence_job(p_worker uuid, p_tenant text, p_job uuid, p_epoch bigint) returns setof ingestion_jobs
language plpgsql
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select j.*
      from only ingestion_jobs j
     where j.tenant_id = p_tenant
       and j.job_id = p_job
       and j.lease_epoch = p_epoch
       and j.leased_by is not distinct from p_worker
       and p_worker is not null
       and (j.status in ('running', 'paused') or j.cleanup_open)
       for no key update;
end
$$;

-- Saves a slice's state in the middle of it; its transaction has locked the row with the fence. It renews the lease as
-- well: a slice that goes from transaction to transaction keeps its row locked, and every heartbeat passes it by.
create function save_job(
  p_worker uuid, p_tenant text, p_job uuid, p_epoch bigint, p_lease_ms integer,
  p_checkpoint jsonb, p_counters jsonb, p_stage text, p_sets_run_id boolean, p_run_id text
) returns void
language plpgsql
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  update only ingestion_jobs j
     set checkpoint = coalesce(p_checkpoint, j.checkpoint),
         counters = coalesce(p_counters, j.counters),
         stage = coalesce(p_stage, j.stage),
         run_id = case when p_sets_run_id then p_run_id else j.run_id end,
         progressed_at = case when p_checkpoint is distinct from j.checkpoint then v_now else j.progressed_at end,
         struck_by = '{}',
         lease_expires_at = v_now + p_lease_ms * interval '1 millisecond',
         heartbeat_at = v_now,
         updated_at = v_now
   where j.tenant_id = p_tenant
     and j.job_id = p_job
     and j.lease_epoch = p_epoch
     and j.leased_by is not distinct from p_worker
     and p_worker is not null;
end
$$;

-- Ends slices: moves status, checkpoint and counters, gives the lease back and writes the audit events, for any number
-- of jobs. Jobs whose lease is no longer this worker's are left alone and missing from the result. One that `leaves`
-- has ended, and goes to the ended ones at once; those that triggers follow are moved later.
create function settle_jobs(p_worker uuid, p_settlements jsonb)
returns table (tenant_id text, job_id uuid, status text, cleanup_open boolean)
language plpgsql
set search_path = public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
    with input as materialized (
      select * from jsonb_to_recordset(p_settlements) as i (
        tenant_id text, job_id uuid, lease_epoch bigint, outcome text, delay_ms bigint, not_before boolean,
        error_code text, error_message text, error_class text, result jsonb,
        checkpoint jsonb, counters jsonb, stage text, run_id text, sets_run_id boolean, leaves boolean)
       -- Always in the same order: two who settle cannot wait for each other.
       order by tenant_id, job_id
    ), gone as (
      delete from only ingestion_jobs j
       using input i
       where j.tenant_id = i.tenant_id
         and j.job_id = i.job_id
         and j.lease_epoch = i.lease_epoch
         and j.leased_by is not distinct from p_worker
         and p_worker is not null
         and j.status in ('running', 'paused')
         and i.leaves
      returning j, i.outcome, i.error_code, i.error_message, i.result, i.checkpoint, i.counters, i.stage, i.run_id,
                i.sets_run_id
    ), ended as (
      insert into ingestion_jobs_ended (
        tenant_id, job_id, pipeline, subject_id, workspace_id, status, stage, run_at, retry_count, max_retries, run_id,
        correlation_id, error_code, error_message, payload, checkpoint, counters, lease_epoch, heartbeat_at,
        requeued_from, shared, connector_id, external_account_id, user_id, ip_address, file_id, created_by, created_at,
        started_at, finished_at, progressed_at, updated_at)
      select (g.j).tenant_id, (g.j).job_id, (g.j).pipeline, (g.j).subject_id, (g.j).workspace_id,
             settled_status('running', g.outcome), coalesce(g.stage, (g.j).stage), v_now,
             (g.j).retry_count, (g.j).max_retries,
             case when g.sets_run_id then g.run_id else (g.j).run_id end, (g.j).correlation_id,
             case g.outcome when 'dead' then g.error_code end, case g.outcome when 'dead' then g.error_message end,
             (g.j).payload, coalesce(g.checkpoint, (g.j).checkpoint), coalesce(g.counters, (g.j).counters),
             (g.j).lease_epoch, (g.j).heartbeat_at, (g.j).requeued_from, (g.j).shared, (g.j).connector_id,
             (g.j).external_account_id, (g.j).user_id, (g.j).ip_address, (g.j).file_id, (g.j).created_by,
             (g.j).created_at, (g.j).started_at, v_now,
             case when coalesce(g.checkpoint, (g.j).checkpoint) <> (g.j).checkpoint then v_now
                  else (g.j).progressed_at end, v_now
        from gone g
    ), moved as (
      update only ingestion_jobs j
         set status = settled_status(j.status, i.outcome),
             cleanup_open = j.cleanup_open and i.outcome <> 'done',
             run_at = case
               when i.outcome in ('wait', 'retry') then v_now + i.delay_ms * interval '1 millisecond'
               else v_now end,
             next_retry_at = case when i.outcome = 'retry' then v_now + i.delay_ms * interval '1 millisecond' end,
             not_before = case
               when i.outcome = 'retry' and i.not_before then v_now + i.delay_ms * interval '1 millisecond' end,
             retry_count = j.retry_count + case i.outcome when 'retry' then 1 else 0 end,
             error_code = case
               when j.status = 'canceled' then j.error_code
               when i.outcome in ('retry', 'dead') then i.error_code
               when i.outcome = 'done' then null
               else j.error_code end,
             error_message = case
               when j.status = 'canceled' then j.error_message
               when i.outcome in ('retry', 'dead') then i.error_message
               when i.outcome = 'done' then null
               else j.error_message end,
             checkpoint = coalesce(i.checkpoint, j.checkpoint),
             counters = coalesce(i.counters, j.counters),
             stage = coalesce(i.stage, j.stage),
             run_id = case when i.sets_run_id then i.run_id else j.run_id end,
             progressed_at = case
               when i.outcome = 'wait' or coalesce(i.checkpoint, j.checkpoint) <> j.checkpoint
               then v_now else j.progressed_at end,
             finished_at = case
               when j.status = 'canceled' then j.finished_at
               when i.outcome in ('done', 'dead') then v_now end,
             struck_by = '{}',
             leased_by = null,
             lease_expires_at = null,
             updated_at = v_now
        from input i
       where j.tenant_id = i.tenant_id
         and j.job_id = i.job_id
         and j.lease_epoch = i.lease_epoch
         and j.leased_by is not distinct from p_worker
         and p_worker is not null
         and (j.status in ('running', 'paused') or j.cleanup_open)
         and not (i.leaves and j.status <> 'canceled')
      returning j, i.outcome, i.error_code, i.error_message, i.error_class, i.delay_ms, i.result
    ), settled as (
      select (g.j).tenant_id, (g.j).job_id, settled_status('running', g.outcome) as status,
             false as cleanup_open, (g.j).pipeline, (g.j).subject_id, (g.j).connector_id, (g.j).user_id,
             (g.j).correlation_id, case when g.sets_run_id then g.run_id else (g.j).run_id end as run_id,
             (g.j).retry_count, (g.j).started_at, coalesce(g.counters, (g.j).counters) as counters,
             null::timestamptz as next_retry_at, g.outcome, g.error_code, g.error_message,
             null as error_class, null::bigint as delay_ms, g.result
        from gone g
      union all
      select (m.j).tenant_id, (m.j).job_id, (m.j).status, (m.j).cleanup_open, (m.j).pipeline, (m.j).subject_id,
             (m.j).connector_id, (m.j).user_id, (m.j).correlation_id, (m.j).run_id, (m.j).retry_count,
             (m.j).started_at, (m.j).counters, (m.j).next_retry_at, m.outcome, m.error_code,
             m.error_message, m.error_class, m.delay_ms, m.result
        from moved m
    ), logged as (
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select s.tenant_id, e.type, s.job_id::text, s.user_id, s.correlation_id,
             jsonb_strip_nulls(jsonb_build_object(
               'job_id', s.job_id, 'tenant_id', s.tenant_id, 'pipeline', s.pipeline, 'subject_id', s.subject_id,
               'connector_id', s.connector_id, 'run_id', s.run_id, 'retry_count', s.retry_count) || e.data)
        from settled s,
             lateral (
               select 'job.completed' as type,
                      jsonb_build_object(
                        'duration_seconds', extract(epoch from v_now - s.started_at), 'counters', s.counters)
                      || coalesce(s.result, '{}') as data
                where s.outcome = 'done'
               union all
               select 'job.failed', jsonb_build_object('error_code', s.error_code, 'error_message', s.error_message)
                where s.outcome = 'retry'
               union all
               select 'job.retry',
                      jsonb_build_object('delay_seconds', s.delay_ms / 1000.0, 'error_code', s.error_code,
                        'error_class', s.error_class, 'next_retry_at', s.next_retry_at)
                where s.outcome = 'retry'
               union all
               select 'job.dead_lettered',
                      jsonb_build_object('error_code', s.error_code, 'error_message', s.error_message)
                where s.outcome = 'dead'
             ) e
       where s.status <> 'canceled'
         and s.outcome in ('done', 'retry', 'dead')
    ), freed as (
      -- Their tenants had as many running jobs as they may: now one more may start.
      insert into tenant_queue_marks (tenant_id, pipeline, due_at)
      select q.tenant_id, q.pipeline, v_now
        from (select distinct i.tenant_id from input i) i
        join tenant_queue q on q.tenant_id = i.tenant_id
       where q.is_limited
    )
    select s.tenant_id, s.job_id, s.status, s.cleanup_open from settled s;
end
$$;

-- Gives leases back without an outcome: the work was dropped, and another worker may take it at once.
create function release_jobs(p_worker uuid, p_tenants text[], p_jobs uuid[], p_epochs bigint[]) returns integer
language plpgsql
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_count integer;
begin
  update only ingestion_jobs j
     set leased_by = null,
         lease_expires_at = null,
         updated_at = clock_timestamp()
    from unnest(p_tenants, p_jobs, p_epochs) as l (tenant_id, job_id, lease_epoch)
   where j.tenant_id = l.tenant_id
     and j.job_id = l.job_id
     and j.lease_epoch = l.lease_epoch
     and j.leased_by is not distinct from p_worker
     and p_worker is not null;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Renews a worker's leases. A lease that is missing from the result was lost, or its row is locked at the moment: a
-- slice in its transaction must not keep the other leases of its process from being renewed.
create function renew_jobs(p_worker uuid, p_tenants text[], p_jobs uuid[], p_epochs bigint[], p_lease_ms integer)
returns table (tenant_id text, job_id uuid, lease_epoch bigint, status text)
language plpgsql
set search_path = public, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
    with free as materialized (
      select j.tenant_id, j.job_id
        from unnest(p_tenants, p_jobs, p_epochs) as l (tenant_id, job_id, lease_epoch)
        join only ingestion_jobs j on j.tenant_id = l.tenant_id and j.job_id = l.job_id
       where j.lease_epoch = l.lease_epoch
         and j.leased_by is not distinct from p_worker
         and p_worker is not null
         for no key update of j skip locked
    )
    update only ingestion_jobs j
       set lease_expires_at = v_now + p_lease_ms * interval '1 millisecond',
           heartbeat_at = v_now
      from free f
     where j.tenant_id = f.tenant_id
       and j.job_id = f.job_id
    returning j.tenant_id, j.job_id, j.lease_epoch, j.status;
end
$$;

-- Moves jobs that ended where they were (canceled, given up by a rescue, settled by an older program) to the ended
-- ones, and jobs that an older program reopened among those back into the queue. Returns how many it moved.
create function move_ended_jobs(p_limit integer) returns integer
language plpgsql
set search_path = public, pg_temp
set enable_seqscan = off
as $$
declare
  v_moved integer;
  v_back integer := 0;
  v_table text;
  v_count integer;
begin
  with gone as (
    delete from only ingestion_jobs j
     where j.ctid = any(array(
       select e.ctid
         from only ingestion_jobs e
        where e.finished_at is not null
          and e.finished_at < clock_timestamp() - interval '2 seconds'
          and e.status in ('success', 'dead_letter', 'canceled')
          and not e.cleanup_open
          and e.leased_by is null
        order by e.finished_at
        limit p_limit
          for update skip locked))
    returning j.*
  )
  insert into ingestion_jobs_ended
  select g.* from gone g;
  get diagnostics v_moved = row_count;

  for v_table in select t.name from ended_job_tables t loop
    execute format(
      'with back as (
         delete from only %I e
          where e.ctid = any(array(
            select o.ctid
              from only %I o
             where o.status in (''queued'', ''running'', ''paused'', ''failed'')
             limit 100
               for update skip locked))
         returning e.*)
       insert into ingestion_jobs select b.* from back b', v_table, v_table);
    get diagnostics v_count = row_count;
    v_back := v_back + v_count;
  end loop;
  return v_moved + v_back;
end
$$;

-- Brings an ended job back among the open ones, where it can be reopened. False when there is none.
create function recall_ended_job(p_tenant text, p_job uuid) returns boolean
language plpgsql
set search_path = public, pg_temp
as $$
declare
  v_table text;
begin
  select c.relname
    into v_table
    from ingestion_jobs j
    join pg_class c on c.oid = j.tableoid
   where j.tenant_id = p_tenant
     and j.job_id = p_job
     and j.tableoid <> 'ingestion_jobs'::regclass;
  if not found then
    return false;
  end if;
  execute format(
    'with back as (delete from only %I e where e.tenant_id = $1 and e.job_id = $2 returning e.*)
     insert into ingestion_jobs select b.* from back b', v_table)
    using p_tenant, p_job;
  return true;
end
$$;

-- Programs of the version before claim through this; they get what every claim gets.
create or replace function claim_jobs(
  p_worker uuid, p_pipelines text[], p_limit integer, p_lease_ms integer, p_tenant_limit integer,
  p_tenant text default null, p_job uuid default null, p_struck boolean default false
) returns table (claimed ingestion_jobs, was text)
language plpgsql
set search_path = public, pg_temp
as $$
declare
  v_struck record;
begin
  if p_struck then
    select f.tenant_id, f.job_id into v_struck from find_struck_job(p_pipelines, p_tenant_limit, p_tenant) f;
    if found and (p_job is null or v_struck.job_id = p_job) then
      return query
        select c.claimed, c.was
          from claim_one_job(p_worker, p_lease_ms, p_tenant_limit, v_struck.tenant_id, v_struck.job_id) c;
    end if;
  elsif p_job is not null then
    return query
      select c.claimed, c.was from claim_one_job(p_worker, p_lease_ms, p_tenant_limit, p_tenant, p_job) c;
  else
    return query
      select c.claimed, c.was
        from claim_due_jobs(p_worker, p_pipelines, p_limit, p_lease_ms, p_tenant_limit, '{}', p_tenant) c;
  end if;
end
$$;
-- Settings of the function before it, which walked all tenants.
alter function claim_jobs(uuid, text[], integer, integer, integer, text, uuid, boolean) reset all;
alter function claim_jobs(uuid, text[], integer, integer, integer, text, uuid, boolean)
  set search_path = public, pg_temp;
-- Claims that were about to begin still have its former text, which calls tenants_with_due_work(): a later migration
-- drops that.
drop index ix_ingestion_jobs_claimable;
drop index ix_ingestion_jobs_leased;
