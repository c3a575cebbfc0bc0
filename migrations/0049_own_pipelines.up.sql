-- Pipelines and tasks that users of Sluice have defined: which there are, and when their schedules come due. Processes
-- write it when they open; it says what `sluice_dispatch` may dispatch.
create table own_pipelines (
  name        text primary key check (length(name) between 1 and 50),
  max_retries integer not null check (max_retries >= 0),
  -- Changes with the schedule, and is null without one.
  schedule    text,
  next_run_at timestamptz,
  updated_at  timestamptz not null default clock_timestamp(),
  check ((schedule is null) = (next_run_at is null))
);
comment on table own_pipelines is 'Pipelines and tasks that users have defined, and when their schedules come due';
grant select, insert, update, delete on own_pipelines to sluice_kernel;

-- Who runs under a concurrency key. A row counts only while its job is leased as it says.
create table own_slots (
  tenant_id   text not null references tenants on delete cascade,
  pipeline    text not null,
  slot_key    text not null check (length(slot_key) <= 500),
  slot        integer not null,
  job_id      uuid not null,
  lease_epoch bigint not null,
  leased_by   uuid not null,
  primary key (tenant_id, pipeline, slot_key, slot)
);
comment on table own_slots is 'Jobs that run under a concurrency key of a user’s pipeline';
select guard_tenant_table('own_slots');
grant select, insert, update, delete on own_slots to sluice_tenant;
grant delete on own_slots to sluice_kernel;

-- Takes a slot for the slice that the caller runs; false when `p_limit` others run.
create function take_own_slot(
  p_tenant text, p_pipeline text, p_key text, p_limit integer, p_job uuid, p_epoch bigint, p_worker uuid)
returns boolean
language plpgsql
set search_path = public, pg_temp
as $$
begin
  -- One after the other: two who look at the same moment must not both find the last slot free.
  perform pg_advisory_xact_lock(hashtextextended(p_tenant || E'\n' || p_pipeline || E'\n' || p_key, 7391));
  for v_slot in 1..p_limit loop
    insert into own_slots as s (tenant_id, pipeline, slot_key, slot, job_id, lease_epoch, leased_by)
    values (p_tenant, p_pipeline, p_key, v_slot, p_job, p_epoch, p_worker)
    on conflict (tenant_id, pipeline, slot_key, slot) do update
       set job_id = excluded.job_id, lease_epoch = excluded.lease_epoch, leased_by = excluded.leased_by
     where not exists (
       select
         from only ingestion_jobs j
        where j.tenant_id = s.tenant_id
          and j.job_id = s.job_id
          and j.lease_epoch = s.lease_epoch
          and j.leased_by = s.leased_by);
    if found then
      return true;
    end if;
  end loop;
  return false;
end
$$;

-- Takes a tick of a schedule: true for one process of all, in whose transaction the job is made.
create function take_schedule_tick(p_name text, p_seen timestamptz, p_next timestamptz) returns boolean
language plpgsql
security definer
set search_path = public, pg_temp
as $$
begin
  update own_pipelines p
     set next_run_at = p_next,
         updated_at = clock_timestamp()
   where p.name = p_name
     and p.next_run_at = p_seen
     and p.next_run_at <= clock_timestamp();
  return found;
end
$$;
revoke execute on function take_schedule_tick(text, timestamptz, timestamptz) from public;
grant execute on function take_schedule_tick(text, timestamptz, timestamptz) to sluice_tenant;

-- Dispatches a pipeline or a task that users have defined, in the caller's own transaction. Its caller is an
-- application that serves all its tenants, and needs no right but to execute it. It writes one job and returns its id:
-- it reads nothing for the caller, reaches no built-in pipeline, and leaves no tenant behind in the transaction.
create function sluice_dispatch(
  p_tenant text, p_pipeline text, p_input jsonb, p_subject text default null, p_run_at timestamptz default null)
returns uuid
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  v_tenant text := coalesce(current_setting('app.tenant_id', true), '');
  v_signature text := coalesce(current_setting('app.tenant_signature', true), '');
  v_job uuid := time_ordered_uuid();
  v_retries integer;
  v_made uuid;
begin
  select p.max_retries into v_retries from own_pipelines p where p.name = p_pipeline;
  if not found then
    raise exception using errcode = 'undefined_object', constraint = 'task_unknown',
      message = format('There is no pipeline or task %L: no process of Sluice has opened one', left(p_pipeline, 100));
  end if;
  if p_tenant is null or p_input is null or length(p_subject) not between 1 and 500
     or octet_length(p_input::text) > 524288 then
    raise exception using errcode = 'invalid_parameter_value', constraint = 'input_invalid',
      message = 'Tenant and input are required; a subject has 1 to 500 characters, an input at most 512 KiB';
  end if;
  perform set_config('app.tenant_id', p_tenant, true),
          set_config('app.tenant_signature', (
            select encode(sha256(s.key || sha256(s.key || convert_to(p_tenant, 'UTF8'))), 'hex')
              from tenant_signing s), true);
  insert into tenants (tenant_id, name, plan)
  values (p_tenant, p_tenant, 'free')
  on conflict (tenant_id) do nothing;
  if found then
    if p_tenant !~ '^[!-~]([ -~]{0,198}[!-~])?$' then
      raise exception using errcode = 'invalid_parameter_value', constraint = 'tenant_id_refused',
        message = 'The id of a new tenant has 1 to 200 printable ASCII characters here';
    end if;
    if exists (
      select from erased_tenants e where e.tenant_hash = encode(sha256(convert_to(p_tenant, 'UTF8')), 'hex')) then
      raise exception using errcode = 'invalid_parameter_value', constraint = 'tenant_erased',
        message = 'This tenant was erased and cannot come back';
    end if;
    insert into workspaces (tenant_id, workspace_id, name)
    values (p_tenant, time_ordered_uuid(), 'Default');
  end if;
  select j.job_id into v_made
    from dispatch_job(
      p_tenant, v_job, p_pipeline, coalesce(p_subject, v_job::text), null, null, p_run_at, v_retries, v_job::text,
      jsonb_build_object('input', p_input), null, false, null, null, null, null, null, 'application', null, null,
      null) j;
  -- What the caller does next in its transaction must not be this tenant's work.
  perform set_config('app.tenant_id', v_tenant, true), set_config('app.tenant_signature', v_signature, true);
  if v_made is null then
    raise exception using errcode = 'unique_violation', constraint = 'job_already_active',
      message = format('%s %L has an active job', p_pipeline, p_subject);
  end if;
  -- PostgreSQL passes it on when the transaction commits, and not when it is rolled back.
  perform pg_notify('sluice', 'jobs'), pg_notify('sluice', 'events');
  return v_made;
end
$$;
revoke execute on function sluice_dispatch(text, text, jsonb, text, timestamptz) from public;
