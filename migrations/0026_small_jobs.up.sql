-- Small jobs: what one row or one reference costs is mostly the planning of statements and rows that are written twice.
-- A statement in a function is planned once per connection, also behind a pooler that forgets named statements. All of
-- these run under the rights and policies of whoever calls them.

-- A whole small file: its job and its rows, at once. Rows are lines of JSON, as many normalized ones or none.
create function insert_items_at_once(
  p_tenant text, p_job uuid, p_job_type text, p_processor text, p_options jsonb, p_columns jsonb, p_file_name text,
  p_user text, p_user_role text, p_controllers jsonb, p_first_row_no integer, p_inputs text, p_normalized text
) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_inputs text[] := string_to_array(p_inputs, E'\n');
  v_normalized text[] := string_to_array(p_normalized, E'\n');
begin
  insert into item_jobs (tenant_id, job_id, job_type, processor, options, columns, file_name, user_id, user_role,
                         controllers, total, pending)
  values (p_tenant, p_job, p_job_type, p_processor, p_options, p_columns, p_file_name, p_user, p_user_role,
          p_controllers, cardinality(v_inputs), cardinality(v_inputs));
  insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json, normalized_json)
  select p_tenant, p_job, p_first_row_no + r.n - 1, p_user, p_job_type, r.input::json, nullif(r.normalized, '')::jsonb
    from unnest(v_inputs, v_normalized) with ordinality as r (input, normalized, n);
end
$$;

-- For pure processors: the rows stay locked by the transaction, which also finishes them. The gate (is the job
-- running?) is read with it. Only the index has the order: a planner without statistics would read the whole job.
create function lock_pure_items(p_tenant text, p_job uuid, p_limit integer)
returns table (id bigint, row_no integer, attempts smallint, strategy smallint, crashes smallint, input_json text)
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off
set enable_bitmapscan = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  perform from only ingestion_jobs j where j.tenant_id = p_tenant and j.job_id = p_job and j.status = 'running';
  if not found then
    return;
  end if;
  return query
    select i.id, i.row_no, i.attempts, i.strategy, i.crashes, i.input_json::text
      from job_items i
     where i.tenant_id = p_tenant
       and i.job_id = p_job
       and i.status = 'PENDING'
       and i.due_at <= v_now
     order by i.due_at, i.id
     limit p_limit
       for update skip locked;
end
$$;

