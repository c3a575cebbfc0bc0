-- optional: handoffs
-- Hand-offs: which payload of a reference was given to ingestion, and what became of it. Taking this down loses that
-- history and nothing else: references and jobs stay, syncs go on, and only what asks for hand-offs is refused.

create table ingestion_handoffs (
  tenant_id     text not null,
  handoff_id    uuid not null,
  source        text not null,
  kb_id         text not null,
  reference_id  uuid not null,
  payload_hash  text not null check (length(payload_hash) = 64),
  status        text not null default 'queued' check (status in ('queued', 'running', 'completed', 'failed')),
  reason_code   text not null default 'queued_from_scrape' check (reason_code in (
    'queued_from_scrape', 'ingestion_job_queued', 'ingestion_job_already_active', 'ingestion_job_running',
    'ingestion_job_completed', 'ingestion_job_failed', 'unchanged_payload', 'retry_exhausted', 'not_transient')),
  reason_text   text,
  attempts      integer not null default 0,
  -- Null until it has one; a job may bring several payloads of one reference to their end.
  job_id        uuid,
  scrape_run_id uuid not null,
  -- Which of the reference's hand-offs was opened last: the one with the highest.
  turn          integer not null,
  created_by    text not null,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, handoff_id),
  unique (reference_id, payload_hash),
  unique (tenant_id, reference_id, turn)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index ix_ingestion_handoffs_source on ingestion_handoffs (tenant_id, source, handoff_id);
create index ix_ingestion_handoffs_run on ingestion_handoffs (tenant_id, scrape_run_id, handoff_id);
create index ix_ingestion_handoffs_job on ingestion_handoffs (tenant_id, job_id) where job_id is not null;
create index ix_ingestion_handoffs_waiting on ingestion_handoffs (tenant_id, reference_id, turn)
 where status = 'queued' and job_id is null;
-- Whose process died between persisting and handing over.
create index ix_ingestion_handoffs_left on ingestion_handoffs (updated_at)
 where status = 'queued' and reason_code = 'queued_from_scrape';
select guard_tenant_table('ingestion_handoffs');
grant select, insert, update, delete on ingestion_handoffs to sluice_tenant;
-- Workers settle jobs under this role, and hand-offs follow in the same transaction.
grant update, delete on ingestion_handoffs to sluice_kernel;
grant insert on ingestion_jobs to sluice_kernel;

create function update_ingestion_handoff_timestamp() returns trigger
language plpgsql
as $$
begin
  new.updated_at := clock_timestamp();
  return new;
end
$$;
create trigger trg_update_ingestion_handoff_timestamp before update on ingestion_handoffs
  for each row execute function update_ingestion_handoff_timestamp();

create function record_ingestion_handoff_event() returns trigger
language plpgsql
as $$
begin
  insert into events (tenant_id, type, subject, user_id, correlation_id, data)
  values (new.tenant_id, 'handoff.' || new.status, new.handoff_id::text, new.created_by, new.scrape_run_id::text,
          jsonb_strip_nulls(jsonb_build_object(
            'handoff_id', new.handoff_id, 'tenant_id', new.tenant_id, 'source', new.source, 'kb_id', new.kb_id,
            'reference_id', new.reference_id, 'payload_hash', new.payload_hash, 'reason_code', new.reason_code,
            'reason_text', new.reason_text, 'job_id', new.job_id, 'scrape_run_id', new.scrape_run_id)));
  return null;
end
$$;
create trigger trg_record_new_ingestion_handoff after insert on ingestion_handoffs
  for each row execute function record_ingestion_handoff_event();
create trigger trg_record_moved_ingestion_handoff after update of status on ingestion_handoffs
  for each row
  when (old.status is distinct from new.status)
  execute function record_ingestion_handoff_event();

-- Gives the newest payload that waited for a job of its reference to end a job of its own, as the program makes them (a
-- test compares). Older ones that waited too end with it: what they brought was replaced before its turn came.
create function give_waiting_ingestion_handoff_its_job(p_tenant text, p_reference uuid, p_max_retries integer)
returns void
language plpgsql
as $$
declare
  v_waiting ingestion_handoffs;
  v_job uuid;
begin
  select h.* into v_waiting
    from ingestion_handoffs h
   where h.tenant_id = p_tenant
     and h.reference_id = p_reference
     and h.status = 'queued'
     and h.job_id is null
     and h.reason_code = 'ingestion_job_already_active'
   order by h.turn desc
   limit 1
     for no key update;
  if not found then
    return;
  end if;
  with made as (
    insert into ingestion_jobs (
      tenant_id, job_id, pipeline, subject_id, max_retries, correlation_id, payload, user_id, created_by)
    values (
      p_tenant,
      -- UUID version 7, as the program makes them: jobs are listed by the time in it.
      encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing
        substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid,
      'knowledge', p_reference::text, p_max_retries, v_waiting.scrape_run_id::text,
      jsonb_build_object('kbId', v_waiting.kb_id, 'referenceId', p_reference),
      v_waiting.created_by, v_waiting.created_by)
    on conflict (tenant_id, pipeline, subject_id)
      where status in ('queued', 'running', 'paused') or cleanup_open
      do nothing
    returning *
  ), logged as (
    insert into events (tenant_id, type, subject, user_id, correlation_id, data)
    select j.tenant_id, 'job.queued', j.job_id::text, j.user_id, j.correlation_id,
           jsonb_strip_nulls(jsonb_build_object(
             'job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline, 'subject_id', j.subject_id,
             'connector_id', j.connector_id, 'requeued_from', j.requeued_from, 'created_by', j.created_by))
      from made j
  )
  select m.job_id into v_job from made m;
  if v_job is null then
    return;
  end if;
  update ingestion_handoffs h
     set job_id = v_job,
         reason_code = 'ingestion_job_queued',
         reason_text = case
           when h.handoff_id = v_waiting.handoff_id then null
           else 'A newer payload of the reference replaced this one while it waited' end
   where h.tenant_id = p_tenant
     and h.reference_id = p_reference
     and h.status = 'queued'
     and h.job_id is null
     and h.reason_code = 'ingestion_job_already_active';
end
$$;

-- A hand-off is what its job is, from the transaction on that moves the job. A job that waits for a retry has not
-- failed; one that was canceled counts as active until it is cleaned up.
create function follow_ingestion_job() returns trigger
language plpgsql
as $$
declare
  v_reason text := nullif(concat_ws(': ', new.error_code, new.error_message), '');
begin
  -- Somebody may have dropped the table alone.
  if to_regclass('public.ingestion_handoffs') is null then
    return null;
  end if;
  if tg_op = 'INSERT' then
    update ingestion_handoffs h
       set status = 'queued',
           reason_code = 'ingestion_job_queued',
           reason_text = 'The job that failed was requeued',
           job_id = new.job_id
     where h.tenant_id = new.tenant_id
       and h.job_id = new.requeued_from
       and h.status = 'failed';
    return null;
  end if;
  if new.status is distinct from old.status then
    if new.status = 'running' then
      update ingestion_handoffs h
         set status = 'running',
             reason_code = 'ingestion_job_running'
       where h.tenant_id = new.tenant_id
         and h.job_id = new.job_id
         and h.status = 'queued';
    elsif new.status = 'success' then
      update ingestion_handoffs h
         set status = 'completed',
             reason_code = 'ingestion_job_completed'
       where h.tenant_id = new.tenant_id
         and h.job_id = new.job_id
         and h.status in ('queued', 'running');
    elsif new.status in ('dead_letter', 'canceled') then
      update ingestion_handoffs h
         set status = 'failed',
             reason_code = 'ingestion_job_failed',
             reason_text = v_reason
       where h.tenant_id = new.tenant_id
         and h.job_id = new.job_id
         and h.status in ('queued', 'running');
    end if;
  end if;
  if new.status in ('success', 'dead_letter', 'canceled') and not new.cleanup_open
     and new.payload ->> 'referenceId' = new.subject_id then
    perform give_waiting_ingestion_handoff_its_job(new.tenant_id, new.subject_id::uuid, new.max_retries);
  end if;
  return null;
end
$$;
create trigger trg_follow_ingestion_job after update of status, cleanup_open on ingestion_jobs
  for each row
  when (new.pipeline = 'knowledge'
    and (old.status is distinct from new.status or old.cleanup_open is distinct from new.cleanup_open))
  execute function follow_ingestion_job();
create trigger trg_follow_requeued_ingestion_job after insert on ingestion_jobs
  for each row
  when (new.pipeline = 'knowledge' and new.requeued_from is not null)
  execute function follow_ingestion_job();