-- Items of a pure processor whose result is their input; the transaction has locked them.
create function finish_unchanged_items(p_tenant text, p_job uuid, p_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off
set enable_bitmapscan = off
set enable_seqscan = off
as $$
begin
  update job_items i
     set status = 'DONE',
         result_json = i.input_json,
         error_code = null,
         last_error = null,
         attempts = i.attempts + 1,
         crashes = 0,
         due_at = '-infinity',
         updated_at = clock_timestamp()
   where i.tenant_id = p_tenant
     and i.job_id = p_job
     and i.id = any(p_ids);
end
$$;

-- Moves the counts of a job by what the transaction did, and keeps what no event has told yet. With p_report, what the
-- controllers decided, an event is due when nothing is open any more or the last one is p_every_ms ago: then `told` is
-- what it has to tell, and counts as told. One new version of the row, whatever changes.
create function move_item_counts(
  p_tenant text, p_job uuid, p_delta jsonb, p_fresh jsonb, p_result_columns jsonb, p_report jsonb, p_every_ms integer
) returns table (
  total bigint, pending bigint, processing bigint, done bigint, error bigint, not_found bigint, skipped bigint,
  told jsonb
)
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_job item_jobs;
  v_unreported jsonb;
  v_columns jsonb;
  v_is_due boolean;
begin
  select i.* into v_job
    from item_jobs i
   where i.tenant_id = p_tenant
     and i.job_id = p_job
     for no key update;
  if not found then
    return;
  end if;
  v_job.pending := v_job.pending + coalesce((p_delta ->> 'pending')::bigint, 0);
  v_job.processing := v_job.processing + coalesce((p_delta ->> 'processing')::bigint, 0);
  v_job.done := v_job.done + coalesce((p_delta ->> 'done')::bigint, 0);
  v_job.error := v_job.error + coalesce((p_delta ->> 'error')::bigint, 0);
  v_job.not_found := v_job.not_found + coalesce((p_delta ->> 'notFound')::bigint, 0);
  v_job.skipped := v_job.skipped + coalesce((p_delta ->> 'skipped')::bigint, 0);
  v_unreported := v_job.unreported;
  if v_unreported = '{}' then
    v_unreported := p_fresh;
  elsif p_fresh <> '{}' then
    select jsonb_object_agg(s.key, s.n)
      into v_unreported
      from (select b.key, sum(b.value::bigint) as n
              from (select key, value from jsonb_each_text(v_job.unreported)
                    union all
                    select key, value from jsonb_each_text(p_fresh)) b
             group by b.key) s;
  end if;
  v_columns := v_job.result_columns;
  if p_result_columns <> '[]' then
    select v_columns || coalesce(jsonb_agg(n.name), '[]')
      into v_columns
      from jsonb_array_elements_text(p_result_columns) n (name)
     where not v_columns ? n.name;
  end if;
  v_is_due := p_report is not null and (
    v_job.pending + v_job.processing = 0
    or v_job.reported_at is null
    or clock_timestamp() - v_job.reported_at >= p_every_ms * interval '1 millisecond');
  update item_jobs i
     set pending = v_job.pending,
         processing = v_job.processing,
         done = v_job.done,
         error = v_job.error,
         not_found = v_job.not_found,
         skipped = v_job.skipped,
         result_columns = v_columns,
         unreported = case when v_is_due then '{}' else v_unreported end,
         reported_at = case when v_is_due then clock_timestamp() else v_job.reported_at end,
         controllers = case when v_is_due then v_job.controllers || p_report else v_job.controllers end
   where i.tenant_id = p_tenant
     and i.job_id = p_job;
  return query
    select v_job.total, v_job.pending, v_job.processing, v_job.done, v_job.error, v_job.not_found, v_job.skipped,
           case when v_is_due then v_unreported end;
end
$$;

-- What the run of one reference needs to begin: the knowledge base, its generations, and its source for references.
create function open_reference_run(p_tenant text, p_kb text)
returns table (
  name text, chunker jsonb, embedder jsonb, generation integer, created_by text, created_at timestamptz,
  updated_at timestamptz, generations jsonb, source_id uuid, source_settings jsonb, source_created_at timestamptz
)
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select b.name, b.chunker, b.embedder, b.generation, b.created_by, b.created_at, b.updated_at,
           (select coalesce(
                     jsonb_agg(jsonb_build_object(
                       'generation', g.generation, 'fingerprint', g.fingerprint, 'state', g.state)
                       order by g.generation),
                     '[]')
              from knowledge_generations g
             where g.tenant_id = p_tenant
               and g.kb_id = p_kb
               and g.state <> 'retired'),
           s.source_id, s.settings, s.created_at
      from knowledge_bases b
      left join lateral (
             select r.source_id, r.settings, r.created_at
               from knowledge_sources r
              where r.tenant_id = p_tenant
                and r.kb_id = p_kb
                and r.type = 'reference'
              order by r.source_id
              limit 1) s on true
     where b.tenant_id = p_tenant
       and b.kb_id = p_kb
       and b.removed_at is null;
end
$$;

-- At the start of each transaction that writes chunks: locks the knowledge base, which others may lock in the same way,
-- and the generation. Answers the state of the generation; null when the knowledge base is gone, 'none' without the
-- generation.
create function hold_generation(p_tenant text, p_kb text, p_generation integer) returns text
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_state text;
begin
  perform
     from knowledge_bases b
    where b.tenant_id = p_tenant
      and b.kb_id = p_kb
      and b.removed_at is null
      for share;
  if not found then
    return null;
  end if;
  select g.state into v_state
    from knowledge_generations g
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation
     for no key update;
  return coalesce(v_state, 'none');
end
$$;

-- The run of a reference ends with its documents: what cancel would have restored is dropped. Answers the revisions
-- that no document uses any more; what unfinished jobs write or may restore is left out.
create function adopt_reference_documents(p_tenant text, p_kb text, p_job uuid, p_documents uuid[])
returns table (document_id uuid, revision bigint)
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_replaced uuid[];
begin
  with adopted as (
    update knowledge_documents d
       set previous = null
     where d.tenant_id = p_tenant
       and d.kb_id = p_kb
       and d.document_id = any(p_documents)
       and d.last_job = p_job
       and d.previous is not null
    returning d.document_id
  )
  select array_agg(a.document_id) into v_replaced from adopted a;
  if v_replaced is null then
    return;
  end if;
  return query
    select distinct l.document_id, l.revision
      from knowledge_links l
      join knowledge_documents d
        on d.tenant_id = l.tenant_id and d.kb_id = l.kb_id and d.document_id = l.document_id
     where l.tenant_id = p_tenant
       and l.kb_id = p_kb
       and l.document_id = any(v_replaced)
       and l.revision <> d.revision
       and (l.job_id = p_job or not exists (
         select
           from ingestion_jobs j
          where j.tenant_id = p_tenant
            and j.job_id = l.job_id
            and (j.status in ('queued', 'running', 'paused', 'failed') or j.cleanup_open)));
end
$$;

-- One reference, as the run that ingests it reads it; has_same_url: an older one of the knowledge base has the address.
create function find_handed_reference(p_tenant text, p_kb text, p_reference uuid)
returns table (external_id text, url text, title text, content text, media_type text, has_same_url boolean)
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select r.external_id, r.url, r.title, r.content, r.media_type, exists (
             select
               from scrape_references o
               join scrape_sources os on os.tenant_id = o.tenant_id and os.source = o.source
              where o.tenant_id = p_tenant
                and o.url_key = r.url_key
                and o.reference_id < r.reference_id
                and o.gone_at is null
                and os.kb_id = p_kb)
      from scrape_references r
      join scrape_sources s on s.tenant_id = r.tenant_id and s.source = r.source and s.kb_id = p_kb
     where r.tenant_id = p_tenant
       and r.reference_id = p_reference
       and r.gone_at is null;
end
$$;

-- When a knowledge base was created, and whether it has its source for references.
create function find_reference_intake(p_tenant text, p_kb text)
returns table (created_at timestamptz, has_references boolean)
language plpgsql stable
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select b.created_at, exists (
             select
               from knowledge_sources s
              where s.tenant_id = p_tenant
                and s.kb_id = p_kb
                and s.type = 'reference')
      from knowledge_bases b
     where b.tenant_id = p_tenant
       and b.kb_id = p_kb
       and b.removed_at is null;
end
$$;

-- Opens a hand-off for each reference whose latest one has failed, or is about another payload or knowledge base; the
-- program says more. The caller has locked the references. Without the feature its table is missing, and the call fails
-- with that.
create function open_ingestion_handoffs(
  p_tenant text, p_source text, p_kb text, p_kb_made_at timestamptz, p_run uuid, p_created_by text, p_wishes jsonb
) returns table (
  handoff_id uuid, reference_id uuid, scrape_run_id uuid, kb_id text, created_by text, is_new boolean, job_id uuid
)
language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    with latest as (
      select i.reference_id, i.payload_hash, i.handoff_id, i.job_id, l.handoff_id as latest_id,
             coalesce(l.turn, 0) as turn, l.status, l.reason_code, l.kb_id, l.scrape_run_id, l.created_by,
             coalesce(l.payload_hash = i.payload_hash and l.kb_id = p_kb and l.status <> 'failed'
               and (l.status <> 'completed' or l.updated_at >= p_kb_made_at)
               and not i.is_forced, false) as is_same
        from jsonb_to_recordset(p_wishes) as i (
               handoff_id uuid, reference_id uuid, payload_hash text, is_forced boolean, job_id uuid)
        left join lateral (
          select *
            from ingestion_handoffs h
           where h.tenant_id = p_tenant
             and h.reference_id = i.reference_id
           order by h.turn desc
           limit 1) l on true
    ), noted as (
      update ingestion_handoffs h
         set reason_code = 'unchanged_payload',
             reason_text = 'A later sync brought the same payload, which is already ingested'
        from latest l
       where l.is_same
         and l.status = 'completed'
         and h.tenant_id = p_tenant
         and h.handoff_id = l.latest_id
         and h.status = 'completed'
         and h.reason_code <> 'unchanged_payload'
    ), opened as (
      insert into ingestion_handoffs as h (
        tenant_id, handoff_id, source, kb_id, reference_id, payload_hash, scrape_run_id, turn, created_by, job_id,
        reason_code, attempts)
      select p_tenant, l.handoff_id, p_source, p_kb, l.reference_id, l.payload_hash, p_run, l.turn + 1, p_created_by,
             l.job_id, case when l.job_id is null then 'queued_from_scrape' else 'ingestion_job_queued' end,
             (l.job_id is not null)::integer
        from latest l
       where not l.is_same
       order by l.reference_id
      on conflict (reference_id, payload_hash) do update
         set status = 'queued',
             reason_code = excluded.reason_code,
             reason_text = null,
             attempts = excluded.attempts,
             job_id = excluded.job_id,
             kb_id = excluded.kb_id,
             scrape_run_id = excluded.scrape_run_id,
             turn = excluded.turn,
             created_by = excluded.created_by
      returning h.handoff_id, h.reference_id, h.job_id
    )
    select o.handoff_id, o.reference_id, p_run, p_kb, p_created_by, true, o.job_id
      from opened o
     union all
    select l.latest_id, l.reference_id, l.scrape_run_id, l.kb_id, l.created_by, l.scrape_run_id = p_run, null
      from latest l
     where l.is_same
       and l.status = 'queued'
       and l.reason_code = 'queued_from_scrape';
end
$$;

-- A hand-off moves with its job: queued, running, completed. No index may look at what changes then, or every move
-- writes an entry into each of the seven. What waits for a job is found by having none. The feature may be down; when
-- it comes back, it has its former indexes, which do the same and cost more.
do $$
begin
  if to_regclass('public.ingestion_handoffs') is not null then
    create index ix_ingestion_handoffs_without_job on ingestion_handoffs (tenant_id, reference_id, turn)
     where job_id is null;
    drop index ix_ingestion_handoffs_waiting;
    drop index ix_ingestion_handoffs_left;
    alter table ingestion_handoffs set (fillfactor = 65);
  end if;
end
$$;
