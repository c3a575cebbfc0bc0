-- Generated from a migrated database by `npm run generate`; do not edit. Migrations make the schema.

-- Sequences

create sequence public.event_ids as bigint increment 1;

-- Functions

CREATE OR REPLACE FUNCTION public.add_event_partition()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  v_from bigint := (select max(p.to_id) from event_partitions p);
  v_to bigint := v_from + 1000000000;
  v_name text := 'events_' || v_from / 1000000000;
begin
  execute format('create table %I (like events including defaults including comments)', v_name);
  execute format('alter table %I add primary key (tenant_id, event_id)', v_name);
  execute format('create index %I on %I (xid)', 'ix_' || v_name || '_xid', v_name);
  execute format('create index %I on %I (tenant_id, subject, event_id)', 'ix_' || v_name || '_subject', v_name);
  perform guard_event_partition(v_name);
  execute format('alter table %I add constraint %I check (event_id >= %s and event_id < %s)', v_name,
                 v_name || '_range', v_from, v_to);
  execute format('alter table events attach partition %I for values from (%s) to (%s)', v_name, v_from, v_to);
  execute format('alter table %I drop constraint %I', v_name, v_name || '_range');
  insert into event_partitions (from_id, to_id, name) values (v_from, v_to, v_name);
end
$function$;

CREATE OR REPLACE FUNCTION public.adopt_reference_documents(p_tenant text, p_kb text, p_job uuid, p_documents uuid[])
 RETURNS TABLE(document_id uuid, revision bigint)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.analyze_entities()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  analyze (skip_locked) public.campaigns, public.ad_sets, public.ads, public.staging_id_resolution;
end
$function$;

CREATE OR REPLACE FUNCTION public.analyze_items()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  analyze (skip_locked) public.job_items (tenant_id, job_id, id, status, due_at, crashes, updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.analyze_staging()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  analyze (skip_locked)
    public.staging_rows (tenant_id, upload_id, entity_type, row_index, validation_status, promotion_error),
    public.staging_repeats;
end
$function$;

CREATE OR REPLACE FUNCTION public.api_key_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  if starts_with(new.created_by, 'api_key:') then
    select k.user_id
      into new.user_id
      from api_keys k
     where k.tenant_id = new.tenant_id
       and k.key_id = substr(new.created_by, 9)::uuid;
  else
    new.user_id := new.created_by;
  end if;
  new.user_id := coalesce(new.user_id, new.created_by);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.claim_due_jobs(p_worker uuid, p_pipelines text[], p_limit integer, p_lease_ms integer, p_tenant_limit integer, p_spared uuid[], p_tenant text)
 RETURNS TABLE(claimed public.ingestion_jobs, was text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.claim_jobs(p_worker uuid, p_pipelines text[], p_limit integer, p_lease_ms integer, p_tenant_limit integer, p_tenant text DEFAULT NULL::text, p_job uuid DEFAULT NULL::uuid, p_struck boolean DEFAULT false)
 RETURNS TABLE(claimed public.ingestion_jobs, was text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.claim_one_job(p_worker uuid, p_lease_ms integer, p_tenant_limit integer, p_tenant text, p_job uuid)
 RETURNS TABLE(claimed public.ingestion_jobs, was text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.copy_frontier_to_new()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  if pg_trigger_depth() > 1 then
    return null;
  elsif tg_table_name = 'knowledge_frontier' then
    insert into crawl_frontier as f (tenant_id, job_id, source, url, url_key, depth, is_visited)
    select c.tenant_id, c.job_id, c.source_id::text, c.url, c.url_key, c.depth, c.is_visited
      from changed c
     order by c.seq
    on conflict (tenant_id, job_id, source, url_key) do update
       set is_visited = f.is_visited or excluded.is_visited;
  else
    insert into crawl_frontier as f (tenant_id, job_id, source, url, url_key, depth, is_visited)
    select c.tenant_id, c.job_id, j.subject_id, c.url, c.url_key, c.depth, c.is_visited
      from changed c
      join ingestion_jobs j on j.tenant_id = c.tenant_id and j.job_id = c.job_id
     order by c.seq
    on conflict (tenant_id, job_id, source, url_key) do update
       set is_visited = f.is_visited or excluded.is_visited;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.copy_frontier_to_old()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  if pg_trigger_depth() > 1 then
    return null;
  end if;
  insert into knowledge_frontier as f (tenant_id, job_id, source_id, url, url_key, depth, is_visited)
  select c.tenant_id, c.job_id, c.source::uuid, c.url, c.url_key, c.depth, c.is_visited
    from changed c
    join ingestion_jobs j on j.tenant_id = c.tenant_id and j.job_id = c.job_id and j.pipeline = 'knowledge'
   order by c.seq
  on conflict (tenant_id, job_id, source_id, url_key) do update
     set is_visited = f.is_visited or excluded.is_visited;
  insert into scrape_frontier as f (tenant_id, job_id, url, url_key, depth, is_visited)
  select c.tenant_id, c.job_id, c.url, c.url_key, c.depth, c.is_visited
    from changed c
    join ingestion_jobs j on j.tenant_id = c.tenant_id and j.job_id = c.job_id and j.pipeline = 'scrapes'
   order by c.seq
  on conflict (tenant_id, job_id, url_key) do update
     set is_visited = f.is_visited or excluded.is_visited;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_added_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  perform note_word_change(s.tenant_id, s.kb_id, s.generation, w.words, s.passages, s.word_count)
     from (select c.tenant_id, c.kb_id, c.generation, count(*) as passages, sum(c.word_count) as word_count
             from changed c
            where c.word_count is not null
            group by c.tenant_id, c.kb_id, c.generation) s
    cross join lateral (
          select coalesce(jsonb_object_agg(n.word, n.count), '{}') as words
            from (select u.word, count(*) as count
                    from changed c,
                         unnest(tsvector_to_array(c.text_search)) as u (word)
                   where c.tenant_id = s.tenant_id
                     and c.kb_id = s.kb_id
                     and c.generation = s.generation
                     and c.word_count is not null
                     and is_counted_word(u.word)
                   group by u.word) n) w;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_deleted_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  perform note_word_change(s.tenant_id, s.kb_id, s.generation, w.words, -s.passages, -s.word_count)
     from (select c.tenant_id, c.kb_id, c.generation, count(*) as passages, sum(c.word_count) as word_count
             from changed c
            where c.word_count is not null
            group by c.tenant_id, c.kb_id, c.generation) s
    cross join lateral (
          select coalesce(jsonb_object_agg(n.word, -n.count), '{}') as words
            from (select u.word, count(*) as count
                    from changed c,
                         unnest(tsvector_to_array(c.text_search)) as u (word)
                   where c.tenant_id = s.tenant_id
                     and c.kb_id = s.kb_id
                     and c.generation = s.generation
                     and c.word_count is not null
                     and is_counted_word(u.word)
                   group by u.word) n) w;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_leases(p_tenant text, p_now timestamp with time zone, p_most integer)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  return (select count(*)
            from (select
                    from only ingestion_jobs j
                   where j.tenant_id = p_tenant and j.leased_by is not null and j.lease_expires_at > p_now
                   limit p_most) running);
end
$function$;

CREATE OR REPLACE FUNCTION public.count_old_passages(p_tenant text, p_kb text, p_generation integer, p_limit integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  v_from bigint;
  v_language regconfig;
  v_read bigint;
  v_last bigint;
  v_passages bigint;
  v_word_count bigint;
  v_words jsonb;
begin
  select g.counted_to, g.language::regconfig into v_from, v_language
    from knowledge_generations g
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation
     for no key update;
  if v_from is null then
    return true;
  end if;
  with next as (
    select e.chunk_id, e.word_count, words_of(v_language, concat_ws(E'\n', nullif(e.context, ''), e.text)) as words
      from embeddings_index e
     where e.tenant_id = p_tenant
       and e.kb_id = p_kb
       and e.generation = p_generation
       and e.chunk_id > v_from
     order by e.chunk_id
     limit p_limit
  ), filled as (
    update embeddings_index e
       set text_search = n.words || array_to_tsvector(array[generation_word(p_tenant, p_kb, p_generation)]),
           word_count = length_of_words(n.words)
      from next n
     where e.tenant_id = p_tenant
       and e.chunk_id = n.chunk_id
       and n.word_count is null
    returning e.word_count, n.words
  ), counted as (
    select u.word, count(*) as count
      from filled f,
           unnest(tsvector_to_array(f.words)) as u (word)
     where is_counted_word(u.word)
     group by u.word
  )
  select (select count(*) from next), (select max(n.chunk_id) from next n),
         (select count(*) from filled), (select coalesce(sum(f.word_count), 0) from filled f),
         (select coalesce(jsonb_object_agg(c.word, c.count), '{}') from counted c)
    into v_read, v_last, v_passages, v_word_count, v_words;
  if v_passages > 0 then
    perform note_word_change(p_tenant, p_kb, p_generation, v_words, v_passages, v_word_count);
  end if;
  update knowledge_generations g
     set counted_to = case when v_read < p_limit then null else v_last end
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation;
  return v_read < p_limit;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_provider_calls(p_tenant text, p_host text, p_worker uuid, p_in_flight integer, p_calls integer, p_cost double precision, p_pace jsonb)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.count_running_syncs(p_workspace text, OUT total bigint, OUT in_workspace bigint)
 RETURNS record
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select count(*), count(*) filter (where c.airbyte_workspace_id = p_workspace)
    from only ingestion_jobs j
    left join connectors c on c.tenant_id = j.tenant_id and c.connector_id = j.connector_id
   where j.pipeline = 'sync'
     and j.status = 'running'
     and (j.run_id is not null or j.stage = 'triggering')
$function$;

CREATE OR REPLACE FUNCTION public.current_groups()
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
RETURN CASE WHEN (COALESCE(current_setting('app.groups'::text, true), ''::text) <> ''::text) THEN (ARRAY(SELECT jsonb_array_elements_text((current_setting('app.groups'::text, true))::jsonb) AS jsonb_array_elements_text) || '*'::text) ELSE NULL::text[] END;

CREATE OR REPLACE FUNCTION public.current_tenant()
 RETURNS text
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  -- After a transaction the settings are '', not null.
  v_tenant text := nullif(current_setting('app.tenant_id', true), '');
  v_signature text := coalesce(current_setting('app.tenant_signature', true), '');
begin
  if v_tenant is null then
    return null;
  end if;
  if exists (
    select
      from public.tenant_signing s
     where v_signature = encode(sha256(s.key || sha256(s.key || convert_to(v_tenant, 'UTF8'))), 'hex')
        or (v_signature = '' and not s.is_required)) then
    return v_tenant;
  end if;
  -- The owner of the database reads and mends by hand.
  if v_signature = '' and pg_has_role(session_user, current_user, 'member') then
    return v_tenant;
  end if;
  raise insufficient_privilege using
    message = 'The tenant of this transaction is not signed by Sluice', constraint = 'tenant_signature';
end
$function$;

CREATE OR REPLACE FUNCTION public.delete_frontier_copies()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  if pg_trigger_depth() > 1 then
    return null;
  elsif tg_table_name = 'crawl_frontier' then
    delete from knowledge_frontier f
     using (select distinct tenant_id, job_id from gone) g
     where f.tenant_id = g.tenant_id
       and f.job_id = g.job_id;
    delete from scrape_frontier f
     using (select distinct tenant_id, job_id from gone) g
     where f.tenant_id = g.tenant_id
       and f.job_id = g.job_id;
  else
    delete from crawl_frontier f
     using (select distinct tenant_id, job_id from gone) g
     where f.tenant_id = g.tenant_id
       and f.job_id = g.job_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.dispatch_job(p_tenant text, p_job uuid, p_pipeline text, p_subject text, p_workspace uuid, p_stage text, p_run_at timestamp with time zone, p_max_retries integer, p_correlation text, p_payload jsonb, p_requeued_from uuid, p_shared boolean, p_connector text, p_account text, p_user text, p_ip text, p_file uuid, p_created_by text, p_worker uuid, p_lease_ms integer, p_tenant_limit integer)
 RETURNS SETOF public.ingestion_jobs
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.drop_ended_jobs(p_name text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
begin
  delete from ended_job_tables where name = p_name and ended_before is not null;
  if not found then
    raise exception 'There is no closed table of ended jobs named %', p_name;
  end if;
  execute format('drop table %I', p_name);
end
$function$;

CREATE OR REPLACE FUNCTION public.drop_event_partition(p_from bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  v_part event_partitions;
begin
  select p.* into v_part from event_partitions p where p.from_id = p_from for update;
  if not found or not exists (
    select from event_partitions n where n.from_id > p_from and n.opened_at is not null) then
    return false;
  end if;
  begin
    set local lock_timeout = '100ms';
    execute format('truncate %I', v_part.name);
  exception when lock_not_available then
    return false;
  end;
  begin
    set local lock_timeout = '50ms';
    execute format('alter table events detach partition %I', v_part.name);
    execute format('drop table %I', v_part.name);
    delete from event_partitions p where p.from_id = p_from;
  exception when lock_not_available then
    update event_partitions p set emptied_at = clock_timestamp() where p.from_id = p_from;
  end;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION public.ensure_event_era()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  v_now text := event_incarnation();
  v_newest event_eras;
  v_reason text;
  v_first bigint;
  v_name text;
  v_to bigint;
  v_has_rows boolean;
  v_was text[];
  v_is text[];
begin
  select r.* into v_newest from event_eras r order by r.era desc limit 1;
  if v_now is null or v_newest.incarnation = v_now then
    return v_newest.era;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('event_partitions', 0));
  select r.* into v_newest from event_eras r order by r.era desc limit 1;
  if v_newest.incarnation = v_now then
    return v_newest.era;
  end if;
  set local lock_timeout = '2s';
  -- Waits for everybody who writes events: nobody adds to the old era after this.
  lock table events in share row exclusive mode;
  v_was := string_to_array(v_newest.incarnation, ':');
  v_is := string_to_array(v_now, ':');
  v_reason := case
    when v_was is null then 'first era'
    when v_was[1] <> v_is[1] then 'another cluster'
    when v_was[2] <> v_is[2] then 'another timeline'
    else 'restored in the same cluster' end;
  -- Behind everything that is there, whatever the sequence says: a restore may have left it behind.
  select max(p.to_id) into v_first from event_partitions p where p.from_id <= (select s.last_value from event_ids s);
  for v_name, v_to in
    select p.name, p.to_id from event_partitions p where p.to_id > v_first order by p.from_id desc
  loop
    execute format('select exists (select from %I)', v_name) into v_has_rows;
    if v_has_rows then
      v_first := v_to;
      exit;
    end if;
  end loop;
  while not exists (select from event_partitions p where p.from_id = v_first) loop
    perform add_event_partition();
  end loop;
  insert into event_eras (era, first_id, incarnation, reason)
  values (greatest(extract(epoch from clock_timestamp())::bigint, v_newest.era + 1), v_first, v_now, v_reason)
  returning event_eras.era into v_newest.era;
  perform open_event_partition(v_first);
  perform roll_event_log(interval '1 day');
  return v_newest.era;
end
$function$;

CREATE OR REPLACE FUNCTION public.event_era(p_event_id bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select max(r.era) from event_eras r where r.first_id <= p_event_id
$function$;

CREATE OR REPLACE FUNCTION public.event_incarnation()
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select case when pg_is_in_recovery() then null
              else concat_ws(':', s.system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                             (select d.oid from pg_database d where d.datname = current_database()),
                             'public.events'::regclass::oid) end
    from pg_control_system() s
$function$;

CREATE OR REPLACE FUNCTION public.event_log_eras()
 RETURNS TABLE(era bigint, first_id bigint, oldest_id bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select r.era, r.first_id, (select min(p.from_id) from event_partitions p where p.emptied_at is null)
    from event_eras r
   order by r.era
$function$;

CREATE OR REPLACE FUNCTION public.event_log_head(p_snapshot pg_snapshot)
 RETURNS TABLE(era bigint, first_id bigint, is_current boolean, low bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select r.era, r.first_id, coalesce(event_incarnation() = r.incarnation, true),
         event_low(r.era, pg_snapshot_xmin(p_snapshot))
    from event_eras r
   order by r.era desc
   limit 1
$function$;

CREATE OR REPLACE FUNCTION public.event_low(p_era bigint, p_xid xid8)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select coalesce(
           (select max(p.from_id) from event_partitions p where p.era = r.era and p.opened_xid <= p_xid),
           r.first_id) - 1
    from event_eras r
   where r.era = p_era
$function$;

CREATE OR REPLACE FUNCTION public.explain_passages(p_tenant text, p_kb text, p_generation integer, p_question text, p_chunks bigint[])
 RETURNS TABLE(chunk_id bigint, word text, passages bigint, weight double precision, occurrences integer, score double precision, word_count integer, average_word_count double precision)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  select e.chunk_id, w.word, w.passages, w.weight, cardinality(coalesce(u.positions, '{1}')),
         passage_score(e.text_search, e.word_count, a.average, array[word_query(w.word)], array[w.weight]),
         e.word_count, a.average
    from (select greatest(1, g.passage_words::double precision / greatest(1, g.passages)) as average
            from knowledge_generations g
           where g.tenant_id = p_tenant
             and g.kb_id = p_kb
             and g.generation = p_generation) a
    cross join embeddings_index e
    cross join lateral unnest(e.text_search) u
    join question_words(p_tenant, p_kb, p_generation, p_question) w on w.word = u.lexeme and w.passages > 0
   where e.tenant_id = p_tenant
     and e.kb_id = p_kb
     and e.generation = p_generation
     and e.chunk_id = any(p_chunks)
   order by e.chunk_id, w.passages, w.word
$function$;

CREATE OR REPLACE FUNCTION public.facts_have_parents()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  missing text;
begin
  with named as (
    select distinct n.tenant_id, n.campaign_id from new_facts n where n.campaign_id is not null
  ), there as (
    select p.campaign_id from campaigns p join named n using (tenant_id, campaign_id) for key share of p
  )
  select n.campaign_id::text into missing
    from named n where n.campaign_id not in (select campaign_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no campaign %s', missing), table = 'daily_metrics',
      constraint = 'daily_metrics_campaign';
  end if;
  with named as (
    select distinct n.tenant_id, n.ad_set_id from new_facts n where n.ad_set_id is not null
  ), there as (
    select p.ad_set_id from ad_sets p join named n using (tenant_id, ad_set_id) for key share of p
  )
  select n.ad_set_id::text into missing
    from named n where n.ad_set_id not in (select ad_set_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no ad set %s', missing), table = 'daily_metrics',
      constraint = 'daily_metrics_ad_set';
  end if;
  with named as (
    select distinct n.tenant_id, n.ad_id from new_facts n where n.ad_id is not null
  ), there as (
    select p.ad_id from ads p join named n using (tenant_id, ad_id) for key share of p
  )
  select n.ad_id::text into missing
    from named n where n.ad_id not in (select ad_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no ad %s', missing), table = 'daily_metrics',
      constraint = 'daily_metrics_ad';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.fence_job(p_worker uuid, p_tenant text, p_job uuid, p_epoch bigint)
 RETURNS SETOF public.ingestion_jobs
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.find_handed_reference(p_tenant text, p_kb text, p_reference uuid)
 RETURNS TABLE(external_id text, url text, title text, content text, media_type text, has_same_url boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.find_reference_intake(p_tenant text, p_kb text)
 RETURNS TABLE(created_at timestamp with time zone, has_references boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.find_struck_job(p_pipelines text[], p_tenant_limit integer, p_tenant text)
 RETURNS TABLE(tenant_id text, job_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.finish_unchanged_items(p_tenant text, p_job uuid, p_ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.first_lanes(p_pipelines text[], p_limit integer, p_tenant text)
 RETURNS SETOF public.tenant_queue
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.follow_ingestion_job()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.forward_retry(p_tenant text, p_pipeline text, p_subject text)
 RETURNS SETOF public.ingestion_jobs
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.full_workspaces(p_tenant text, p_limit integer)
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT array_agg(f.workspace_id) AS array_agg
    FROM ( SELECT j.workspace_id
            FROM ONLY public.ingestion_jobs j
           WHERE ((full_workspaces.p_limit IS NOT NULL) AND (j.tenant_id = full_workspaces.p_tenant) AND (j.leased_by IS NOT NULL) AND (j.workspace_id IS NOT NULL))
           GROUP BY j.workspace_id
          HAVING (count(*) >= full_workspaces.p_limit)) f;
END;

CREATE OR REPLACE FUNCTION public.generation_word(p_tenant text, p_kb text, p_generation integer)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ('='::text || "left"(md5(((((p_tenant || chr(1)) || p_kb) || chr(1)) || p_generation)), 16));

CREATE OR REPLACE FUNCTION public.give_waiting_ingestion_handoff_its_job(p_tenant text, p_reference uuid, p_max_retries integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.guard_event_partition(p_name text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  execute format('alter table %I enable row level security', p_name);
  execute format('alter table %I force row level security', p_name);
  -- Forced on the owner too: without a policy it would find every partition empty.
  execute format('create policy owner_rows on %I to %I using (true) with check (true)', p_name,
                 (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = 'public.events'::regclass));
  execute format('alter table %I set (autovacuum_vacuum_insert_scale_factor = 0.2)', p_name);
end
$function$;

CREATE OR REPLACE FUNCTION public.guard_tenant_table(target regclass)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant_rows on %s using (tenant_id = (select current_tenant()))'
    ' with check (tenant_id = (select current_tenant()))',
    target);
  execute format(
    'create policy kernel_rows on %s to sluice_kernel using (true) with check (true)',
    target);
  perform show_rows_to_owner(target);
  -- Reading is what the proof of an erasure needs everywhere; every right to write is granted by name.
  execute format('grant select on %s to sluice_kernel', target);
end
$function$;

CREATE OR REPLACE FUNCTION public.hold_generation(p_tenant text, p_kb text, p_generation integer)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.images_take_their_files()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  delete from files f
   using gone g
   where f.tenant_id = g.tenant_id
     and f.file_id = g.file_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.insert_items_at_once(p_tenant text, p_job uuid, p_job_type text, p_processor text, p_options jsonb, p_columns jsonb, p_file_name text, p_user text, p_user_role text, p_controllers jsonb, p_first_row_no integer, p_inputs text, p_normalized text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.insert_items_of_file(p_tenant text, p_job uuid, p_job_type text, p_processor text, p_options jsonb, p_columns jsonb, p_file_name text, p_user text, p_user_role text, p_controllers jsonb, p_first_row_no integer, p_inputs text, p_normalized text, p_file uuid, p_media_type text, p_size_bytes bigint, p_sha256 text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  v_inputs text[] := string_to_array(p_inputs, E'\n');
  v_normalized text[] := string_to_array(p_normalized, E'\n');
begin
  insert into files (tenant_id, file_id, name, media_type, size_bytes, sha256, storage, storage_key, created_by)
  values (p_tenant, p_file, coalesce(p_file_name, ''), p_media_type, p_size_bytes, p_sha256, 'rows', p_file, p_user);
  insert into item_jobs (tenant_id, job_id, job_type, processor, options, columns, file_id, file_name, user_id,
                         user_role, controllers, total, pending)
  values (p_tenant, p_job, p_job_type, p_processor, p_options, p_columns, p_file, p_file_name, p_user,
          p_user_role, p_controllers, cardinality(v_inputs), cardinality(v_inputs));
  insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json, normalized_json)
  select p_tenant, p_job, p_first_row_no + r.n - 1, p_user, p_job_type, r.input::json, nullif(r.normalized, '')::jsonb
    from unnest(v_inputs, v_normalized) with ordinality as r (input, normalized, n);
end
$function$;

CREATE OR REPLACE FUNCTION public.is_counted_word(p_word text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((octet_length(p_word) <= 255) AND (p_word !~~ '=%'::text));

CREATE OR REPLACE FUNCTION public.items_go_with_their_job()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  delete from job_items i
   using gone g
   where i.tenant_id = g.tenant_id
     and i.job_id = g.job_id;
  delete from files f
   using gone g
   where f.tenant_id = g.tenant_id
     and f.file_id = g.file_id
     and f.storage = 'rows';
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.items_have_a_job()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  missing text;
begin
  with named as (
    select distinct n.tenant_id, n.job_id from new_items n
  ), there as (
    select p.job_id from item_jobs p join named n using (tenant_id, job_id) for key share of p
  )
  select n.job_id::text into missing from named n where n.job_id not in (select job_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no items job %s', missing), table = 'job_items',
      constraint = 'job_items_job';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.keys_stay()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise integrity_constraint_violation using message = format('The keys of %s never change', tg_table_name);
end
$function$;

CREATE OR REPLACE FUNCTION public.knowledge_counters_add_up()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  seen bigint := coalesce((new.counters ->> 'chunks_seen')::bigint, 0);
  told bigint := coalesce((new.counters ->> 'chunks_processed')::bigint, 0)
    + coalesce((new.counters ->> 'chunks_skipped')::bigint, 0)
    + coalesce((new.counters ->> 'chunks_error')::bigint, 0);
begin
  if seen <> told then
    raise check_violation using
      message = format('Run %s has seen %s chunks but accounts for %s', new.job_id, seen, told),
      table = 'ingestion_jobs', constraint = 'knowledge_counters_add_up';
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.label_document()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  v_label knowledge_labels;
begin
  select * into v_label
    from knowledge_labels l
   where l.tenant_id = new.tenant_id
     and l.kb_id = new.kb_id
     and l.source_id = new.source_id
     and l.uri_key = new.uri_key;
  new.metadata := jsonb_strip_nulls(new.own_metadata || coalesce(v_label.metadata, '{}'));
  new.allow := coalesce(v_label.allow, new.own_allow);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.lane_head(p_tenant text, p_pipeline text, p_from timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.lane_key(p_tenant text, p_pipeline text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN hashtext(((p_pipeline || '/'::text) || p_tenant));

CREATE OR REPLACE FUNCTION public.lease_jobs(p_worker uuid, p_lease_ms integer, p_tenant text, p_jobs uuid[], p_was text[])
 RETURNS TABLE(claimed public.ingestion_jobs, was text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.length_of_words(p_words tsvector)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT (COALESCE(sum(cardinality(u.positions)), (0)::bigint))::integer AS "coalesce" FROM unnest(length_of_words.p_words) u(lexeme, positions, weights));

CREATE OR REPLACE FUNCTION public.limit_document_file()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update knowledge_files f
     set allow = new.allow
   where f.tenant_id = new.tenant_id
     and f.kb_id = new.kb_id
     and 'file:' || f.name = new.uri
     and f.allow is distinct from new.allow
     and exists (
       select from knowledge_sources s
        where s.tenant_id = new.tenant_id
          and s.kb_id = new.kb_id
          and s.source_id = new.source_id
          and s.type = 'files');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.lock_pure_items(p_tenant text, p_job uuid, p_limit integer)
 RETURNS TABLE(id bigint, row_no integer, attempts smallint, strategy smallint, crashes smallint, input_json text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.matched_words(p_tenant text, p_kb text, p_generation integer, p_question text, p_texts text[])
 RETURNS TABLE(place bigint, words text[])
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  select t.place, array_agg(distinct w.token)
    from (select g.language::regconfig as language,
                 tsvector_to_array(words_of(g.language::regconfig, p_question)) as lexemes
            from knowledge_generations g
           where g.tenant_id = p_tenant
             and g.kb_id = p_kb
             and g.generation = p_generation) q
   cross join unnest(p_texts) with ordinality as t (text, place)
   cross join lateral (
         select distinct p.token
           from ts_parse('default', separate_numbers(t.text)) p
          where p.tokid <> 12) w
   where tsvector_to_array(words_of(q.language, w.token)) && q.lexemes
   group by t.place
$function$;

CREATE OR REPLACE FUNCTION public.matching_documents(p_tenant text, p_kb text, p_generation integer, p_filter jsonpath)
 RETURNS TABLE(document_id uuid, revision bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
#variable_conflict use_column
declare
  v_groups text[] := public.current_groups();
begin
  if p_tenant is distinct from public.current_tenant() then
    raise exception 'A filter was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  if p_filter is null then
    return query
    select d.document_id, d.revision
      from public.knowledge_documents d
     where d.tenant_id = p_tenant
       and d.kb_id = p_kb
       and d.generation = p_generation
       and (v_groups is null or d.allow is null or d.allow && v_groups);
  else
    return query
    select d.document_id, d.revision
      from public.knowledge_documents d
     where d.tenant_id = p_tenant
       and d.kb_id = p_kb
       and d.generation = p_generation
       and d.metadata @@ p_filter
       and (v_groups is null or d.allow is null or d.allow && v_groups);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.matching_passages(p_tenant text, p_kb text, p_generation integer, p_filter jsonpath)
 RETURNS TABLE(is_limited boolean, ids text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_groups text[] := public.current_groups();
begin
  if p_tenant is distinct from public.current_tenant() then
    raise exception 'A filter was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  if p_filter is null and (v_groups is null or not exists (
    select
      from public.knowledge_documents d
     where d.tenant_id = p_tenant
       and d.kb_id = p_kb
       and d.generation = p_generation
       and d.allow is not null
       and not d.allow && v_groups)) then
    return query select false, null::text;
    return;
  end if;
  return query
  select true, string_agg(l.chunk_id::text, ',')
    from public.matching_documents(p_tenant, p_kb, p_generation, p_filter) m
    join public.knowledge_links l
      on l.tenant_id = p_tenant
     and l.kb_id = p_kb
     and l.document_id = m.document_id
     and l.revision = m.revision;
end
$function$;

CREATE OR REPLACE FUNCTION public.may_start_at_once(p_tenant text, p_pipeline text, p_tenant_limit integer)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.move_ended_jobs(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.move_item_counts(p_tenant text, p_job uuid, p_delta jsonb, p_fresh jsonb, p_result_columns jsonb, p_report jsonb, p_every_ms integer)
 RETURNS TABLE(total bigint, pending bigint, processing bigint, done bigint, error bigint, not_found bigint, skipped bigint, told jsonb)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.needed_words(p_language regconfig, p_phrases text[], p_excluded text[])
 RETURNS tsquery
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  v_needed tsquery;
  v_part tsquery;
  v_text text;
begin
  foreach v_text in array p_phrases loop
    v_part := phraseto_tsquery(p_language, separate_numbers(v_text));
    if numnode(v_part) > 0 then
      v_needed := case when v_needed is null then v_part else v_needed && v_part end;
    end if;
  end loop;
  foreach v_text in array p_excluded loop
    v_part := phraseto_tsquery(p_language, separate_numbers(v_text));
    if numnode(v_part) > 0 then
      v_needed := case when v_needed is null then !!v_part else v_needed && !!v_part end;
    end if;
  end loop;
  return v_needed;
end
$function$;

CREATE OR REPLACE FUNCTION public.next_transaction(p_snapshot pg_snapshot)
 RETURNS xid8
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select case when pg_current_xact_id_if_assigned() is null
              then (x.last + mod(mod(age('3'::xid)::bigint + 3, 4294967296) - mod(x.last, 4294967296) + 8589934592,
                                 4294967296))::text::xid8 end
    from (select pg_snapshot_xmax(p_snapshot)::text::bigint as last) x
$function$;

CREATE OR REPLACE FUNCTION public.note_moved_job()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform note_work(new.tenant_id, new.pipeline, new.run_at);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_new_jobs()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.note_room(p_tenant text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into tenant_queue_marks (tenant_id, pipeline, due_at)
  select q.tenant_id, q.pipeline, clock_timestamp()
    from tenant_queue q
   where q.tenant_id = p_tenant
     and q.is_limited;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_room_of_job()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform note_room(new.tenant_id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_word_change(p_tenant text, p_kb text, p_generation integer, p_words jsonb, p_passages bigint, p_word_count bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  update knowledge_generations g
     set passages = g.passages + p_passages,
         passage_words = g.passage_words + p_word_count
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation;
  insert into knowledge_word_changes (tenant_id, kb_id, generation, words)
  values (p_tenant, p_kb, p_generation, p_words);
  if (select count(*) >= 32
        from knowledge_word_changes c
       where c.tenant_id = p_tenant
         and c.kb_id = p_kb
         and c.generation = p_generation) then
    perform sum_up_words(p_tenant, p_kb, p_generation);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_work(p_tenant text, p_pipeline text, p_due timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.open_event_partition(p_from bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform setval('event_ids', p_from, false) from event_ids s where s.last_value < p_from;
  update event_partitions p
     set era = (select max(r.era) from event_eras r),
         opened_at = clock_timestamp()
   where p.opened_at is null
     and p.from_id <= (select s.last_value from event_ids s);
end
$function$;

CREATE OR REPLACE FUNCTION public.open_ingestion_handoffs(p_tenant text, p_source text, p_kb text, p_kb_made_at timestamp with time zone, p_run uuid, p_created_by text, p_wishes jsonb)
 RETURNS TABLE(handoff_id uuid, reference_id uuid, scrape_run_id uuid, kb_id text, created_by text, is_new boolean, job_id uuid)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.open_reference_run(p_tenant text, p_kb text)
 RETURNS TABLE(name text, chunker jsonb, embedder jsonb, generation integer, created_by text, created_at timestamp with time zone, updated_at timestamp with time zone, generations jsonb, source_id uuid, source_settings jsonb, source_created_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.parents_of_facts_stay()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  held text;
begin
  case tg_table_name
    when 'campaigns' then
      select g.campaign_id::text into held from gone g
       where exists (select from daily_metrics m where m.tenant_id = g.tenant_id and m.campaign_id = g.campaign_id)
          or exists (select from period_metrics m where m.tenant_id = g.tenant_id and m.campaign_id = g.campaign_id)
          or exists (select from metric_breakdowns m where m.tenant_id = g.tenant_id and m.campaign_id = g.campaign_id)
       limit 1;
    when 'ad_sets' then
      select g.ad_set_id::text into held from gone g
       where exists (select from daily_metrics m where m.tenant_id = g.tenant_id and m.ad_set_id = g.ad_set_id)
          or exists (select from period_metrics m where m.tenant_id = g.tenant_id and m.ad_set_id = g.ad_set_id)
          or exists (select from metric_breakdowns m where m.tenant_id = g.tenant_id and m.ad_set_id = g.ad_set_id)
       limit 1;
    else
      select g.ad_id::text into held from gone g
       where exists (select from daily_metrics m where m.tenant_id = g.tenant_id and m.ad_id = g.ad_id)
          or exists (select from period_metrics m where m.tenant_id = g.tenant_id and m.ad_id = g.ad_id)
          or exists (select from metric_breakdowns m where m.tenant_id = g.tenant_id and m.ad_id = g.ad_id)
       limit 1;
  end case;
  if held is not null then
    raise foreign_key_violation using message = format('%s of %s still has metrics', held, tg_table_name),
      table = tg_table_name, constraint = 'daily_metrics_parents';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.passage_score(p_words tsvector, p_word_count integer, p_average double precision, p_queries tsquery[], p_weights double precision[])
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT COALESCE(sum((((c.weight * c.n) * (2.2)::double precision) / (c.n + ((1.2)::double precision * ((0.25)::double precision + (((0.75 * (passage_score.p_word_count)::numeric))::double precision / passage_score.p_average)))))), (0)::double precision) AS "coalesce" FROM (SELECT q.weight, round((((1)::double precision / ((1.64493406685)::double precision * ((1)::double precision - r.rank))) - (0.5)::double precision)) AS n FROM UNNEST(passage_score.p_queries, passage_score.p_weights) q(query, weight), LATERAL (SELECT (ts_rank('{1,1,1,1}'::real[], passage_score.p_words, q.query))::double precision AS rank) r WHERE (r.rank > (0)::double precision)) c);

CREATE OR REPLACE FUNCTION public.prepare_ended_jobs(p_table regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.question_words(p_tenant text, p_kb text, p_generation integer, p_question text)
 RETURNS TABLE(word text, passages bigint, weight double precision)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  with index as materialized (
    select g.language::regconfig as language, g.passages
      from knowledge_generations g
     where g.tenant_id = p_tenant
       and g.kb_id = p_kb
       and g.generation = p_generation
  ), changes as materialized (
    -- Joining it with nothing unpacks it once, and not for each word.
    select c.words || '{}' as words
      from knowledge_word_changes c
     where c.tenant_id = p_tenant
       and c.kb_id = p_kb
       and c.generation = p_generation
  ), counted as (
    select u.word,
           coalesce((select w.passages
                       from knowledge_words w
                      where w.tenant_id = p_tenant
                        and w.kb_id = p_kb
                        and w.generation = p_generation
                        and w.word = u.word), 0)
             + coalesce((select sum((c.words ->> u.word)::bigint) from changes c), 0) as passages
      from index i,
           unnest(tsvector_to_array(words_of(i.language, p_question))) as u (word)
     where is_counted_word(u.word)
  )
  select c.word, c.passages::bigint, ln(1 + (i.passages - c.passages + 0.5) / (c.passages + 0.5))::double precision
    from counted c,
         index i
   where c.passages between 0 and i.passages
   order by c.passages, c.word
   limit 64
$function$;

CREATE OR REPLACE FUNCTION public.rank_passages(p_tenant text, p_kb text, p_generation integer, p_question text, p_phrases text[], p_excluded text[], p_most integer, p_also bigint[])
 RETURNS TABLE(chunk_id bigint, score double precision, whole double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET jit TO 'off'
AS $function$
#variable_conflict use_column
declare
  v_language regconfig;
  v_average double precision;
  v_words text[];
  v_passages bigint[];
  v_weights double precision[];
  v_needed tsquery;
  v_excluded tsquery;
  v_whole double precision;
begin
  if p_tenant is distinct from public.current_tenant() then
    raise exception 'A search was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  select g.language::regconfig, greatest(1, g.passage_words::double precision / greatest(1, g.passages))
    into v_language, v_average
    from knowledge_generations g
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation;
  select array_agg(w.word order by w.passages, w.word) filter (where w.passages > 0),
         array_agg(w.passages order by w.passages, w.word) filter (where w.passages > 0),
         array_agg(w.weight order by w.passages, w.word) filter (where w.passages > 0),
         coalesce(sum(w.weight), 0)
    into v_words, v_passages, v_weights, v_whole
    from question_words(p_tenant, p_kb, p_generation, p_question) w;
  v_needed := needed_words(v_language, p_phrases, p_excluded);
  v_excluded := needed_words(v_language, p_excluded, '{}');
  if v_words is not null then
    return query
    select s.chunk_id, s.score, v_whole
      from score_passages(
             p_tenant, p_kb, p_generation, v_words, v_passages, v_weights, v_average, v_needed, p_most) s;
  end if;
  return query
  select e.chunk_id,
         case when v_excluded is not null and e.text_search @@ v_excluded then null
              when v_words is null or (v_needed is not null and not e.text_search @@ v_needed) then 0
              else passage_score(
                     e.text_search, e.word_count, v_average,
                     array(select word_query(u.word)
                             from unnest(v_words) with ordinality as u (word, place)
                            order by u.place),
                     v_weights)
         end,
         v_whole
    from embeddings_index e
   where e.tenant_id = p_tenant
     and e.kb_id = p_kb
     and e.generation = p_generation
     and e.chunk_id = any(p_also);
end
$function$;

CREATE OR REPLACE FUNCTION public.rate_limit_wait(p_moments timestamp with time zone[], p_now timestamp with time zone, p_limit integer, p_window interval)
 RETURNS interval
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT ((m.m + rate_limit_wait.p_window) - rate_limit_wait.p_now) FROM unnest(rate_limit_wait.p_moments) m(m) WHERE (m.m > (rate_limit_wait.p_now - rate_limit_wait.p_window)) ORDER BY m.m DESC OFFSET (rate_limit_wait.p_limit - 1) LIMIT 1), '00:00:00'::interval);

CREATE OR REPLACE FUNCTION public.recall_ended_job(p_tenant text, p_job uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.record_ingestion_handoff_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into events (tenant_id, type, subject, user_id, correlation_id, data)
  values (new.tenant_id, 'handoff.' || new.status, new.handoff_id::text, new.created_by, new.scrape_run_id::text,
          jsonb_strip_nulls(jsonb_build_object(
            'handoff_id', new.handoff_id, 'tenant_id', new.tenant_id, 'source', new.source, 'kb_id', new.kb_id,
            'reference_id', new.reference_id, 'payload_hash', new.payload_hash, 'reason_code', new.reason_code,
            'reason_text', new.reason_text, 'job_id', new.job_id, 'scrape_run_id', new.scrape_run_id)));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.release_jobs(p_worker uuid, p_tenants text[], p_jobs uuid[], p_epochs bigint[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.renew_jobs(p_worker uuid, p_tenants text[], p_jobs uuid[], p_epochs bigint[], p_lease_ms integer)
 RETURNS TABLE(tenant_id text, job_id uuid, lease_epoch bigint, status text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.reserve_rate_limits(p_keys text[], p_limits integer[], p_windows_ms bigint[])
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.rest_lane(p_lane public.tenant_queue, p_now timestamp with time zone, p_spared uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.retry_may_start(p_tenant text, p_pipeline text, p_subject text, p_job uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT ((NOT (EXISTS ( SELECT
            FROM ONLY public.ingestion_jobs a
           WHERE ((a.tenant_id = retry_may_start.p_tenant) AND (a.pipeline = retry_may_start.p_pipeline) AND (a.subject_id = retry_may_start.p_subject) AND ((a.status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text])) OR a.cleanup_open))))) AND (NOT (EXISTS ( SELECT
            FROM ONLY public.ingestion_jobs f
           WHERE ((f.tenant_id = retry_may_start.p_tenant) AND (f.pipeline = retry_may_start.p_pipeline) AND (f.subject_id = retry_may_start.p_subject) AND (f.status = 'failed'::text) AND (f.job_id < retry_may_start.p_job))))));
END;

CREATE OR REPLACE FUNCTION public.roll_event_log(p_after interval)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  v_open event_partitions;
  v_next bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('event_partitions', 0));
  -- Opened by an earlier transaction: this one's id, and all later ones, were assigned after the sequence had moved.
  update event_partitions p
     set opened_xid = pg_current_xact_id()
   where p.opened_at is not null
     and p.opened_xid is null;
  perform open_event_partition(0);
  select p.* into v_open
    from event_partitions p
   where p.from_id <= (select s.last_value from event_ids s)
   order by p.from_id desc
   limit 1;
  while (select count(*) from event_partitions p where p.from_id > v_open.from_id) < 8 loop
    perform add_event_partition();
  end loop;
  if v_open.opened_at > clock_timestamp() - p_after then
    return 0;
  end if;
  select min(p.from_id) into v_next from event_partitions p where p.from_id > v_open.from_id;
  perform open_event_partition(v_next);
  return 1;
end
$function$;

CREATE OR REPLACE FUNCTION public.rotate_ended_jobs()
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.save_job(p_worker uuid, p_tenant text, p_job uuid, p_epoch bigint, p_lease_ms integer, p_checkpoint jsonb, p_counters jsonb, p_stage text, p_sets_run_id boolean, p_run_id text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.score_passages(p_tenant text, p_kb text, p_generation integer, p_words text[], p_passages bigint[], p_weights double precision[], p_average double precision, p_needed tsquery, p_most integer)
 RETURNS TABLE(chunk_id bigint, score double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET jit TO 'off'
AS $function$
#variable_conflict use_column
declare
  v_queries tsquery[] := array(select word_query(u.word)
                                 from unnest(p_words) with ordinality as u (word, place)
                                order by u.place);
  v_own tsquery := word_query(generation_word(p_tenant, p_kb, p_generation));
  v_count integer := cardinality(p_words);
  v_used integer := 0;
  v_needed integer := 0;
  v_sum double precision := 0;
  v_least double precision;
  v_any tsquery;
  v_ids bigint[];
  v_scores double precision[];
begin
  if p_tenant is distinct from public.current_tenant() then
    raise exception 'A search was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  -- The rarest words that have some times as many passages as are wanted.
  while v_used < v_count and v_sum < 2 * p_most loop
    v_used := v_used + 1;
    v_sum := v_sum + p_passages[v_used];
  end loop;
  loop
    select u.query into v_any
      from (select string_agg('(' || q.query::text || ')', ' | ')::tsquery as query
              from unnest(v_queries[1 : v_used]) as q (query)) u;
    v_any := v_any && v_own;
    if p_needed is not null then
      v_any := v_any && p_needed;
    end if;
    select array_agg(b.chunk_id order by b.score desc, b.chunk_id),
           array_agg(b.score order by b.score desc, b.chunk_id),
           case when count(*) < p_most then 0 else min(b.score) end
      into v_ids, v_scores, v_least
      from (select e.chunk_id,
                   passage_score(e.text_search, e.word_count, p_average, v_queries, p_weights) as score
              from public.embeddings_index e
             where e.tenant_id = p_tenant
               and e.kb_id = p_kb
               and e.generation = p_generation
               and e.text_search @@ v_any
             order by 2 desc, 1
             limit p_most) b;
    -- The words from v_needed + 1 on cannot make a best passage by themselves.
    v_needed := v_count;
    v_sum := 0;
    while v_needed > v_used and v_sum + 2.2 * p_weights[v_needed] < v_least loop
      v_sum := v_sum + 2.2 * p_weights[v_needed];
      v_needed := v_needed - 1;
    end loop;
    exit when v_needed <= v_used;
    v_used := v_needed;
  end loop;
  return query
  select u.chunk_id, u.score
    from unnest(v_ids, v_scores) as u (chunk_id, score);
end
$function$;

CREATE OR REPLACE FUNCTION public.search_chunk_texts(wanted_tenant text, wanted_kb text, wanted_generation integer, question text, most integer)
 RETURNS TABLE(chunk_id bigint, rank double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  whole tsquery := websearch_to_tsquery('english', question);
  wanted text;
  unwanted text;
  partly tsquery;
  found_count integer;
begin
  if wanted_tenant is distinct from public.current_tenant() then
    raise exception 'Full-text search was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  select string_agg('(' || p.part || ')', ' | ') filter (where p.part not like '!%'),
         string_agg('(' || p.part || ')', ' & ') filter (where p.part like '!%')
    into wanted, unwanted
    from (select distinct s.part
            from string_to_table(replace(whole::text, ' | ', ' & '), ' & ') as s (part)
           where s.part <> ''
           limit 64) p;
  if wanted is null then
    return;
  end if;
  partly := (case when unwanted is null then wanted else '(' || wanted || ') & ' || unwanted end)::tsquery;
  return query
  select e.chunk_id, 1 + ts_rank_cd(e.text_search, partly, 33)::double precision
    from public.embeddings_index e
   where e.tenant_id = wanted_tenant
     and e.kb_id = wanted_kb
     and e.generation = wanted_generation
     and e.text_search @@ whole
   order by 2 desc, 1
   limit most;
  get diagnostics found_count = row_count;
  if found_count >= most then
    return;
  end if;
  return query
  select m.chunk_id, ts_rank_cd(m.text_search, partly, 33)::double precision
    from (select e.chunk_id, e.text_search
            from public.embeddings_index e
           where e.tenant_id = wanted_tenant
             and e.kb_id = wanted_kb
             and e.generation = wanted_generation
             and e.text_search @@ partly
             and not e.text_search @@ whole
           limit 20000) m
   order by 2 desc, 1
   limit most - found_count;
end
$function$;

CREATE OR REPLACE FUNCTION public.separate_numbers(p_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(p_text, '([[:alnum:]])[-/](?=[0-9])'::text, '\1 '::text, 'g'::text);

CREATE OR REPLACE FUNCTION public.set_passage_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  v_language text;
begin
  select g.language into v_language
    from knowledge_generations g
   where g.tenant_id = new.tenant_id
     and g.kb_id = new.kb_id
     and g.generation = new.generation;
  new.text_search := words_of(
    coalesce(v_language, 'english')::regconfig, concat_ws(E'\n', nullif(new.context, ''), new.text));
  new.word_count := length_of_words(new.text_search);
  new.text_search := new.text_search
    || array_to_tsvector(array[generation_word(new.tenant_id, new.kb_id, new.generation)]);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.settle_catalog_products()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  analyze (skip_locked) public.catalog_products (tenant_id, version_id, row_no, sku_key, brand_title_key);
  if to_regclass('public.ix_catalog_products_titles') is not null then
    perform gin_clean_pending_list('public.ix_catalog_products_titles'::regclass);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.settle_jobs(p_worker uuid, p_settlements jsonb)
 RETURNS TABLE(tenant_id text, job_id uuid, status text, cleanup_open boolean)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.settled_status(p_status text, p_outcome text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (p_status = 'canceled'::text) THEN 'canceled'::text WHEN (p_outcome = 'done'::text) THEN 'success'::text WHEN (p_outcome = 'dead'::text) THEN 'dead_letter'::text WHEN (p_status = 'paused'::text) THEN 'paused'::text WHEN (p_outcome = 'retry'::text) THEN 'failed'::text ELSE 'running'::text END;

CREATE OR REPLACE FUNCTION public.show_rows_to_owner(target regclass)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('drop policy if exists owner_rows on %s', target);
  execute format(
    'create policy owner_rows on %s for select to %s using (true)',
    target, (select c.relowner::regrole from pg_class c where c.oid = target));
end
$function$;

CREATE OR REPLACE FUNCTION public.sluice_dispatch(p_tenant text, p_pipeline text, p_input jsonb, p_subject text DEFAULT NULL::text, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.started_event(j public.ingestion_jobs, p_worker uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
RETURN jsonb_strip_nulls(jsonb_build_object('job_id', (j).job_id, 'tenant_id', (j).tenant_id, 'pipeline', (j).pipeline, 'subject_id', (j).subject_id, 'connector_id', (j).connector_id, 'run_id', (j).run_id, 'retry_count', (j).retry_count, 'worker_id', p_worker));

CREATE OR REPLACE FUNCTION public.sum_up_words(p_tenant text, p_kb text, p_generation integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  with taken as (
    delete from knowledge_word_changes c
     where c.tenant_id = p_tenant
       and c.kb_id = p_kb
       and c.generation = p_generation
    returning c.words
  )
  insert into knowledge_words as w (tenant_id, kb_id, generation, word, passages)
  select p_tenant, p_kb, p_generation, e.key, sum(e.value::integer)
    from taken t,
         jsonb_each_text(t.words) e
   group by e.key
  having sum(e.value::integer) <> 0
   order by e.key
  on conflict (tenant_id, kb_id, generation, word) do update
     set passages = w.passages + excluded.passages;
end
$function$;

CREATE OR REPLACE FUNCTION public.take_own_slot(p_tenant text, p_pipeline text, p_key text, p_limit integer, p_job uuid, p_epoch bigint, p_worker uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.take_provider_call(p_tenant text, p_host text, p_worker uuid, p_in_flight integer, p_rate double precision, p_concurrency integer, p_budget double precision, p_cost double precision)
 RETURNS TABLE(wait_ms integer, waiting_for text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.take_schedule_tick(p_name text, p_seen timestamp with time zone, p_next timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update own_pipelines p
     set next_run_at = p_next,
         updated_at = clock_timestamp()
   where p.name = p_name
     and p.next_run_at = p_seen
     and p.next_run_at <= clock_timestamp();
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION public.time_ordered_uuid()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$function$;

CREATE OR REPLACE FUNCTION public.update_ingestion_handoff_timestamp()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.updated_at := clock_timestamp();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.wake_lanes(p_now timestamp with time zone, p_pipelines text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.word_query(p_word text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((''''::text || replace(replace(p_word, '\'::text, '\\'::text), ''''::text, ''''''::text)) || ''''::text))::tsquery;

CREATE OR REPLACE FUNCTION public.words_of(p_language regconfig, p_text text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (to_tsvector(p_language, public.separate_numbers(p_text)) || array_to_tsvector(COALESCE((SELECT array_agg(DISTINCT lower(translate(m.m[1], '-_./:'::text, ''::text))) AS array_agg FROM regexp_matches(words_of.p_text, '\m[[:alnum:]]+(?:[-_./:][[:alnum:]]+)+'::text, 'g'::text) m(m) WHERE ((m.m[1] ~ '[0-9]'::text) AND (m.m[1] ~ '[[:alpha:]]'::text) AND (length(m.m[1]) <= 64))), '{}'::text[])));

-- Tables

create table public.ad_sets (
  tenant_id text not null,
  ad_set_id uuid default public.time_ordered_uuid() not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  external_id text not null,
  is_name_key boolean not null,
  campaign_id uuid,
  name text,
  status text,
  as_of timestamp with time zone not null,
  created_by_upload uuid not null,
  last_upload uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  confirmed_by_upload uuid
);

create table public.adapter_files (
  tenant_id text not null,
  file_id uuid not null,
  adapter text not null,
  path text not null,
  size_bytes bigint not null,
  version text not null,
  state text default 'waiting'::text not null,
  looks integer default 1 not null,
  same_since timestamp with time zone default clock_timestamp() not null,
  last_seen_at timestamp with time zone default clock_timestamp() not null,
  attempts integer default 0 not null,
  sha256 text,
  job_id uuid,
  upload_id uuid,
  duplicate_of uuid,
  reason_code text,
  reason text,
  moved_to text,
  found_at timestamp with time zone default clock_timestamp() not null,
  finished_at timestamp with time zone
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=500, fillfactor=85);

create table public.adapters (
  tenant_id text not null,
  name text not null,
  kind text not null,
  place jsonb not null,
  target jsonb not null,
  pattern text,
  every_minutes integer,
  after text default 'leave'::text not null,
  settle_seconds integer default 10 not null,
  next_scan_at timestamp with time zone,
  failures_in_row integer default 0 not null,
  last_scan_at timestamp with time zone,
  last_success_at timestamp with time zone,
  last_result jsonb,
  last_error text,
  last_error_code text,
  scan_token uuid,
  scan_until timestamp with time zone,
  scanning_by text,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=200, fillfactor=70);

create table public.ads (
  tenant_id text not null,
  ad_id uuid default public.time_ordered_uuid() not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  external_id text not null,
  is_name_key boolean not null,
  campaign_id uuid,
  ad_set_id uuid,
  name text,
  status text,
  as_of timestamp with time zone not null,
  created_by_upload uuid not null,
  last_upload uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  confirmed_by_upload uuid
);

create table public.airbyte_servers (
  tenant_id text not null,
  server text not null,
  base_url text not null,
  auth text not null,
  identity text,
  secret_name text not null,
  workspace_id text,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.api_keys (
  tenant_id text not null,
  key_id uuid not null,
  name text not null,
  role text not null,
  key_hash bytea not null,
  key_hint text not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  user_id text not null
);

create table public.bi_logins (
  tenant_id text not null,
  role_name text not null,
  description text default ''::text not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.campaigns (
  tenant_id text not null,
  campaign_id uuid default public.time_ordered_uuid() not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  external_id text not null,
  is_name_key boolean not null,
  name text,
  status text,
  type text,
  as_of timestamp with time zone not null,
  created_by_upload uuid not null,
  last_upload uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  confirmed_by_upload uuid
);

create table public.catalog_products (
  tenant_id text not null,
  version_id bigint not null,
  row_no integer not null,
  sku_key text,
  brand_title_key text,
  title_key text default ''::text not null,
  scope bigint[] not null,
  product json not null
) with (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_scale_factor=0.05);

create table public.catalog_versions (
  tenant_id text not null,
  version_id bigint generated always as identity not null,
  name text not null,
  loading_by uuid,
  retired_at timestamp with time zone,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.catalogs (
  tenant_id text not null,
  name text not null,
  version integer default 1 not null,
  version_id bigint not null,
  product_count bigint not null,
  skipped_count bigint not null,
  columns jsonb not null,
  fields jsonb not null,
  file_name text,
  updated_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.circuit_breakers (
  dependency text not null,
  state text not null,
  failures integer default 0 not null,
  opened_count integer default 0 not null,
  reason text,
  opened_at timestamp with time zone,
  probe_at timestamp with time zone,
  updated_at timestamp with time zone default clock_timestamp() not null,
  tenant_id text
);

create table public.connectors (
  tenant_id text not null,
  connector_id text not null,
  name text not null,
  airbyte_connection_id text not null,
  external_account_id text not null,
  enabled boolean default true not null,
  cadence_hours double precision,
  min_interval_seconds integer,
  on_active_sync text default 'adopt'::text not null,
  jitter double precision default random() not null,
  next_sync_at timestamp with time zone not null,
  last_tick_at timestamp with time zone default clock_timestamp() not null,
  planned_for text not null,
  last_notice jsonb,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  cron text,
  time_zone text default 'UTC'::text not null,
  airbyte_workspace_id text,
  airbyte_server text
);

create table public.crawl_frontier (
  tenant_id text not null,
  job_id uuid not null,
  source text not null,
  seq bigint generated always as identity not null,
  url text not null,
  url_key bytea not null,
  depth integer not null,
  is_visited boolean default false not null
);

create table public.daily_metrics (
  tenant_id text not null,
  metric_id bigint generated always as identity not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  metric_date date not null,
  campaign_id uuid,
  ad_set_id uuid,
  ad_id uuid,
  impressions bigint,
  clicks bigint,
  reach bigint,
  spend numeric,
  conversions numeric,
  conversion_value numeric,
  currency text,
  unresolved_key text,
  as_of timestamp with time zone not null,
  created_by_upload uuid not null,
  last_upload uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  confirmed_by_upload uuid,
  link_clicks bigint,
  line_no integer
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=90);

create table public.data_uploads (
  tenant_id text not null,
  upload_id uuid not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  source text not null,
  filename text,
  file_id uuid not null,
  file_url text not null,
  status text default 'pending'::text not null,
  force_partial boolean default false not null,
  review boolean default false not null,
  mapping jsonb default '{}'::jsonb not null,
  mapping_version integer default 0 not null,
  job_id uuid not null,
  row_count integer,
  total_rows integer default 0 not null,
  valid_rows integer default 0 not null,
  invalid_rows integer default 0 not null,
  promoted_rows integer default 0 not null,
  failed_rows integer default 0 not null,
  campaigns_upserted integer default 0 not null,
  ad_sets_upserted integer default 0 not null,
  ads_upserted integer default 0 not null,
  daily_metrics_upserted integer default 0 not null,
  affected_dates date[] default '{}'::date[] not null,
  warnings jsonb default '[]'::jsonb not null,
  layout jsonb,
  error_code text,
  error_text text,
  event_emitted boolean default false not null,
  created_by text not null,
  user_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  finished_at timestamp with time zone,
  undone_at timestamp with time zone,
  origin text default 'request'::text not null,
  date_from date,
  date_to date,
  period_metrics_upserted integer default 0 not null,
  breakdowns_stored integer default 0 not null,
  reconciliation jsonb,
  blockers jsonb default '[]'::jsonb not null,
  unpacked jsonb,
  platform_version integer
);

create table public.dependency_rate_limits (
  dependency text not null,
  headers jsonb not null,
  status integer not null,
  said_at timestamp with time zone not null
);

create table public.dropped_files (
  tenant_id text not null,
  path text not null,
  size_bytes bigint not null,
  modified_at timestamp with time zone not null,
  upload_id uuid,
  error_text text,
  seen_at timestamp with time zone default clock_timestamp() not null
);

create table public.embeddings_index (
  tenant_id text not null,
  kb_id text not null,
  generation integer not null,
  chunk_id bigint generated always as identity not null,
  content_hash text not null,
  text text not null,
  tokens integer not null,
  vector bytea not null,
  created_by_job uuid not null,
  indexed_at timestamp with time zone default clock_timestamp() not null,
  text_search tsvector,
  word_count integer,
  context text default ''::text not null
) with (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_scale_factor=0.05);

create table public.ended_job_tables (
  name text not null,
  began_at timestamp with time zone default clock_timestamp() not null,
  ended_before timestamp with time zone
);

create table public.erased_tenants (
  tenant_hash text not null,
  erased_at timestamp with time zone default clock_timestamp() not null
);

create table public.event_eras (
  era bigint not null,
  first_id bigint not null,
  incarnation text,
  reason text not null,
  began_at timestamp with time zone default clock_timestamp() not null
);

create table public.event_partitions (
  from_id bigint not null,
  to_id bigint not null,
  name text not null,
  era bigint,
  opened_at timestamp with time zone,
  opened_xid xid8,
  emptied_at timestamp with time zone
);

create table public.events (
  tenant_id text not null,
  xid xid8 default pg_current_xact_id() not null,
  event_id bigint default nextval('public.event_ids'::regclass) not null,
  type text not null,
  subject text not null,
  user_id text,
  correlation_id text,
  data jsonb not null,
  occurred_at timestamp with time zone default clock_timestamp() not null,
  horizon xid8 default pg_snapshot_xmin(pg_current_snapshot())
) partition by RANGE (event_id);

create table public.files (
  tenant_id text not null,
  file_id uuid not null,
  name text not null,
  media_type text not null,
  size_bytes bigint not null,
  sha256 text not null,
  storage text not null,
  storage_key text not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.idempotency_keys (
  tenant_id text not null,
  principal text not null,
  route text not null,
  key text not null,
  request_hash text not null,
  owner uuid not null,
  owner_expires_at timestamp with time zone not null,
  status_code integer,
  headers jsonb,
  body text,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.ingestion_handoffs (
  tenant_id text not null,
  handoff_id uuid not null,
  source text not null,
  kb_id text not null,
  reference_id uuid not null,
  payload_hash text not null,
  status text default 'queued'::text not null,
  reason_code text default 'queued_from_scrape'::text not null,
  reason_text text,
  attempts integer default 0 not null,
  job_id uuid,
  scrape_run_id uuid not null,
  turn integer not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_scale_factor=0.05, fillfactor=65);

create table public.ingestion_jobs (
  tenant_id text not null,
  job_id uuid not null,
  pipeline text not null,
  subject_id text not null,
  workspace_id uuid,
  status text default 'queued'::text not null,
  stage text,
  run_at timestamp with time zone default clock_timestamp() not null,
  next_retry_at timestamp with time zone,
  retry_count integer default 0 not null,
  max_retries integer default 5 not null,
  run_id text,
  correlation_id text not null,
  error_code text,
  error_message text,
  payload jsonb default '{}'::jsonb not null,
  checkpoint jsonb default '{}'::jsonb not null,
  counters jsonb default '{}'::jsonb not null,
  lease_epoch bigint default 0 not null,
  leased_by uuid,
  lease_expires_at timestamp with time zone,
  heartbeat_at timestamp with time zone,
  struck_by uuid[] default '{}'::uuid[] not null,
  not_before timestamp with time zone,
  cleanup_open boolean default false not null,
  requeued_from uuid,
  shared boolean default false not null,
  connector_id text,
  external_account_id text,
  user_id text,
  ip_address text,
  file_id uuid,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  progressed_at timestamp with time zone,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=70);

create table public.ingestion_jobs_ended (
  tenant_id text not null,
  job_id uuid not null,
  pipeline text not null,
  subject_id text not null,
  workspace_id uuid,
  status text default 'queued'::text not null,
  stage text,
  run_at timestamp with time zone default clock_timestamp() not null,
  next_retry_at timestamp with time zone,
  retry_count integer default 0 not null,
  max_retries integer default 5 not null,
  run_id text,
  correlation_id text not null,
  error_code text,
  error_message text,
  payload jsonb default '{}'::jsonb not null,
  checkpoint jsonb default '{}'::jsonb not null,
  counters jsonb default '{}'::jsonb not null,
  lease_epoch bigint default 0 not null,
  leased_by uuid,
  lease_expires_at timestamp with time zone,
  heartbeat_at timestamp with time zone,
  struck_by uuid[] default '{}'::uuid[] not null,
  not_before timestamp with time zone,
  cleanup_open boolean default false not null,
  requeued_from uuid,
  shared boolean default false not null,
  connector_id text,
  external_account_id text,
  user_id text,
  ip_address text,
  file_id uuid,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  progressed_at timestamp with time zone,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.item_corrections (
  tenant_id text not null,
  job_id uuid not null,
  correction_id bigint generated always as identity not null,
  item_id bigint not null,
  row_no integer not null,
  column_name text not null,
  old_value json,
  new_value json not null,
  user_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.item_images (
  tenant_id text not null,
  job_id uuid not null,
  row_no integer not null,
  kind text not null,
  file_id uuid not null
);

create table public.item_jobs (
  tenant_id text not null,
  job_id uuid not null,
  job_type text not null,
  processor text not null,
  options jsonb default '{}'::jsonb not null,
  columns jsonb default '[]'::jsonb not null,
  result_columns jsonb default '[]'::jsonb not null,
  file_id uuid,
  file_name text,
  user_id text not null,
  ingesting_by uuid,
  total bigint default 0 not null,
  pending bigint default 0 not null,
  processing bigint default 0 not null,
  done bigint default 0 not null,
  error bigint default 0 not null,
  not_found bigint default 0 not null,
  skipped bigint default 0 not null,
  controllers jsonb default '{}'::jsonb not null,
  unreported jsonb default '{}'::jsonb not null,
  reported_at timestamp with time zone,
  user_role text,
  notes jsonb default '[]'::jsonb not null,
  mapping jsonb,
  waiting_for text,
  waiting_until timestamp with time zone,
  cost double precision
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=100, fillfactor=50);

create table public.item_providers (
  tenant_id text not null,
  host text not null,
  rate_per_second double precision,
  concurrency integer,
  daily_budget double precision,
  timeout_ms integer,
  cost_per_call double precision,
  day date default ((clock_timestamp() AT TIME ZONE 'UTC'::text))::date not null,
  calls_today bigint default 0 not null,
  cost_today double precision default 0 not null,
  spent_today double precision default 0 not null,
  tokens double precision default 0 not null,
  tokens_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  callers jsonb default '{}'::jsonb not null,
  pace jsonb,
  paused_until timestamp with time zone,
  paused_for text,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (fillfactor=50);

create table public.item_templates (
  tenant_id text not null,
  name text not null,
  processor text not null,
  options json default '{}'::json not null,
  mapping json,
  updated_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.job_items (
  tenant_id text not null,
  job_id uuid not null,
  id bigint generated always as identity not null,
  row_no integer not null,
  status text default 'PENDING'::text not null,
  attempts smallint default 0 not null,
  strategy smallint default 0 not null,
  crashes smallint default 0 not null,
  due_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  locked_by uuid,
  lock_token uuid,
  locked_at timestamp with time zone,
  lock_expires_at timestamp with time zone,
  error_code text,
  last_error text,
  user_id text not null,
  job_type text not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  input_json json not null,
  normalized_json jsonb,
  result_json json,
  waiting_for text,
  throttled_count smallint,
  not_found_count smallint,
  uncharged smallint,
  progress_json json,
  earlier_attempts integer
) with (autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=5000, fillfactor=90);

create table public.knowledge_bases (
  tenant_id text not null,
  kb_id text not null,
  name text not null,
  chunker jsonb not null,
  embedder jsonb not null,
  generation integer default 0 not null,
  next_generation integer default 1 not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  removed_at timestamp with time zone,
  language text default 'english'::text not null,
  reranker jsonb
) with (fillfactor=70);

create table public.knowledge_documents (
  tenant_id text not null,
  kb_id text not null,
  document_id uuid not null,
  generation integer not null,
  source_id uuid not null,
  uri text not null,
  uri_key bytea not null,
  title text not null,
  media_type text,
  state text not null,
  content_hash text,
  etag text,
  last_modified text,
  revision bigint default 0 not null,
  previous jsonb,
  chunk_count integer default 0 not null,
  error_code text,
  error_text text,
  created_by_job uuid not null,
  last_job uuid not null,
  seen_at timestamp with time zone default clock_timestamp() not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  notes text[] default '{}'::text[] not null,
  own_metadata jsonb default '{}'::jsonb not null,
  own_allow text[],
  metadata jsonb default '{}'::jsonb not null,
  allow text[]
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);

create table public.knowledge_evaluations (
  tenant_id text not null,
  kb_id text not null,
  evaluation_id uuid not null,
  generation integer not null,
  mode text not null,
  k integer not null,
  scores jsonb not null,
  questions jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.knowledge_files (
  tenant_id text not null,
  kb_id text not null,
  file_id uuid not null,
  name text not null,
  media_type text not null,
  size_bytes bigint not null,
  sha256 text not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  origin text,
  allow text[]
);

create table public.knowledge_frontier (
  tenant_id text not null,
  job_id uuid not null,
  source_id uuid not null,
  seq bigint generated always as identity not null,
  url text not null,
  url_key bytea not null,
  depth integer not null,
  is_visited boolean default false not null
);

create table public.knowledge_generations (
  tenant_id text not null,
  kb_id text not null,
  generation integer not null,
  fingerprint text not null,
  dimensions integer not null,
  embedder jsonb not null,
  state text not null,
  built_by_job uuid not null,
  index_version bigint default 0 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  language text default 'english'::text not null,
  passages bigint default 0 not null,
  passage_words bigint default 0 not null,
  counted_to bigint
);

create table public.knowledge_labels (
  tenant_id text not null,
  kb_id text not null,
  source_id uuid not null,
  uri_key bytea not null,
  metadata jsonb default '{}'::jsonb not null,
  allow text[],
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.knowledge_links (
  tenant_id text not null,
  kb_id text not null,
  document_id uuid not null,
  revision bigint not null,
  ordinal integer not null,
  chunk_id bigint not null,
  heading_path text[] default '{}'::text[] not null,
  start_at integer not null,
  end_at integer not null,
  job_id uuid not null,
  page_from integer,
  page_to integer
) with (autovacuum_vacuum_scale_factor=0.05);

create table public.knowledge_sources (
  tenant_id text not null,
  kb_id text not null,
  source_id uuid not null,
  type text not null,
  settings jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.knowledge_word_changes (
  tenant_id text not null,
  kb_id text not null,
  generation integer not null,
  change_id bigint generated always as identity not null,
  words jsonb not null
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=200);

create table public.knowledge_words (
  tenant_id text not null,
  kb_id text not null,
  generation integer not null,
  word text not null,
  passages integer not null
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);

create table public.login_links (
  tenant_id text not null,
  code_hash bytea not null,
  user_id text not null,
  role text not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.metric_breakdowns (
  tenant_id text not null,
  breakdown_id bigint generated always as identity not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  date_from date not null,
  date_to date not null,
  campaign_id uuid,
  ad_set_id uuid,
  ad_id uuid,
  dimension_names text[] not null,
  dimensions jsonb not null,
  dimensions_hash bytea not null,
  occurrence integer default 0 not null,
  impressions bigint,
  clicks bigint,
  link_clicks bigint,
  reach bigint,
  spend numeric,
  conversions numeric,
  conversion_value numeric,
  currency text,
  line_no integer,
  as_of timestamp with time zone not null,
  created_by_upload uuid not null,
  last_upload uuid not null,
  confirmed_by_upload uuid,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (fillfactor=90);

create table public.office_candidates (
  candidate uuid not null,
  offices text[] not null,
  expires_at timestamp with time zone not null
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table public.offices (
  office text not null,
  holder uuid not null,
  term bigint default 1 not null,
  elected_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table public.own_pipelines (
  name text not null,
  max_retries integer not null,
  schedule text,
  next_run_at timestamp with time zone,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.own_slots (
  tenant_id text not null,
  pipeline text not null,
  slot_key text not null,
  slot integer not null,
  job_id uuid not null,
  lease_epoch bigint not null,
  leased_by uuid not null
);

create table public.period_metrics (
  tenant_id text not null,
  metric_id bigint generated always as identity not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  date_from date not null,
  date_to date not null,
  campaign_id uuid,
  ad_set_id uuid,
  ad_id uuid,
  impressions bigint,
  clicks bigint,
  link_clicks bigint,
  reach bigint,
  spend numeric,
  conversions numeric,
  conversion_value numeric,
  currency text,
  as_of timestamp with time zone not null,
  created_by_upload uuid not null,
  last_upload uuid not null,
  confirmed_by_upload uuid,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  line_no integer
) with (fillfactor=90);

create table public.rate_limits (
  key text not null,
  moments timestamp with time zone[] not null,
  expires_at timestamp with time zone not null
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=200, fillfactor=70);

create table public.schema_migrations (
  version integer not null,
  name text not null,
  checksum text not null,
  state text not null,
  changed_at timestamp with time zone default clock_timestamp() not null
);

create table public.scrape_frontier (
  tenant_id text not null,
  job_id uuid not null,
  seq bigint generated always as identity not null,
  url text not null,
  url_key bytea not null,
  depth integer not null,
  is_visited boolean default false not null
);

create table public.scrape_references (
  tenant_id text not null,
  reference_id uuid not null,
  source text not null,
  external_id text collate "C" not null,
  url text not null,
  url_key bytea not null,
  title text not null,
  content text not null,
  media_type text,
  metadata jsonb default '{}'::jsonb not null,
  payload_hash text not null,
  memo text,
  gone_at timestamp with time zone,
  scrape_run_id uuid not null,
  changed_by uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_scale_factor=0.05);

create table public.scrape_runs (
  tenant_id text not null,
  scrape_run_id uuid not null,
  source text not null,
  mode text not null,
  status text default 'running'::text not null,
  job_id uuid,
  references_persisted integer default 0 not null,
  references_created integer default 0 not null,
  references_changed integer default 0 not null,
  pages_failed integer default 0 not null,
  handoff_queued_count integer default 0 not null,
  handoff_completed_count integer default 0 not null,
  handoff_failed_count integer default 0 not null,
  handoff_skipped_count integer default 0 not null,
  handoff_notice text,
  is_complete boolean,
  error_code text,
  error_text text,
  created_by text not null,
  started_at timestamp with time zone default clock_timestamp() not null,
  finished_at timestamp with time zone,
  updated_at timestamp with time zone default clock_timestamp() not null,
  missed_pages jsonb,
  delay_ms integer,
  paused_ms bigint
);

create table public.scrape_sources (
  tenant_id text not null,
  source text not null,
  mode text not null,
  kind text,
  kb_id text not null,
  url text,
  settings jsonb default '{}'::jsonb not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  every_hours double precision,
  next_crawl_at timestamp with time zone
);

create table public.search_events (
  tenant_id text not null,
  job_id uuid not null,
  event_id bigint generated always as identity not null,
  item_ids bigint[] not null,
  provider text not null,
  strategy text not null,
  status integer,
  outcome text not null,
  error text,
  took_ms integer not null,
  user_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  cost double precision,
  tokens integer
);

create table public.sessions (
  tenant_id text not null,
  session_hash bytea not null,
  user_id text not null,
  role text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  role_issued_at timestamp with time zone default clock_timestamp() not null,
  groups text[] default '{}'::text[] not null,
  session_id uuid default gen_random_uuid() not null,
  agent text
);

create table public.staging_id_resolution (
  tenant_id text not null,
  upload_id uuid not null,
  entity_type text not null,
  external_id text not null,
  production_id uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.staging_repeats (
  tenant_id text not null,
  upload_id uuid not null,
  row_index integer not null,
  head_row integer not null,
  part text not null,
  occurrence integer not null,
  lines integer,
  impressions numeric,
  clicks numeric,
  link_clicks numeric,
  reach numeric,
  spend numeric,
  conversions numeric,
  conversion_value numeric,
  currency text
);

create table public.staging_rows (
  tenant_id text not null,
  upload_id uuid not null,
  workspace_id uuid not null,
  entity_type text not null,
  row_index integer not null,
  natural_key_hash text not null,
  raw_data jsonb,
  validation_status text not null,
  validation_errors jsonb,
  promotion_error jsonb,
  promotion_warning jsonb,
  created_at timestamp with time zone default clock_timestamp() not null,
  metric_date date,
  campaign_external_id text,
  ad_set_external_id text,
  ad_external_id text,
  impressions bigint,
  clicks bigint,
  reach bigint,
  spend numeric,
  conversions numeric,
  conversion_value numeric,
  currency text,
  line_no integer,
  date_to date,
  link_clicks bigint,
  dimensions jsonb
) with (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_insert_scale_factor=0.2);

create table public.tenant_queue (
  tenant_id text not null,
  pipeline text not null,
  is_due boolean default false not null,
  next_due timestamp with time zone default 'infinity'::timestamp with time zone not null,
  pass bigint default 0 not null,
  head_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  moved_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  busy_until timestamp with time zone default '-infinity'::timestamp with time zone not null,
  is_limited boolean default false not null
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=100, fillfactor=50);

create table public.tenant_queue_marks (
  tenant_id text not null,
  pipeline text not null,
  due_at timestamp with time zone not null
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

create table public.tenant_secrets (
  tenant_id text not null,
  name text not null,
  encrypted text not null,
  updated_by text not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  hosts text[] default '{}'::text[] not null,
  roles text[] default '{}'::text[] not null,
  uses text[]
);

create table public.tenant_signing (
  is_single boolean default true not null,
  key bytea not null,
  is_required boolean not null
);

create table public.tenants (
  tenant_id text not null,
  name text not null,
  plan text default 'free'::text not null,
  limits jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  pass bigint default 0 not null,
  demo_port integer
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=100, fillfactor=80);

create table public.upkeep_tasks (
  task text not null,
  next_run_at timestamp with time zone default clock_timestamp() not null,
  last_started_at timestamp with time zone,
  last_finished_at timestamp with time zone,
  last_result jsonb,
  last_error text
);

create table public.upload_corrections (
  tenant_id text not null,
  upload_id uuid not null,
  row_index integer not null,
  column_index integer not null,
  line_no integer,
  header text not null,
  old_value text not null,
  new_value text not null,
  user_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null
);

create table public.upload_mappings (
  tenant_id text not null,
  platform text not null,
  header text not null,
  field text,
  updated_by text not null,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.upload_platforms (
  tenant_id text not null,
  name text not null,
  version integer not null,
  profile jsonb not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  deleted_at timestamp with time zone
);

create table public.upload_slots (
  tenant_id text not null,
  workspace_id uuid not null,
  slot_no smallint not null,
  upload_id uuid,
  taken_at timestamp with time zone
);

create table public.upload_source_contents (
  tenant_id text not null,
  source_id uuid not null,
  path text not null,
  size_bytes bigint not null,
  version text not null,
  sha256 text not null,
  job_id uuid not null,
  upload_id uuid,
  reason text,
  taken_at timestamp with time zone default clock_timestamp() not null
);

create table public.upload_sources (
  tenant_id text not null,
  source_id uuid not null,
  name text not null,
  workspace_id uuid not null,
  client_id uuid,
  platform text not null,
  kind text not null,
  place jsonb not null,
  restate_days integer not null,
  enabled boolean not null,
  cadence_hours double precision,
  cron text,
  time_zone text not null,
  jitter double precision not null,
  next_pull_at timestamp with time zone not null,
  last_tick_at timestamp with time zone default clock_timestamp() not null,
  planned_for text not null,
  last_pull_at timestamp with time zone,
  last_success_at timestamp with time zone,
  last_result jsonb,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
);

create table public.users (
  tenant_id text not null,
  user_id text not null,
  role text not null,
  name text,
  email text,
  disabled_at timestamp with time zone,
  created_at timestamp with time zone default clock_timestamp() not null,
  last_seen_at timestamp with time zone default clock_timestamp() not null,
  role_issued_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  roles_issued text[] default '{}'::text[] not null,
  role_since timestamp with time zone default clock_timestamp() not null,
  operator_since timestamp with time zone,
  disabled_by_operator boolean default false not null,
  invited_at timestamp with time zone
);

create table public.webhook_cursors (
  tenant_id text not null,
  webhook_id uuid not null,
  xid xid8 default pg_snapshot_xmin(pg_current_snapshot()) not null,
  event_id bigint default 0 not null,
  since pg_snapshot default pg_current_snapshot() not null,
  moved_at timestamp with time zone default clock_timestamp() not null,
  era bigint,
  "position" jsonb,
  high bigint default 0 not null,
  low bigint default 0 not null,
  open xid8[] default '{}'::xid8[] not null
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=200, fillfactor=70);

create table public.webhook_deliveries (
  tenant_id text not null,
  delivery_id uuid not null,
  webhook_id uuid not null,
  event_xid xid8 not null,
  event_id bigint not null,
  event_type text not null,
  lane text not null,
  status text default 'pending'::text not null,
  tries integer default 0 not null,
  max_tries integer default 10 not null,
  attempts jsonb default '[]'::jsonb not null,
  attempt_count integer default 0 not null,
  last_attempt_at timestamp with time zone,
  last_status_code integer,
  last_error text,
  last_duration_ms integer,
  created_at timestamp with time zone default clock_timestamp() not null,
  finished_at timestamp with time zone
) with (autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=1000, fillfactor=85);

create table public.webhook_endpoints (
  tenant_id text not null,
  webhook_id uuid not null,
  url text not null,
  event_types text[],
  description text,
  is_enabled boolean default true not null,
  disabled_reason text,
  disabled_at timestamp with time zone,
  secret text not null,
  old_secret text,
  old_secret_until timestamp with time zone,
  failures_in_row integer default 0 not null,
  failing_since timestamp with time zone,
  last_success_at timestamp with time zone,
  served_at timestamp with time zone default clock_timestamp() not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=200, fillfactor=80);

create table public.webhook_lanes (
  tenant_id text not null,
  webhook_id uuid not null,
  lane text not null,
  due_at timestamp with time zone default clock_timestamp() not null,
  not_before timestamp with time zone,
  token uuid
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500, fillfactor=70);

create table public.workers (
  worker_id uuid not null,
  name text not null,
  guarded_by text not null,
  lock_key bigint not null,
  concurrency integer not null,
  version text not null,
  started_at timestamp with time zone default clock_timestamp() not null,
  heartbeat_at timestamp with time zone default clock_timestamp() not null,
  lost_at timestamp with time zone,
  is_working boolean default true not null
);

create table public.workspaces (
  tenant_id text not null,
  workspace_id uuid not null,
  name text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null
);

-- Constraints

alter table public.ad_sets add constraint ad_sets_pkey PRIMARY KEY (tenant_id, ad_set_id);

alter table public.ad_sets add constraint ad_sets_tenant_id_workspace_id_client_id_platform_external__key UNIQUE NULLS NOT DISTINCT (tenant_id, workspace_id, client_id, platform, external_id);

alter table public.ad_sets add constraint ad_sets_tenant_id_campaign_id_fkey FOREIGN KEY (tenant_id, campaign_id) REFERENCES public.campaigns(tenant_id, campaign_id);

alter table public.ad_sets add constraint ad_sets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.adapter_files add constraint adapter_files_pkey PRIMARY KEY (tenant_id, file_id);

alter table public.adapter_files add constraint adapter_files_check CHECK (((state = 'waiting'::text) = (finished_at IS NULL)));

alter table public.adapter_files add constraint adapter_files_check1 CHECK (((state <> 'ingested'::text) OR ((sha256 IS NOT NULL) AND (job_id IS NOT NULL))));

alter table public.adapter_files add constraint adapter_files_moved_to_check CHECK ((octet_length(moved_to) <= 1100));

alter table public.adapter_files add constraint adapter_files_path_check CHECK (((octet_length(path) >= 1) AND (octet_length(path) <= 1024)));

alter table public.adapter_files add constraint adapter_files_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'ingested'::text, 'duplicate'::text, 'failed'::text])));

alter table public.adapter_files add constraint adapter_files_version_check CHECK ((octet_length(version) <= 200));

alter table public.adapter_files add constraint adapter_files_tenant_id_adapter_fkey FOREIGN KEY (tenant_id, adapter) REFERENCES public.adapters(tenant_id, name) ON DELETE CASCADE;

alter table public.adapters add constraint adapters_pkey PRIMARY KEY (tenant_id, name);

alter table public.adapters add constraint adapters_after_check CHECK ((after = ANY (ARRAY['leave'::text, 'move'::text])));

alter table public.adapters add constraint adapters_check CHECK (((scan_token IS NULL) = (scan_until IS NULL)));

alter table public.adapters add constraint adapters_every_minutes_check CHECK (((every_minutes >= 1) AND (every_minutes <= 44640)));

alter table public.adapters add constraint adapters_kind_check CHECK ((kind = ANY (ARRAY['folder'::text, 's3'::text, 'ftp'::text])));

alter table public.adapters add constraint adapters_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)));

alter table public.adapters add constraint adapters_settle_seconds_check CHECK (((settle_seconds >= 0) AND (settle_seconds <= 86400)));

alter table public.adapters add constraint adapters_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.ads add constraint ads_pkey PRIMARY KEY (tenant_id, ad_id);

alter table public.ads add constraint ads_tenant_id_workspace_id_client_id_platform_external_id_key UNIQUE NULLS NOT DISTINCT (tenant_id, workspace_id, client_id, platform, external_id);

alter table public.ads add constraint ads_tenant_id_ad_set_id_fkey FOREIGN KEY (tenant_id, ad_set_id) REFERENCES public.ad_sets(tenant_id, ad_set_id);

alter table public.ads add constraint ads_tenant_id_campaign_id_fkey FOREIGN KEY (tenant_id, campaign_id) REFERENCES public.campaigns(tenant_id, campaign_id);

alter table public.ads add constraint ads_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.airbyte_servers add constraint airbyte_servers_pkey PRIMARY KEY (tenant_id, server);

alter table public.airbyte_servers add constraint airbyte_servers_auth_check CHECK ((auth = ANY (ARRAY['token'::text, 'client'::text, 'basic'::text])));

alter table public.airbyte_servers add constraint airbyte_servers_base_url_check CHECK ((length(base_url) <= 2000));

alter table public.airbyte_servers add constraint airbyte_servers_identity_check CHECK ((length(identity) <= 500));

alter table public.airbyte_servers add constraint airbyte_servers_server_check CHECK ((length(server) <= 100));

alter table public.airbyte_servers add constraint airbyte_servers_workspace_id_check CHECK ((length(workspace_id) <= 200));

alter table public.airbyte_servers add constraint airbyte_servers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.api_keys add constraint api_keys_pkey PRIMARY KEY (tenant_id, key_id);

alter table public.api_keys add constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)));

alter table public.api_keys add constraint api_keys_role_check CHECK ((role = ANY (ARRAY['member'::text, 'admin'::text, 'support'::text, 'service'::text, 'operator'::text])));

alter table public.api_keys add constraint api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.bi_logins add constraint bi_logins_pkey PRIMARY KEY (tenant_id, role_name);

alter table public.bi_logins add constraint bi_logins_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.campaigns add constraint campaigns_pkey PRIMARY KEY (tenant_id, campaign_id);

alter table public.campaigns add constraint campaigns_tenant_id_workspace_id_client_id_platform_externa_key UNIQUE NULLS NOT DISTINCT (tenant_id, workspace_id, client_id, platform, external_id);

alter table public.campaigns add constraint campaigns_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.catalog_products add constraint catalog_products_pkey PRIMARY KEY (tenant_id, version_id, row_no);

alter table public.catalog_versions add constraint catalog_versions_pkey PRIMARY KEY (tenant_id, version_id);

alter table public.catalog_versions add constraint catalog_versions_check CHECK (((loading_by IS NULL) OR (retired_at IS NULL)));

alter table public.catalog_versions add constraint catalog_versions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.catalogs add constraint catalogs_pkey PRIMARY KEY (tenant_id, name);

alter table public.catalogs add constraint catalogs_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text));

alter table public.catalogs add constraint catalogs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.circuit_breakers add constraint circuit_breakers_pkey PRIMARY KEY (dependency);

alter table public.circuit_breakers add constraint circuit_breakers_state_check CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'probing'::text])));

alter table public.circuit_breakers add constraint circuit_breakers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.connectors add constraint connectors_pkey PRIMARY KEY (tenant_id, connector_id);

alter table public.connectors add constraint connectors_airbyte_connection_id_check CHECK (((length(airbyte_connection_id) >= 1) AND (length(airbyte_connection_id) <= 200)));

alter table public.connectors add constraint connectors_airbyte_workspace_id_check CHECK ((length(airbyte_workspace_id) <= 200));

alter table public.connectors add constraint connectors_cadence_hours_check CHECK ((cadence_hours > (0)::double precision));

alter table public.connectors add constraint connectors_connector_id_check CHECK (((length(connector_id) >= 1) AND (length(connector_id) <= 200)));

alter table public.connectors add constraint connectors_cron_check CHECK ((length(cron) <= 200));

alter table public.connectors add constraint connectors_external_account_id_check CHECK (((length(external_account_id) >= 1) AND (length(external_account_id) <= 200)));

alter table public.connectors add constraint connectors_jitter_check CHECK (((jitter >= (0)::double precision) AND (jitter <= (1)::double precision)));

alter table public.connectors add constraint connectors_min_interval_seconds_check CHECK (((min_interval_seconds >= 0) AND (min_interval_seconds <= 604800)));

alter table public.connectors add constraint connectors_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)));

alter table public.connectors add constraint connectors_on_active_sync_check CHECK ((on_active_sync = ANY (ARRAY['adopt'::text, 'fail'::text, 'skip'::text])));

alter table public.connectors add constraint connectors_time_zone_check CHECK ((length(time_zone) <= 100));

alter table public.connectors add constraint connectors_airbyte_server FOREIGN KEY (tenant_id, airbyte_server) REFERENCES public.airbyte_servers(tenant_id, server);

alter table public.connectors add constraint connectors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.crawl_frontier add constraint crawl_frontier_pkey PRIMARY KEY (tenant_id, job_id, source, seq);

alter table public.crawl_frontier add constraint crawl_frontier_tenant_id_job_id_source_url_key_key UNIQUE (tenant_id, job_id, source, url_key);

alter table public.daily_metrics add constraint daily_metrics_pkey PRIMARY KEY (tenant_id, metric_id);

alter table public.daily_metrics add constraint daily_metrics_key UNIQUE NULLS NOT DISTINCT (ad_id, ad_set_id, campaign_id, metric_date, workspace_id, client_id, platform, tenant_id);

alter table public.data_uploads add constraint data_uploads_pkey PRIMARY KEY (tenant_id, upload_id);

alter table public.data_uploads add constraint data_uploads_check CHECK (((status = ANY (ARRAY['completed'::text, 'partial'::text, 'failed'::text])) = (finished_at IS NOT NULL)));

alter table public.data_uploads add constraint data_uploads_check1 CHECK (((NOT event_emitted) OR (status = ANY (ARRAY['completed'::text, 'partial'::text]))));

alter table public.data_uploads add constraint data_uploads_check2 CHECK (((date_from IS NULL) = (date_to IS NULL)));

alter table public.data_uploads add constraint data_uploads_check3 CHECK ((date_from <= date_to));

alter table public.data_uploads add constraint data_uploads_origin_check CHECK ((origin = ANY (ARRAY['request'::text, 'folder'::text, 'adapter'::text, 'pull'::text])));

alter table public.data_uploads add constraint data_uploads_platform_check CHECK ((platform ~ '^[a-z][a-z0-9_-]{1,39}$'::text));

alter table public.data_uploads add constraint data_uploads_source_check CHECK ((source = ANY (ARRAY['manual'::text, 'api'::text, 'webhook'::text])));

alter table public.data_uploads add constraint data_uploads_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'staging_complete'::text, 'promoting'::text, 'completed'::text, 'partial'::text, 'failed'::text])));

alter table public.data_uploads add constraint data_uploads_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.data_uploads add constraint data_uploads_tenant_id_workspace_id_fkey FOREIGN KEY (tenant_id, workspace_id) REFERENCES public.workspaces(tenant_id, workspace_id);

alter table public.dependency_rate_limits add constraint dependency_rate_limits_pkey PRIMARY KEY (dependency);

alter table public.dependency_rate_limits add constraint dependency_rate_limits_dependency_check CHECK ((length(dependency) <= 200));

alter table public.dropped_files add constraint dropped_files_pkey PRIMARY KEY (tenant_id, path, size_bytes, modified_at);

alter table public.dropped_files add constraint dropped_files_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.embeddings_index add constraint embeddings_index_pkey PRIMARY KEY (tenant_id, chunk_id);

alter table public.embeddings_index add constraint embeddings_index_tenant_id_content_hash_kb_id_generation_key UNIQUE (tenant_id, content_hash, kb_id, generation);

alter table public.embeddings_index add constraint embeddings_index_content_hash_check CHECK ((length(content_hash) = 64));

alter table public.ended_job_tables add constraint ended_job_tables_pkey PRIMARY KEY (name);

alter table public.erased_tenants add constraint erased_tenants_pkey PRIMARY KEY (tenant_hash);

alter table public.event_eras add constraint event_eras_pkey PRIMARY KEY (era);

alter table public.event_eras add constraint event_eras_first_id_key UNIQUE (first_id);

alter table public.event_partitions add constraint event_partitions_pkey PRIMARY KEY (from_id);

alter table public.event_partitions add constraint event_partitions_name_key UNIQUE (name);

alter table public.event_partitions add constraint event_partitions_check CHECK ((from_id < to_id));

alter table public.files add constraint files_pkey PRIMARY KEY (tenant_id, file_id);

alter table public.files add constraint files_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text));

alter table public.files add constraint files_size_bytes_check CHECK ((size_bytes >= 0));

alter table public.files add constraint files_storage_check CHECK ((storage = ANY (ARRAY['local'::text, 's3'::text, 'rows'::text]))) NOT VALID;

alter table public.files add constraint files_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.idempotency_keys add constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, principal, route, key);

alter table public.idempotency_keys add constraint idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)));

alter table public.idempotency_keys add constraint idempotency_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.ingestion_handoffs add constraint ingestion_handoffs_pkey PRIMARY KEY (tenant_id, handoff_id);

alter table public.ingestion_handoffs add constraint ingestion_handoffs_reference_id_payload_hash_key UNIQUE (reference_id, payload_hash);

alter table public.ingestion_handoffs add constraint ingestion_handoffs_tenant_id_reference_id_turn_key UNIQUE (tenant_id, reference_id, turn);

alter table public.ingestion_handoffs add constraint ingestion_handoffs_payload_hash_check CHECK ((length(payload_hash) = 64));

alter table public.ingestion_handoffs add constraint ingestion_handoffs_reason_code_check CHECK ((reason_code = ANY (ARRAY['queued_from_scrape'::text, 'ingestion_job_queued'::text, 'ingestion_job_already_active'::text, 'ingestion_job_running'::text, 'ingestion_job_completed'::text, 'ingestion_job_failed'::text, 'unchanged_payload'::text, 'retry_exhausted'::text, 'not_transient'::text])));

alter table public.ingestion_handoffs add constraint ingestion_handoffs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text])));

alter table public.ingestion_jobs add constraint ingestion_jobs_pkey PRIMARY KEY (tenant_id, job_id);

alter table public.ingestion_jobs add constraint ingestion_jobs_check CHECK (((leased_by IS NULL) = (lease_expires_at IS NULL)));

alter table public.ingestion_jobs add constraint ingestion_jobs_check1 CHECK (((NOT cleanup_open) OR (status = 'canceled'::text)));

alter table public.ingestion_jobs add constraint ingestion_jobs_pipeline_check CHECK (((length(pipeline) >= 1) AND (length(pipeline) <= 64)));

alter table public.ingestion_jobs add constraint ingestion_jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'failed'::text, 'dead_letter'::text, 'success'::text, 'canceled'::text])));

alter table public.ingestion_jobs add constraint ingestion_jobs_subject_id_check CHECK (((length(subject_id) >= 1) AND (length(subject_id) <= 500)));

alter table public.ingestion_jobs add constraint ingestion_jobs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.ingestion_jobs_ended add constraint ingestion_jobs_ended_pkey PRIMARY KEY (tenant_id, job_id);

alter table public.ingestion_jobs_ended add constraint ingestion_jobs_check CHECK (((leased_by IS NULL) = (lease_expires_at IS NULL)));

alter table public.ingestion_jobs_ended add constraint ingestion_jobs_check1 CHECK (((NOT cleanup_open) OR (status = 'canceled'::text)));

alter table public.ingestion_jobs_ended add constraint ingestion_jobs_pipeline_check CHECK (((length(pipeline) >= 1) AND (length(pipeline) <= 64)));

alter table public.ingestion_jobs_ended add constraint ingestion_jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'failed'::text, 'dead_letter'::text, 'success'::text, 'canceled'::text])));

alter table public.ingestion_jobs_ended add constraint ingestion_jobs_subject_id_check CHECK (((length(subject_id) >= 1) AND (length(subject_id) <= 500)));

alter table public.item_corrections add constraint item_corrections_pkey PRIMARY KEY (tenant_id, job_id, correction_id);

alter table public.item_corrections add constraint item_corrections_tenant_id_job_id_fkey FOREIGN KEY (tenant_id, job_id) REFERENCES public.item_jobs(tenant_id, job_id) ON DELETE CASCADE;

alter table public.item_images add constraint item_images_pkey PRIMARY KEY (tenant_id, job_id, row_no, kind);

alter table public.item_images add constraint item_images_kind_check CHECK ((kind = ANY (ARRAY['original'::text, 'thumbnail'::text])));

alter table public.item_images add constraint item_images_tenant_id_file_id_fkey FOREIGN KEY (tenant_id, file_id) REFERENCES public.files(tenant_id, file_id) ON DELETE CASCADE;

alter table public.item_images add constraint item_images_tenant_id_job_id_fkey FOREIGN KEY (tenant_id, job_id) REFERENCES public.item_jobs(tenant_id, job_id) ON DELETE CASCADE;

alter table public.item_jobs add constraint item_jobs_pkey PRIMARY KEY (tenant_id, job_id);

alter table public.item_jobs add constraint item_jobs_check CHECK ((total = (((((pending + processing) + done) + error) + not_found) + skipped)));

alter table public.item_jobs add constraint item_jobs_job_type_check CHECK ((job_type = ANY (ARRAY['csv'::text, 'image'::text])));

alter table public.item_jobs add constraint item_jobs_user_role_check CHECK ((user_role = ANY (ARRAY['member'::text, 'admin'::text, 'support'::text, 'service'::text, 'operator'::text])));

alter table public.item_providers add constraint item_providers_pkey PRIMARY KEY (tenant_id, host);

alter table public.item_providers add constraint item_providers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.item_templates add constraint item_templates_pkey PRIMARY KEY (tenant_id, name);

alter table public.item_templates add constraint item_templates_name_check CHECK (((length(name) >= 1) AND (length(name) <= 64)));

alter table public.job_items add constraint job_items_pkey PRIMARY KEY (tenant_id, job_id, id);

alter table public.job_items add constraint job_items_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text, 'DONE'::text, 'ERROR'::text, 'NOT_FOUND'::text, 'SKIPPED'::text])));

alter table public.knowledge_bases add constraint knowledge_bases_pkey PRIMARY KEY (tenant_id, kb_id);

alter table public.knowledge_bases add constraint knowledge_bases_kb_id_check CHECK (((length(kb_id) >= 1) AND (length(kb_id) <= 200)));

alter table public.knowledge_bases add constraint knowledge_bases_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)));

alter table public.knowledge_bases add constraint knowledge_bases_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.knowledge_documents add constraint knowledge_documents_pkey PRIMARY KEY (tenant_id, kb_id, document_id);

alter table public.knowledge_documents add constraint knowledge_documents_tenant_id_source_id_uri_key_generation_key UNIQUE (tenant_id, source_id, uri_key, generation);

alter table public.knowledge_documents add constraint knowledge_documents_state_check CHECK ((state = ANY (ARRAY['indexed'::text, 'empty'::text, 'error'::text, 'gone'::text])));

alter table public.knowledge_evaluations add constraint knowledge_evaluations_pkey PRIMARY KEY (tenant_id, kb_id, evaluation_id);

alter table public.knowledge_evaluations add constraint knowledge_evaluations_tenant_id_kb_id_fkey FOREIGN KEY (tenant_id, kb_id) REFERENCES public.knowledge_bases(tenant_id, kb_id) ON DELETE CASCADE;

alter table public.knowledge_files add constraint knowledge_files_pkey PRIMARY KEY (tenant_id, kb_id, file_id);

alter table public.knowledge_files add constraint knowledge_files_tenant_id_kb_id_name_key UNIQUE (tenant_id, kb_id, name);

alter table public.knowledge_files add constraint knowledge_files_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 1000)));

alter table public.knowledge_files add constraint knowledge_files_origin_check CHECK (((length(origin) >= 1) AND (length(origin) <= 1000)));

alter table public.knowledge_files add constraint knowledge_files_sha256_check CHECK ((length(sha256) = 64));

alter table public.knowledge_files add constraint knowledge_files_size_bytes_check CHECK ((size_bytes >= 0));

alter table public.knowledge_files add constraint knowledge_files_tenant_id_kb_id_fkey FOREIGN KEY (tenant_id, kb_id) REFERENCES public.knowledge_bases(tenant_id, kb_id) ON DELETE CASCADE;

alter table public.knowledge_frontier add constraint knowledge_frontier_pkey PRIMARY KEY (tenant_id, job_id, source_id, seq);

alter table public.knowledge_frontier add constraint knowledge_frontier_tenant_id_job_id_source_id_url_key_key UNIQUE (tenant_id, job_id, source_id, url_key);

alter table public.knowledge_generations add constraint knowledge_generations_pkey PRIMARY KEY (tenant_id, kb_id, generation);

alter table public.knowledge_generations add constraint knowledge_generations_dimensions_check CHECK ((dimensions > 0));

alter table public.knowledge_generations add constraint knowledge_generations_generation_check CHECK ((generation > 0));

alter table public.knowledge_generations add constraint knowledge_generations_state_check CHECK ((state = ANY (ARRAY['building'::text, 'serving'::text, 'retired'::text])));

alter table public.knowledge_generations add constraint knowledge_generations_tenant_id_kb_id_fkey FOREIGN KEY (tenant_id, kb_id) REFERENCES public.knowledge_bases(tenant_id, kb_id) ON DELETE CASCADE;

alter table public.knowledge_labels add constraint knowledge_labels_pkey PRIMARY KEY (tenant_id, kb_id, source_id, uri_key);

alter table public.knowledge_labels add constraint knowledge_labels_tenant_id_kb_id_fkey FOREIGN KEY (tenant_id, kb_id) REFERENCES public.knowledge_bases(tenant_id, kb_id) ON DELETE CASCADE;

alter table public.knowledge_links add constraint knowledge_links_pkey PRIMARY KEY (tenant_id, kb_id, document_id, revision, ordinal);

alter table public.knowledge_sources add constraint knowledge_sources_pkey PRIMARY KEY (tenant_id, kb_id, source_id);

alter table public.knowledge_sources add constraint knowledge_sources_type_check CHECK (((length(type) >= 1) AND (length(type) <= 64)));

alter table public.knowledge_sources add constraint knowledge_sources_tenant_id_kb_id_fkey FOREIGN KEY (tenant_id, kb_id) REFERENCES public.knowledge_bases(tenant_id, kb_id) ON DELETE CASCADE;

alter table public.knowledge_word_changes add constraint knowledge_word_changes_pkey PRIMARY KEY (tenant_id, kb_id, generation, change_id);

alter table public.knowledge_words add constraint knowledge_words_pkey PRIMARY KEY (tenant_id, kb_id, generation, word);

alter table public.knowledge_words add constraint knowledge_words_word_check CHECK ((octet_length(word) <= 255));

alter table public.login_links add constraint login_links_pkey PRIMARY KEY (tenant_id, code_hash);

alter table public.login_links add constraint login_links_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.metric_breakdowns add constraint metric_breakdowns_pkey PRIMARY KEY (tenant_id, breakdown_id);

alter table public.metric_breakdowns add constraint metric_breakdowns_key UNIQUE NULLS NOT DISTINCT (tenant_id, workspace_id, client_id, platform, campaign_id, ad_set_id, ad_id, date_from, date_to, dimensions_hash, occurrence);

alter table public.metric_breakdowns add constraint metric_breakdowns_check CHECK ((date_from <= date_to));

alter table public.office_candidates add constraint office_candidates_pkey PRIMARY KEY (candidate);

alter table public.offices add constraint offices_pkey PRIMARY KEY (office);

alter table public.offices add constraint offices_office_check CHECK (((length(office) >= 1) AND (length(office) <= 100)));

alter table public.own_pipelines add constraint own_pipelines_pkey PRIMARY KEY (name);

alter table public.own_pipelines add constraint own_pipelines_check CHECK (((schedule IS NULL) = (next_run_at IS NULL)));

alter table public.own_pipelines add constraint own_pipelines_max_retries_check CHECK ((max_retries >= 0));

alter table public.own_pipelines add constraint own_pipelines_name_check CHECK (((length(name) >= 1) AND (length(name) <= 50)));

alter table public.own_slots add constraint own_slots_pkey PRIMARY KEY (tenant_id, pipeline, slot_key, slot);

alter table public.own_slots add constraint own_slots_slot_key_check CHECK ((length(slot_key) <= 500));

alter table public.own_slots add constraint own_slots_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.period_metrics add constraint period_metrics_pkey PRIMARY KEY (tenant_id, metric_id);

alter table public.period_metrics add constraint period_metrics_key UNIQUE NULLS NOT DISTINCT (tenant_id, workspace_id, client_id, platform, campaign_id, ad_set_id, ad_id, date_from, date_to);

alter table public.period_metrics add constraint period_metrics_check CHECK ((date_from < date_to));

alter table public.rate_limits add constraint rate_limits_pkey PRIMARY KEY (key);

alter table public.rate_limits add constraint rate_limits_key_check CHECK (((length(key) >= 1) AND (length(key) <= 500)));

alter table public.schema_migrations add constraint schema_migrations_pkey PRIMARY KEY (version);

alter table public.schema_migrations add constraint schema_migrations_state_check CHECK ((state = ANY (ARRAY['up'::text, 'down'::text])));

alter table public.scrape_frontier add constraint scrape_frontier_pkey PRIMARY KEY (tenant_id, job_id, seq);

alter table public.scrape_frontier add constraint scrape_frontier_tenant_id_job_id_url_key_key UNIQUE (tenant_id, job_id, url_key);

alter table public.scrape_references add constraint scrape_references_pkey PRIMARY KEY (tenant_id, reference_id);

alter table public.scrape_references add constraint scrape_references_tenant_id_source_external_id_key UNIQUE (tenant_id, source, external_id);

alter table public.scrape_references add constraint scrape_references_external_id_check CHECK (((octet_length(external_id) >= 1) AND (octet_length(external_id) <= 1500)));

alter table public.scrape_references add constraint scrape_references_payload_hash_check CHECK ((length(payload_hash) = 64));

alter table public.scrape_runs add constraint scrape_runs_pkey PRIMARY KEY (tenant_id, scrape_run_id);

alter table public.scrape_runs add constraint scrape_runs_mode_check CHECK ((mode = ANY (ARRAY['push'::text, 'crawl'::text])));

alter table public.scrape_runs add constraint scrape_runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])));

alter table public.scrape_runs add constraint scrape_runs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.scrape_sources add constraint scrape_sources_pkey PRIMARY KEY (tenant_id, source);

alter table public.scrape_sources add constraint scrape_sources_check CHECK (((mode = 'crawl'::text) = (kind IS NOT NULL)));

alter table public.scrape_sources add constraint scrape_sources_check1 CHECK (((mode = 'crawl'::text) = (url IS NOT NULL)));

alter table public.scrape_sources add constraint scrape_sources_every_hours_check CHECK ((every_hours > (0)::double precision));

alter table public.scrape_sources add constraint scrape_sources_kb_id_check CHECK (((length(kb_id) >= 1) AND (length(kb_id) <= 200)));

alter table public.scrape_sources add constraint scrape_sources_kind_check CHECK ((kind = ANY (ARRAY['website'::text, 'sitemap'::text, 'feed'::text])));

alter table public.scrape_sources add constraint scrape_sources_mode_check CHECK ((mode = ANY (ARRAY['push'::text, 'crawl'::text])));

alter table public.scrape_sources add constraint scrape_sources_source_check CHECK (((length(source) >= 1) AND (length(source) <= 100)));

alter table public.scrape_sources add constraint scrape_sources_url_check CHECK (((octet_length(url) >= 1) AND (octet_length(url) <= 8000)));

alter table public.scrape_sources add constraint scrape_sources_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.search_events add constraint search_events_pkey PRIMARY KEY (tenant_id, job_id, event_id);

alter table public.search_events add constraint search_events_tenant_id_job_id_fkey FOREIGN KEY (tenant_id, job_id) REFERENCES public.item_jobs(tenant_id, job_id) ON DELETE CASCADE;

alter table public.sessions add constraint sessions_pkey PRIMARY KEY (tenant_id, session_hash);

alter table public.sessions add constraint sessions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.staging_id_resolution add constraint staging_id_resolution_pkey PRIMARY KEY (tenant_id, upload_id, entity_type, external_id);

alter table public.staging_id_resolution add constraint staging_id_resolution_entity_type_check CHECK ((entity_type = ANY (ARRAY['campaign'::text, 'ad_set'::text, 'ad'::text])));

alter table public.staging_repeats add constraint staging_repeats_pkey PRIMARY KEY (tenant_id, upload_id, row_index);

alter table public.staging_repeats add constraint staging_repeats_part_check CHECK ((part = ANY (ARRAY['adds'::text, 'duplicate'::text, 'refused'::text])));

alter table public.staging_rows add constraint staging_rows_pkey PRIMARY KEY (tenant_id, upload_id, entity_type, row_index);

alter table public.staging_rows add constraint staging_rows_check CHECK (((raw_data IS NULL) = (metric_date IS NOT NULL)));

alter table public.staging_rows add constraint staging_rows_check1 CHECK (((metric_date IS NULL) OR ((entity_type = ANY (ARRAY['daily_metric'::text, 'period_metric'::text])) AND (validation_status = 'valid'::text))));

alter table public.staging_rows add constraint staging_rows_entity_type_check CHECK ((entity_type = ANY (ARRAY['campaign'::text, 'ad_set'::text, 'ad'::text, 'daily_metric'::text, 'period_metric'::text])));

alter table public.staging_rows add constraint staging_rows_validation_status_check CHECK ((validation_status = ANY (ARRAY['pending'::text, 'valid'::text, 'invalid'::text])));

alter table public.tenant_queue add constraint tenant_queue_pkey PRIMARY KEY (tenant_id, pipeline);

alter table public.tenant_queue add constraint tenant_queue_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.tenant_secrets add constraint tenant_secrets_pkey PRIMARY KEY (tenant_id, name);

alter table public.tenant_secrets add constraint tenant_secrets_name_check CHECK ((name ~ '^[a-z][a-z0-9_]{0,62}$'::text));

alter table public.tenant_secrets add constraint tenant_secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.tenant_signing add constraint tenant_signing_pkey PRIMARY KEY (is_single);

alter table public.tenant_signing add constraint tenant_signing_is_single_check CHECK (is_single);

alter table public.tenant_signing add constraint tenant_signing_key_check CHECK ((length(key) = 32));

alter table public.tenants add constraint tenants_pkey PRIMARY KEY (tenant_id);

alter table public.tenants add constraint tenants_demo_port_check CHECK (((demo_port >= 1) AND (demo_port <= 65535)));

alter table public.tenants add constraint tenants_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'growth'::text, 'enterprise'::text])));

alter table public.tenants add constraint tenants_tenant_id_check CHECK (((length(tenant_id) >= 1) AND (length(tenant_id) <= 200)));

alter table public.upkeep_tasks add constraint upkeep_tasks_pkey PRIMARY KEY (task);

alter table public.upload_corrections add constraint upload_corrections_pkey PRIMARY KEY (tenant_id, upload_id, row_index, column_index);

alter table public.upload_mappings add constraint upload_mappings_pkey PRIMARY KEY (tenant_id, platform, header);

alter table public.upload_mappings add constraint upload_mappings_header_check CHECK (((length(header) >= 1) AND (length(header) <= 500)));

alter table public.upload_mappings add constraint upload_mappings_platform_check CHECK ((platform ~ '^[a-z][a-z0-9_-]{1,39}$'::text));

alter table public.upload_mappings add constraint upload_mappings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.upload_platforms add constraint upload_platforms_pkey PRIMARY KEY (tenant_id, name, version);

alter table public.upload_platforms add constraint upload_platforms_name_check CHECK ((name ~ '^[a-z][a-z0-9_-]{1,39}$'::text));

alter table public.upload_platforms add constraint upload_platforms_version_check CHECK ((version > 0));

alter table public.upload_slots add constraint upload_slots_pkey PRIMARY KEY (tenant_id, workspace_id, slot_no);

alter table public.upload_slots add constraint upload_slots_tenant_id_upload_id_key UNIQUE (tenant_id, upload_id);

alter table public.upload_slots add constraint upload_slots_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.upload_slots add constraint upload_slots_tenant_id_workspace_id_fkey FOREIGN KEY (tenant_id, workspace_id) REFERENCES public.workspaces(tenant_id, workspace_id) ON DELETE CASCADE;

alter table public.upload_source_contents add constraint upload_source_contents_pkey PRIMARY KEY (tenant_id, source_id, path);

alter table public.upload_source_contents add constraint upload_source_contents_check CHECK (((upload_id IS NOT NULL) OR (reason IS NOT NULL)));

alter table public.upload_source_contents add constraint upload_source_contents_path_check CHECK ((octet_length(path) <= 1024));

alter table public.upload_source_contents add constraint upload_source_contents_version_check CHECK ((octet_length(version) <= 200));

alter table public.upload_source_contents add constraint upload_source_contents_tenant_id_source_id_fkey FOREIGN KEY (tenant_id, source_id) REFERENCES public.upload_sources(tenant_id, source_id) ON DELETE CASCADE;

alter table public.upload_sources add constraint upload_sources_pkey PRIMARY KEY (tenant_id, source_id);

alter table public.upload_sources add constraint upload_sources_cadence_hours_check CHECK ((cadence_hours > (0)::double precision));

alter table public.upload_sources add constraint upload_sources_check CHECK (((cadence_hours IS NULL) OR (cron IS NULL)));

alter table public.upload_sources add constraint upload_sources_jitter_check CHECK (((jitter >= (0)::double precision) AND (jitter < (1)::double precision)));

alter table public.upload_sources add constraint upload_sources_kind_check CHECK ((kind = ANY (ARRAY['url'::text, 's3'::text, 'ftp'::text, 'meta'::text, 'google'::text, 'tiktok'::text])));

alter table public.upload_sources add constraint upload_sources_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 800)));

alter table public.upload_sources add constraint upload_sources_platform_check CHECK ((platform ~ '^[a-z][a-z0-9_-]{1,39}$'::text));

alter table public.upload_sources add constraint upload_sources_restate_days_check CHECK (((restate_days >= 1) AND (restate_days <= 180)));

alter table public.users add constraint users_pkey PRIMARY KEY (tenant_id, user_id);

alter table public.users add constraint users_role_check CHECK ((role = ANY (ARRAY['member'::text, 'admin'::text, 'support'::text, 'service'::text, 'operator'::text])));

alter table public.users add constraint users_user_id_check CHECK (((length(user_id) >= 1) AND (length(user_id) <= 200)));

alter table public.users add constraint users_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.webhook_cursors add constraint webhook_cursors_pkey PRIMARY KEY (tenant_id, webhook_id);

alter table public.webhook_cursors add constraint webhook_cursors_tenant_id_webhook_id_fkey FOREIGN KEY (tenant_id, webhook_id) REFERENCES public.webhook_endpoints(tenant_id, webhook_id) ON DELETE CASCADE;

alter table public.webhook_deliveries add constraint webhook_deliveries_pkey PRIMARY KEY (tenant_id, delivery_id);

alter table public.webhook_deliveries add constraint webhook_deliveries_tenant_id_webhook_id_event_id_key UNIQUE (tenant_id, webhook_id, event_id);

alter table public.webhook_deliveries add constraint webhook_deliveries_check CHECK (((status = 'pending'::text) = (finished_at IS NULL)));

alter table public.webhook_deliveries add constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'exhausted'::text])));

alter table public.webhook_endpoints add constraint webhook_endpoints_pkey PRIMARY KEY (tenant_id, webhook_id);

alter table public.webhook_endpoints add constraint webhook_endpoints_check CHECK ((is_enabled = (disabled_at IS NULL)));

alter table public.webhook_endpoints add constraint webhook_endpoints_event_types_check CHECK (((cardinality(event_types) >= 1) AND (cardinality(event_types) <= 50)));

alter table public.webhook_endpoints add constraint webhook_endpoints_url_check CHECK (((octet_length(url) >= 1) AND (octet_length(url) <= 8000)));

alter table public.webhook_endpoints add constraint webhook_endpoints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

alter table public.webhook_lanes add constraint webhook_lanes_pkey PRIMARY KEY (tenant_id, webhook_id, lane);

alter table public.workers add constraint workers_pkey PRIMARY KEY (worker_id);

alter table public.workers add constraint workers_guarded_by_check CHECK ((guarded_by = ANY (ARRAY['lock'::text, 'expiry'::text])));

alter table public.workspaces add constraint workspaces_pkey PRIMARY KEY (tenant_id, workspace_id);

alter table public.workspaces add constraint workspaces_tenant_id_name_key UNIQUE (tenant_id, name);

alter table public.workspaces add constraint workspaces_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)));

alter table public.workspaces add constraint workspaces_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id) ON DELETE CASCADE;

-- Indexes

CREATE INDEX ad_sets_of_campaign ON public.ad_sets USING btree (tenant_id, campaign_id);

CREATE INDEX ix_adapter_files_adapter ON public.adapter_files USING btree (tenant_id, adapter, file_id);

CREATE INDEX ix_adapter_files_state ON public.adapter_files USING btree (tenant_id, adapter, state, file_id);

CREATE UNIQUE INDEX ux_adapter_files_content ON public.adapter_files USING btree (tenant_id, adapter, sha256) WHERE (state = 'ingested'::text);

CREATE UNIQUE INDEX ux_adapter_files_version ON public.adapter_files USING btree (tenant_id, adapter, path, size_bytes, version) WHERE (moved_to IS NULL);

CREATE UNIQUE INDEX ux_adapter_files_waiting ON public.adapter_files USING btree (tenant_id, adapter, path) WHERE ((state = 'waiting'::text) AND (moved_to IS NULL));

CREATE INDEX ix_adapters_due ON public.adapters USING btree (next_scan_at) WHERE (next_scan_at IS NOT NULL);

CREATE INDEX ads_of_ad_set ON public.ads USING btree (tenant_id, ad_set_id);

CREATE INDEX ads_of_campaign ON public.ads USING btree (tenant_id, campaign_id);

CREATE INDEX api_keys_by_hash ON public.api_keys USING btree (key_hash);

CREATE INDEX ix_catalog_products_brand_title ON public.catalog_products USING btree (tenant_id, version_id, brand_title_key) WHERE (brand_title_key IS NOT NULL);

CREATE INDEX ix_catalog_products_sku ON public.catalog_products USING btree (tenant_id, version_id, sku_key) WHERE (sku_key IS NOT NULL);

CREATE INDEX ix_catalog_versions_unused ON public.catalog_versions USING btree (tenant_id, version_id) WHERE ((loading_by IS NOT NULL) OR (retired_at IS NOT NULL));

CREATE INDEX circuit_breakers_of_tenant ON public.circuit_breakers USING btree (tenant_id) WHERE (tenant_id IS NOT NULL);

CREATE UNIQUE INDEX ix_connectors_airbyte_connection ON public.connectors USING btree (airbyte_connection_id);

CREATE INDEX ix_connectors_airbyte_server ON public.connectors USING btree (tenant_id, airbyte_server) WHERE (airbyte_server IS NOT NULL);

CREATE INDEX ix_connectors_due ON public.connectors USING btree (next_sync_at) WHERE enabled;

CREATE INDEX daily_metrics_by_date ON public.daily_metrics USING btree (workspace_id, metric_date, metric_id);

CREATE INDEX data_uploads_of_workspace ON public.data_uploads USING btree (tenant_id, workspace_id, upload_id);

CREATE INDEX data_uploads_unfinished ON public.data_uploads USING btree (tenant_id, upload_id) WHERE (status <> ALL (ARRAY['completed'::text, 'partial'::text, 'failed'::text]));

CREATE INDEX data_uploads_waiting ON public.data_uploads USING btree (tenant_id, workspace_id, created_at, upload_id) WHERE (status = 'pending'::text);

CREATE INDEX embeddings_index_text_search ON public.embeddings_index USING gin (text_search);

CREATE INDEX ix_embeddings_index_generation ON public.embeddings_index USING btree (tenant_id, kb_id, generation, chunk_id);

CREATE INDEX files_by_storage_key ON public.files USING btree (storage, storage_key);

CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);

CREATE INDEX ix_ingestion_handoffs_job ON public.ingestion_handoffs USING btree (tenant_id, job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX ix_ingestion_handoffs_run ON public.ingestion_handoffs USING btree (tenant_id, scrape_run_id, handoff_id);

CREATE INDEX ix_ingestion_handoffs_source ON public.ingestion_handoffs USING btree (tenant_id, source, handoff_id);

CREATE INDEX ix_ingestion_handoffs_without_job ON public.ingestion_handoffs USING btree (tenant_id, reference_id, turn) WHERE (job_id IS NULL);

CREATE UNIQUE INDEX ix_ingestion_jobs_active_unique ON public.ingestion_jobs USING btree (tenant_id, pipeline, subject_id) WHERE ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text])) OR cleanup_open);

CREATE INDEX ix_ingestion_jobs_connector ON public.ingestion_jobs USING btree (tenant_id, connector_id, job_id) WHERE (connector_id IS NOT NULL);

CREATE INDEX ix_ingestion_jobs_dead_letter ON public.ingestion_jobs USING btree (tenant_id, job_id) WHERE (status = 'dead_letter'::text);

CREATE INDEX ix_ingestion_jobs_finished ON public.ingestion_jobs USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX ix_ingestion_jobs_knowledge ON public.ingestion_jobs USING btree (tenant_id, subject_id, job_id) WHERE (pipeline = 'knowledge'::text);

CREATE INDEX ix_ingestion_jobs_lane ON public.ingestion_jobs USING btree (tenant_id, pipeline, (
CASE status
    WHEN 'queued'::text THEN 1
    ELSE 0
END), run_at) WHERE ((leased_by IS NULL) AND (struck_by = '{}'::uuid[]) AND ((status = ANY (ARRAY['queued'::text, 'running'::text, 'failed'::text])) OR cleanup_open));

CREATE INDEX ix_ingestion_jobs_lease_ends ON public.ingestion_jobs USING btree (tenant_id, lease_expires_at) WHERE (leased_by IS NOT NULL);

CREATE UNIQUE INDEX ix_ingestion_jobs_requeued_from ON public.ingestion_jobs USING btree (tenant_id, requeued_from) WHERE (requeued_from IS NOT NULL);

CREATE INDEX ix_ingestion_jobs_run ON public.ingestion_jobs USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX ix_ingestion_jobs_strikes ON public.ingestion_jobs USING gin (struck_by) WHERE (struck_by <> '{}'::uuid[]);

CREATE INDEX ix_ingestion_jobs_struck ON public.ingestion_jobs USING btree (run_at) WHERE ((struck_by <> '{}'::uuid[]) AND (leased_by IS NULL) AND ((status = ANY (ARRAY['queued'::text, 'running'::text, 'failed'::text])) OR cleanup_open));

CREATE INDEX ix_ingestion_jobs_waiting_retry ON public.ingestion_jobs USING btree (tenant_id, pipeline, subject_id, job_id) WHERE (status = 'failed'::text);

CREATE INDEX ingestion_jobs_ended_finished_at_idx ON public.ingestion_jobs_ended USING brin (finished_at);

CREATE INDEX ingestion_jobs_ended_run_id_idx ON public.ingestion_jobs_ended USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX ingestion_jobs_ended_tenant_id_connector_id_job_id_idx ON public.ingestion_jobs_ended USING btree (tenant_id, connector_id, job_id) WHERE (connector_id IS NOT NULL);

CREATE INDEX ingestion_jobs_ended_tenant_id_idx ON public.ingestion_jobs_ended USING btree (tenant_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'failed'::text]));

CREATE INDEX ingestion_jobs_ended_tenant_id_job_id_idx ON public.ingestion_jobs_ended USING btree (tenant_id, job_id) WHERE (status = 'dead_letter'::text);

CREATE INDEX ingestion_jobs_ended_tenant_id_requeued_from_idx ON public.ingestion_jobs_ended USING btree (tenant_id, requeued_from) WHERE (requeued_from IS NOT NULL);

CREATE INDEX ingestion_jobs_ended_tenant_id_subject_id_job_id_idx ON public.ingestion_jobs_ended USING btree (tenant_id, subject_id, job_id) WHERE (pipeline = 'knowledge'::text);

CREATE INDEX item_images_by_file ON public.item_images USING btree (tenant_id, file_id);

CREATE INDEX item_jobs_by_user ON public.item_jobs USING btree (tenant_id, user_id, job_id);

CREATE INDEX item_jobs_ingesting ON public.item_jobs USING btree (ingesting_by) WHERE (ingesting_by IS NOT NULL);

CREATE INDEX job_items_by_attempts ON public.job_items USING btree (tenant_id, job_id, status, attempts, id) WHERE (attempts > 1);

CREATE INDEX job_items_by_reason ON public.job_items USING btree (tenant_id, job_id, error_code, id) WHERE ((status = ANY (ARRAY['ERROR'::text, 'NOT_FOUND'::text])) AND (error_code IS NOT NULL));

CREATE INDEX job_items_claimable ON public.job_items USING btree (tenant_id, job_id, due_at, id) WHERE (status = 'PENDING'::text);

CREATE INDEX job_items_crashed ON public.job_items USING btree (tenant_id, job_id, id) WHERE ((status = 'PENDING'::text) AND (crashes > 0));

CREATE INDEX job_items_failed ON public.job_items USING btree (tenant_id, job_id, id) WHERE (status = ANY (ARRAY['ERROR'::text, 'NOT_FOUND'::text, 'SKIPPED'::text]));

CREATE INDEX job_items_failed_by_time ON public.job_items USING btree (tenant_id, job_id, status, updated_at, id) WHERE (status = ANY (ARRAY['ERROR'::text, 'NOT_FOUND'::text, 'SKIPPED'::text]));

CREATE INDEX job_items_locked ON public.job_items USING btree (tenant_id, job_id, lock_expires_at) WHERE (status = 'PROCESSING'::text);

CREATE INDEX job_items_open ON public.job_items USING btree (tenant_id, updated_at, id) WHERE (status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text]));

CREATE INDEX job_items_open_by_job ON public.job_items USING btree (tenant_id, job_id, updated_at, id) WHERE (status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text]));

CREATE INDEX job_items_open_by_user ON public.job_items USING btree (tenant_id, user_id, updated_at, id) WHERE (status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text]));

CREATE INDEX knowledge_bases_removed ON public.knowledge_bases USING btree (removed_at) WHERE (removed_at IS NOT NULL);

CREATE INDEX knowledge_documents_limited ON public.knowledge_documents USING btree (tenant_id, kb_id, generation) WHERE (allow IS NOT NULL);

CREATE INDEX knowledge_documents_metadata ON public.knowledge_documents USING gin (metadata jsonb_path_ops);

CREATE INDEX knowledge_documents_touched ON public.knowledge_documents USING btree (tenant_id, kb_id, document_id) WHERE (previous IS NOT NULL);

CREATE UNIQUE INDEX knowledge_generations_building ON public.knowledge_generations USING btree (tenant_id, kb_id) WHERE (state = 'building'::text);

CREATE UNIQUE INDEX knowledge_generations_serving ON public.knowledge_generations USING btree (tenant_id, kb_id) WHERE (state = 'serving'::text);

CREATE INDEX knowledge_links_of_chunk ON public.knowledge_links USING btree (tenant_id, chunk_id);

CREATE UNIQUE INDEX knowledge_sources_files ON public.knowledge_sources USING btree (tenant_id, kb_id) WHERE (type = 'files'::text);

CREATE INDEX login_links_by_hash ON public.login_links USING btree (code_hash);

CREATE INDEX metric_breakdowns_by_date ON public.metric_breakdowns USING btree (tenant_id, workspace_id, date_from, breakdown_id);

CREATE INDEX metric_breakdowns_of_ad ON public.metric_breakdowns USING btree (tenant_id, ad_id);

CREATE INDEX metric_breakdowns_of_ad_set ON public.metric_breakdowns USING btree (tenant_id, ad_set_id);

CREATE INDEX metric_breakdowns_of_campaign ON public.metric_breakdowns USING btree (tenant_id, campaign_id);

CREATE INDEX period_metrics_by_date ON public.period_metrics USING btree (tenant_id, workspace_id, date_from, metric_id);

CREATE INDEX period_metrics_of_ad ON public.period_metrics USING btree (tenant_id, ad_id);

CREATE INDEX period_metrics_of_ad_set ON public.period_metrics USING btree (tenant_id, ad_set_id);

CREATE INDEX period_metrics_of_campaign ON public.period_metrics USING btree (tenant_id, campaign_id);

CREATE INDEX ix_scrape_references_source ON public.scrape_references USING btree (tenant_id, source, reference_id);

CREATE INDEX ix_scrape_references_url ON public.scrape_references USING btree (tenant_id, url_key, reference_id);

CREATE INDEX ix_scrape_runs_finished ON public.scrape_runs USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX ix_scrape_runs_open ON public.scrape_runs USING btree (updated_at) WHERE (status = 'running'::text);

CREATE INDEX ix_scrape_runs_source ON public.scrape_runs USING btree (tenant_id, source, scrape_run_id);

CREATE INDEX ix_scrape_sources_due ON public.scrape_sources USING btree (next_crawl_at) WHERE (next_crawl_at IS NOT NULL);

CREATE INDEX ix_scrape_sources_kb ON public.scrape_sources USING btree (tenant_id, kb_id, source);

CREATE INDEX sessions_by_hash ON public.sessions USING btree (session_hash);

CREATE INDEX sessions_by_user ON public.sessions USING btree (tenant_id, user_id);

CREATE INDEX staging_repeats_of_head ON public.staging_repeats USING btree (tenant_id, upload_id, head_row);

CREATE INDEX staging_rows_age ON public.staging_rows USING brin (created_at);

CREATE INDEX staging_rows_refused ON public.staging_rows USING btree (tenant_id, upload_id, row_index) WHERE ((validation_status = 'invalid'::text) OR (promotion_error IS NOT NULL));

CREATE INDEX ix_tenant_queue_limited ON public.tenant_queue USING btree (tenant_id) WHERE is_limited;

CREATE INDEX ix_tenant_queue_turns ON public.tenant_queue USING btree (pipeline, pass, tenant_id) WHERE is_due;

CREATE INDEX ix_tenant_queue_waiting ON public.tenant_queue USING btree (next_due) WHERE ((NOT is_due) AND (next_due < 'infinity'::timestamp with time zone));

CREATE INDEX ix_tenant_queue_marks ON public.tenant_queue_marks USING btree (tenant_id, pipeline);

CREATE INDEX ix_upload_sources_due ON public.upload_sources USING btree (next_pull_at) WHERE enabled;

CREATE UNIQUE INDEX ux_upload_sources_name ON public.upload_sources USING btree (tenant_id, name);

CREATE INDEX ix_webhook_deliveries_endpoint ON public.webhook_deliveries USING btree (tenant_id, webhook_id, delivery_id);

CREATE INDEX ix_webhook_deliveries_finished ON public.webhook_deliveries USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX ix_webhook_deliveries_lane ON public.webhook_deliveries USING btree (tenant_id, webhook_id, lane, event_xid, event_id) WHERE (status = 'pending'::text);

CREATE INDEX ix_webhook_deliveries_owed ON public.webhook_deliveries USING btree (tenant_id, event_id) WHERE (status = 'pending'::text);

CREATE INDEX ix_webhook_deliveries_status ON public.webhook_deliveries USING btree (tenant_id, webhook_id, status, delivery_id);

CREATE INDEX ix_webhook_lanes_due ON public.webhook_lanes USING btree (tenant_id, webhook_id, due_at);

CREATE INDEX ix_webhook_lanes_leased ON public.webhook_lanes USING btree (tenant_id, webhook_id) WHERE (token IS NOT NULL);

-- Triggers

CREATE TRIGGER ad_sets_keys_stay BEFORE UPDATE OF tenant_id, ad_set_id ON public.ad_sets FOR EACH ROW EXECUTE FUNCTION public.keys_stay();

CREATE TRIGGER ad_sets_stay AFTER DELETE ON public.ad_sets REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.parents_of_facts_stay();

CREATE TRIGGER ads_keys_stay BEFORE UPDATE OF tenant_id, ad_id ON public.ads FOR EACH ROW EXECUTE FUNCTION public.keys_stay();

CREATE TRIGGER ads_stay AFTER DELETE ON public.ads REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.parents_of_facts_stay();

CREATE TRIGGER api_keys_have_a_user BEFORE INSERT ON public.api_keys FOR EACH ROW EXECUTE FUNCTION public.api_key_user();

CREATE TRIGGER campaigns_keys_stay BEFORE UPDATE OF tenant_id, campaign_id ON public.campaigns FOR EACH ROW EXECUTE FUNCTION public.keys_stay();

CREATE TRIGGER campaigns_stay AFTER DELETE ON public.campaigns REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.parents_of_facts_stay();

CREATE TRIGGER crawl_frontier_added AFTER INSERT ON public.crawl_frontier REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.copy_frontier_to_old();

CREATE TRIGGER crawl_frontier_gone AFTER DELETE ON public.crawl_frontier REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.delete_frontier_copies();

CREATE TRIGGER crawl_frontier_visited AFTER UPDATE ON public.crawl_frontier REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.copy_frontier_to_old();

CREATE TRIGGER daily_metrics_keys_stay BEFORE UPDATE OF tenant_id, campaign_id, ad_set_id, ad_id ON public.daily_metrics FOR EACH ROW EXECUTE FUNCTION public.keys_stay();

CREATE TRIGGER daily_metrics_parents AFTER INSERT ON public.daily_metrics REFERENCING NEW TABLE AS new_facts FOR EACH STATEMENT EXECUTE FUNCTION public.facts_have_parents();

CREATE TRIGGER count_added_words AFTER INSERT ON public.embeddings_index REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_added_words();

CREATE TRIGGER count_deleted_words AFTER DELETE ON public.embeddings_index REFERENCING OLD TABLE AS changed FOR EACH STATEMENT WHEN ((CURRENT_USER <> 'sluice_kernel'::name)) EXECUTE FUNCTION public.count_deleted_words();

CREATE TRIGGER set_passage_words BEFORE INSERT ON public.embeddings_index FOR EACH ROW EXECUTE FUNCTION public.set_passage_words();

CREATE TRIGGER trg_record_moved_ingestion_handoff AFTER UPDATE OF status ON public.ingestion_handoffs FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.record_ingestion_handoff_event();

CREATE TRIGGER trg_record_new_ingestion_handoff AFTER INSERT ON public.ingestion_handoffs FOR EACH ROW EXECUTE FUNCTION public.record_ingestion_handoff_event();

CREATE TRIGGER trg_update_ingestion_handoff_timestamp BEFORE UPDATE ON public.ingestion_handoffs FOR EACH ROW EXECUTE FUNCTION public.update_ingestion_handoff_timestamp();

CREATE TRIGGER knowledge_counters_add_up BEFORE INSERT OR UPDATE OF status ON public.ingestion_jobs FOR EACH ROW WHEN (((new.pipeline = 'knowledge'::text) AND (new.status = 'success'::text))) EXECUTE FUNCTION public.knowledge_counters_add_up();

CREATE TRIGGER trg_follow_ingestion_job AFTER UPDATE OF status, cleanup_open ON public.ingestion_jobs FOR EACH ROW WHEN (((new.pipeline = 'knowledge'::text) AND ((old.status IS DISTINCT FROM new.status) OR (old.cleanup_open IS DISTINCT FROM new.cleanup_open)))) EXECUTE FUNCTION public.follow_ingestion_job();

CREATE TRIGGER trg_follow_requeued_ingestion_job AFTER INSERT ON public.ingestion_jobs FOR EACH ROW WHEN (((new.pipeline = 'knowledge'::text) AND (new.requeued_from IS NOT NULL))) EXECUTE FUNCTION public.follow_ingestion_job();

CREATE TRIGGER trg_note_moved_job AFTER UPDATE ON public.ingestion_jobs FOR EACH ROW WHEN (((new.leased_by IS NULL) AND (new.run_at < 'infinity'::timestamp with time zone) AND ((new.status = ANY (ARRAY['queued'::text, 'running'::text, 'failed'::text])) OR new.cleanup_open) AND ((old.leased_by IS NOT NULL) OR (old.run_at IS DISTINCT FROM new.run_at) OR (old.status IS DISTINCT FROM new.status) OR (old.cleanup_open IS DISTINCT FROM new.cleanup_open) OR (old.struck_by IS DISTINCT FROM new.struck_by)))) EXECUTE FUNCTION public.note_moved_job();

CREATE TRIGGER trg_note_new_jobs AFTER INSERT ON public.ingestion_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION public.note_new_jobs();

CREATE TRIGGER trg_note_room_of_job AFTER UPDATE ON public.ingestion_jobs FOR EACH ROW WHEN ((((old.leased_by IS NOT NULL) AND (new.leased_by IS NULL)) OR ((old.status IS DISTINCT FROM new.status) AND (new.status <> ALL (ARRAY['queued'::text, 'running'::text]))))) EXECUTE FUNCTION public.note_room_of_job();

CREATE TRIGGER item_images_gone AFTER DELETE ON public.item_images REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.images_take_their_files();

CREATE TRIGGER item_jobs_gone AFTER DELETE ON public.item_jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.items_go_with_their_job();

CREATE TRIGGER job_items_job AFTER INSERT ON public.job_items REFERENCING NEW TABLE AS new_items FOR EACH STATEMENT EXECUTE FUNCTION public.items_have_a_job();

CREATE TRIGGER label_document BEFORE INSERT OR UPDATE OF own_metadata, own_allow ON public.knowledge_documents FOR EACH ROW EXECUTE FUNCTION public.label_document();

CREATE TRIGGER limit_changed_file AFTER UPDATE OF own_metadata, own_allow ON public.knowledge_documents FOR EACH ROW WHEN ((new.allow IS DISTINCT FROM old.allow)) EXECUTE FUNCTION public.limit_document_file();

CREATE TRIGGER limit_new_file AFTER INSERT ON public.knowledge_documents FOR EACH ROW WHEN ((new.allow IS NOT NULL)) EXECUTE FUNCTION public.limit_document_file();

CREATE TRIGGER knowledge_frontier_added AFTER INSERT ON public.knowledge_frontier REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.copy_frontier_to_new();

CREATE TRIGGER knowledge_frontier_gone AFTER DELETE ON public.knowledge_frontier REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.delete_frontier_copies();

CREATE TRIGGER knowledge_frontier_visited AFTER UPDATE ON public.knowledge_frontier REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.copy_frontier_to_new();

CREATE TRIGGER metric_breakdowns_keys_stay BEFORE UPDATE OF tenant_id, campaign_id, ad_set_id, ad_id ON public.metric_breakdowns FOR EACH ROW EXECUTE FUNCTION public.keys_stay();

CREATE TRIGGER metric_breakdowns_parents AFTER INSERT ON public.metric_breakdowns REFERENCING NEW TABLE AS new_facts FOR EACH STATEMENT EXECUTE FUNCTION public.facts_have_parents();

CREATE TRIGGER period_metrics_keys_stay BEFORE UPDATE OF tenant_id, campaign_id, ad_set_id, ad_id ON public.period_metrics FOR EACH ROW EXECUTE FUNCTION public.keys_stay();

CREATE TRIGGER period_metrics_parents AFTER INSERT ON public.period_metrics REFERENCING NEW TABLE AS new_facts FOR EACH STATEMENT EXECUTE FUNCTION public.facts_have_parents();

CREATE TRIGGER scrape_frontier_added AFTER INSERT ON public.scrape_frontier REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.copy_frontier_to_new();

CREATE TRIGGER scrape_frontier_gone AFTER DELETE ON public.scrape_frontier REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.delete_frontier_copies();

CREATE TRIGGER scrape_frontier_visited AFTER UPDATE ON public.scrape_frontier REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.copy_frontier_to_new();

CREATE TRIGGER trg_note_room_of_tenant AFTER UPDATE OF limits ON public.tenants FOR EACH ROW WHEN ((old.limits IS DISTINCT FROM new.limits)) EXECUTE FUNCTION public.note_room_of_job();

-- Row-level security

alter table public.ad_sets enable row level security;

alter table public.ad_sets force row level security;

alter table public.adapter_files enable row level security;

alter table public.adapter_files force row level security;

alter table public.adapters enable row level security;

alter table public.adapters force row level security;

alter table public.ads enable row level security;

alter table public.ads force row level security;

alter table public.airbyte_servers enable row level security;

alter table public.airbyte_servers force row level security;

alter table public.api_keys enable row level security;

alter table public.api_keys force row level security;

alter table public.bi_logins enable row level security;

alter table public.bi_logins force row level security;

alter table public.campaigns enable row level security;

alter table public.campaigns force row level security;

alter table public.catalog_products enable row level security;

alter table public.catalog_products force row level security;

alter table public.catalog_versions enable row level security;

alter table public.catalog_versions force row level security;

alter table public.catalogs enable row level security;

alter table public.catalogs force row level security;

alter table public.circuit_breakers enable row level security;

alter table public.circuit_breakers force row level security;

alter table public.connectors enable row level security;

alter table public.connectors force row level security;

alter table public.crawl_frontier enable row level security;

alter table public.crawl_frontier force row level security;

alter table public.daily_metrics enable row level security;

alter table public.daily_metrics force row level security;

alter table public.data_uploads enable row level security;

alter table public.data_uploads force row level security;

alter table public.dropped_files enable row level security;

alter table public.dropped_files force row level security;

alter table public.embeddings_index enable row level security;

alter table public.embeddings_index force row level security;

alter table public.events enable row level security;

alter table public.events force row level security;

alter table public.files enable row level security;

alter table public.files force row level security;

alter table public.idempotency_keys enable row level security;

alter table public.idempotency_keys force row level security;

alter table public.ingestion_handoffs enable row level security;

alter table public.ingestion_handoffs force row level security;

alter table public.ingestion_jobs enable row level security;

alter table public.ingestion_jobs force row level security;

alter table public.ingestion_jobs_ended enable row level security;

alter table public.ingestion_jobs_ended force row level security;

alter table public.item_corrections enable row level security;

alter table public.item_corrections force row level security;

alter table public.item_images enable row level security;

alter table public.item_images force row level security;

alter table public.item_jobs enable row level security;

alter table public.item_jobs force row level security;

alter table public.item_providers enable row level security;

alter table public.item_providers force row level security;

alter table public.item_templates enable row level security;

alter table public.item_templates force row level security;

alter table public.job_items enable row level security;

alter table public.job_items force row level security;

alter table public.knowledge_bases enable row level security;

alter table public.knowledge_bases force row level security;

alter table public.knowledge_documents enable row level security;

alter table public.knowledge_documents force row level security;

alter table public.knowledge_evaluations enable row level security;

alter table public.knowledge_evaluations force row level security;

alter table public.knowledge_files enable row level security;

alter table public.knowledge_files force row level security;

alter table public.knowledge_frontier enable row level security;

alter table public.knowledge_frontier force row level security;

alter table public.knowledge_generations enable row level security;

alter table public.knowledge_generations force row level security;

alter table public.knowledge_labels enable row level security;

alter table public.knowledge_labels force row level security;

alter table public.knowledge_links enable row level security;

alter table public.knowledge_links force row level security;

alter table public.knowledge_sources enable row level security;

alter table public.knowledge_sources force row level security;

alter table public.knowledge_word_changes enable row level security;

alter table public.knowledge_word_changes force row level security;

alter table public.knowledge_words enable row level security;

alter table public.knowledge_words force row level security;

alter table public.login_links enable row level security;

alter table public.login_links force row level security;

alter table public.metric_breakdowns enable row level security;

alter table public.metric_breakdowns force row level security;

alter table public.own_slots enable row level security;

alter table public.own_slots force row level security;

alter table public.period_metrics enable row level security;

alter table public.period_metrics force row level security;

alter table public.scrape_frontier enable row level security;

alter table public.scrape_frontier force row level security;

alter table public.scrape_references enable row level security;

alter table public.scrape_references force row level security;

alter table public.scrape_runs enable row level security;

alter table public.scrape_runs force row level security;

alter table public.scrape_sources enable row level security;

alter table public.scrape_sources force row level security;

alter table public.search_events enable row level security;

alter table public.search_events force row level security;

alter table public.sessions enable row level security;

alter table public.sessions force row level security;

alter table public.staging_id_resolution enable row level security;

alter table public.staging_id_resolution force row level security;

alter table public.staging_repeats enable row level security;

alter table public.staging_repeats force row level security;

alter table public.staging_rows enable row level security;

alter table public.staging_rows force row level security;

alter table public.tenant_queue enable row level security;

alter table public.tenant_queue force row level security;

alter table public.tenant_queue_marks enable row level security;

alter table public.tenant_queue_marks force row level security;

alter table public.tenant_secrets enable row level security;

alter table public.tenant_secrets force row level security;

alter table public.tenants enable row level security;

alter table public.tenants force row level security;

alter table public.upload_corrections enable row level security;

alter table public.upload_corrections force row level security;

alter table public.upload_mappings enable row level security;

alter table public.upload_mappings force row level security;

alter table public.upload_platforms enable row level security;

alter table public.upload_platforms force row level security;

alter table public.upload_slots enable row level security;

alter table public.upload_slots force row level security;

alter table public.upload_source_contents enable row level security;

alter table public.upload_source_contents force row level security;

alter table public.upload_sources enable row level security;

alter table public.upload_sources force row level security;

alter table public.users enable row level security;

alter table public.users force row level security;

alter table public.webhook_cursors enable row level security;

alter table public.webhook_cursors force row level security;

alter table public.webhook_deliveries enable row level security;

alter table public.webhook_deliveries force row level security;

alter table public.webhook_endpoints enable row level security;

alter table public.webhook_endpoints force row level security;

alter table public.webhook_lanes enable row level security;

alter table public.webhook_lanes force row level security;

alter table public.workspaces enable row level security;

alter table public.workspaces force row level security;

-- Policies

create policy kernel_rows on public.ad_sets for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.ad_sets for select to current_user using (true);

create policy tenant_rows on public.ad_sets for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.adapter_files for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.adapter_files for select to current_user using (true);

create policy tenant_rows on public.adapter_files for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.adapters for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.adapters for select to current_user using (true);

create policy tenant_rows on public.adapters for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.ads for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.ads for select to current_user using (true);

create policy tenant_rows on public.ads for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.airbyte_servers for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.airbyte_servers for select to current_user using (true);

create policy tenant_rows on public.airbyte_servers for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.api_keys for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.api_keys for select to current_user using (true);

create policy tenant_rows on public.api_keys for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.bi_logins for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.bi_logins for select to current_user using (true);

create policy tenant_rows on public.bi_logins for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.campaigns for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.campaigns for select to current_user using (true);

create policy tenant_rows on public.campaigns for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.catalog_products for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.catalog_products for select to current_user using (true);

create policy tenant_rows on public.catalog_products for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.catalog_versions for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.catalog_versions for select to current_user using (true);

create policy tenant_rows on public.catalog_versions for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.catalogs for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.catalogs for select to current_user using (true);

create policy tenant_rows on public.catalogs for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.circuit_breakers for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.circuit_breakers for select to current_user using (true);

create policy tenant_rows on public.circuit_breakers for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.connectors for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.connectors for select to current_user using (true);

create policy tenant_rows on public.connectors for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.crawl_frontier for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.crawl_frontier for select to current_user using (true);

create policy tenant_rows on public.crawl_frontier for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.daily_metrics for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.daily_metrics for select to current_user using (true);

create policy tenant_rows on public.daily_metrics for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.data_uploads for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.data_uploads for select to current_user using (true);

create policy tenant_rows on public.data_uploads for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.dropped_files for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.dropped_files for select to current_user using (true);

create policy tenant_rows on public.dropped_files for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.embeddings_index for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.embeddings_index for select to current_user using (true);

create policy tenant_rows on public.embeddings_index for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy erasure_only on public.events as restrictive for delete to public using (((tenant_id = ( SELECT NULLIF(current_setting('app.erased_tenant'::text, true), ''::text) AS "nullif")) OR (NOT (EXISTS ( SELECT
   FROM public.tenants t
  WHERE (t.tenant_id = events.tenant_id))))));

create policy kernel_rows on public.events for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.events for select to current_user using (true);

create policy tenant_rows on public.events for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.files for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.files for select to current_user using (true);

create policy tenant_rows on public.files for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.idempotency_keys for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.idempotency_keys for select to current_user using (true);

create policy tenant_rows on public.idempotency_keys for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.ingestion_handoffs for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.ingestion_handoffs for select to current_user using (true);

create policy tenant_rows on public.ingestion_handoffs for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.ingestion_jobs for all to sluice_kernel using (true) with check (true);

create policy no_erasure_by_ctid on public.ingestion_jobs as restrictive for delete to sluice_kernel using (( SELECT (current_query() !~ '^\s*delete from "ingestion_jobs"\s+where ctid'::text)));

create policy owner_rows on public.ingestion_jobs for select to current_user using (true);

create policy tenant_rows on public.ingestion_jobs for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.ingestion_jobs_ended for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.ingestion_jobs_ended for select to current_user using (true);

create policy tenant_rows on public.ingestion_jobs_ended for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.item_corrections for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.item_corrections for select to current_user using (true);

create policy tenant_rows on public.item_corrections for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.item_images for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.item_images for select to current_user using (true);

create policy tenant_rows on public.item_images for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.item_jobs for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.item_jobs for select to current_user using (true);

create policy tenant_rows on public.item_jobs for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.item_providers for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.item_providers for select to current_user using (true);

create policy tenant_rows on public.item_providers for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.item_templates for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.item_templates for select to current_user using (true);

create policy tenant_rows on public.item_templates for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.job_items for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.job_items for select to current_user using (true);

create policy tenant_rows on public.job_items for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_bases for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_bases for select to current_user using (true);

create policy tenant_rows on public.knowledge_bases for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy allowed_rows on public.knowledge_documents as restrictive for select to sluice_tenant using (((allow IS NULL) OR (( SELECT public.current_groups() AS current_groups) IS NULL) OR (allow && ( SELECT public.current_groups() AS current_groups))));

create policy kernel_rows on public.knowledge_documents for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_documents for select to current_user using (true);

create policy tenant_rows on public.knowledge_documents for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_evaluations for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_evaluations for select to current_user using (true);

create policy tenant_rows on public.knowledge_evaluations for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy allowed_rows on public.knowledge_files as restrictive for select to sluice_tenant using (((allow IS NULL) OR (( SELECT public.current_groups() AS current_groups) IS NULL) OR (allow && ( SELECT public.current_groups() AS current_groups))));

create policy kernel_rows on public.knowledge_files for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_files for select to current_user using (true);

create policy tenant_rows on public.knowledge_files for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_frontier for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_frontier for select to current_user using (true);

create policy tenant_rows on public.knowledge_frontier for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_generations for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_generations for select to current_user using (true);

create policy tenant_rows on public.knowledge_generations for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_labels for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_labels for select to current_user using (true);

create policy tenant_rows on public.knowledge_labels for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_links for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_links for select to current_user using (true);

create policy tenant_rows on public.knowledge_links for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_sources for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_sources for select to current_user using (true);

create policy tenant_rows on public.knowledge_sources for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_word_changes for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_word_changes for select to current_user using (true);

create policy tenant_rows on public.knowledge_word_changes for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.knowledge_words for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.knowledge_words for select to current_user using (true);

create policy tenant_rows on public.knowledge_words for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.login_links for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.login_links for select to current_user using (true);

create policy tenant_rows on public.login_links for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.metric_breakdowns for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.metric_breakdowns for select to current_user using (true);

create policy tenant_rows on public.metric_breakdowns for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.own_slots for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.own_slots for select to current_user using (true);

create policy tenant_rows on public.own_slots for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.period_metrics for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.period_metrics for select to current_user using (true);

create policy tenant_rows on public.period_metrics for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.scrape_frontier for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.scrape_frontier for select to current_user using (true);

create policy tenant_rows on public.scrape_frontier for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.scrape_references for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.scrape_references for select to current_user using (true);

create policy tenant_rows on public.scrape_references for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.scrape_runs for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.scrape_runs for select to current_user using (true);

create policy tenant_rows on public.scrape_runs for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.scrape_sources for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.scrape_sources for select to current_user using (true);

create policy tenant_rows on public.scrape_sources for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.search_events for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.search_events for select to current_user using (true);

create policy tenant_rows on public.search_events for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.sessions for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.sessions for select to current_user using (true);

create policy tenant_rows on public.sessions for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.staging_id_resolution for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.staging_id_resolution for select to current_user using (true);

create policy tenant_rows on public.staging_id_resolution for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.staging_repeats for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.staging_repeats for select to current_user using (true);

create policy tenant_rows on public.staging_repeats for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.staging_rows for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.staging_rows for select to current_user using (true);

create policy tenant_rows on public.staging_rows for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.tenant_queue for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.tenant_queue for select to current_user using (true);

create policy tenant_rows on public.tenant_queue for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.tenant_queue_marks for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.tenant_queue_marks for select to current_user using (true);

create policy tenant_rows on public.tenant_queue_marks for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.tenant_secrets for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.tenant_secrets for select to current_user using (true);

create policy tenant_rows on public.tenant_secrets for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.tenants for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.tenants for select to current_user using (true);

create policy tenant_rows on public.tenants for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.upload_corrections for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.upload_corrections for select to current_user using (true);

create policy tenant_rows on public.upload_corrections for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.upload_mappings for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.upload_mappings for select to current_user using (true);

create policy tenant_rows on public.upload_mappings for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.upload_platforms for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.upload_platforms for select to current_user using (true);

create policy tenant_rows on public.upload_platforms for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.upload_slots for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.upload_slots for select to current_user using (true);

create policy tenant_rows on public.upload_slots for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.upload_source_contents for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.upload_source_contents for select to current_user using (true);

create policy tenant_rows on public.upload_source_contents for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.upload_sources for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.upload_sources for select to current_user using (true);

create policy tenant_rows on public.upload_sources for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.users for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.users for select to current_user using (true);

create policy tenant_rows on public.users for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.webhook_cursors for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.webhook_cursors for select to current_user using (true);

create policy tenant_rows on public.webhook_cursors for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.webhook_deliveries for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.webhook_deliveries for select to current_user using (true);

create policy tenant_rows on public.webhook_deliveries for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.webhook_endpoints for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.webhook_endpoints for select to current_user using (true);

create policy tenant_rows on public.webhook_endpoints for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.webhook_lanes for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.webhook_lanes for select to current_user using (true);

create policy tenant_rows on public.webhook_lanes for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

create policy kernel_rows on public.workspaces for all to sluice_kernel using (true) with check (true);

create policy owner_rows on public.workspaces for select to current_user using (true);

create policy tenant_rows on public.workspaces for all to public using ((tenant_id = ( SELECT public.current_tenant() AS current_tenant))) with check ((tenant_id = ( SELECT public.current_tenant() AS current_tenant)));

-- Grants on tables and sequences

grant select on public.ad_sets to sluice_kernel;

grant delete, insert, select, update on public.ad_sets to sluice_promote;

grant select on public.ad_sets to sluice_tenant;

grant select on public.adapter_files to sluice_kernel;

grant delete, insert, select, update on public.adapter_files to sluice_tenant;

grant select on public.adapters to sluice_kernel;

grant delete, insert, select, update on public.adapters to sluice_tenant;

grant select on public.ads to sluice_kernel;

grant delete, insert, select, update on public.ads to sluice_promote;

grant select on public.ads to sluice_tenant;

grant delete, select on public.airbyte_servers to sluice_kernel;

grant delete, insert, select, update on public.airbyte_servers to sluice_tenant;

grant select, update on public.api_keys to sluice_kernel;

grant insert, select, update on public.api_keys to sluice_tenant;

grant select on public.bi_logins to sluice_kernel;

grant select on public.campaigns to sluice_kernel;

grant delete, insert, select, update on public.campaigns to sluice_promote;

grant select on public.campaigns to sluice_tenant;

grant delete, select on public.catalog_products to sluice_kernel;

grant insert, select on public.catalog_products to sluice_tenant;

grant delete, select, update on public.catalog_versions to sluice_kernel;

grant insert, select, update on public.catalog_versions to sluice_tenant;

grant select on public.catalogs to sluice_kernel;

grant delete, insert, select, update on public.catalogs to sluice_tenant;

grant delete, insert, select, update on public.circuit_breakers to sluice_kernel;

grant select on public.connectors to sluice_kernel;

grant delete, insert, select, update on public.connectors to sluice_tenant;

grant delete, select on public.crawl_frontier to sluice_kernel;

grant delete, insert, select, update on public.crawl_frontier to sluice_tenant;

grant delete, select on public.daily_metrics to sluice_kernel;

grant delete, insert, select, update on public.daily_metrics to sluice_promote;

grant select on public.daily_metrics to sluice_tenant;

grant select on public.data_uploads to sluice_cleanup;

grant insert, select on public.data_uploads to sluice_intake;

grant delete, select on public.data_uploads to sluice_kernel;

grant select on public.data_uploads to sluice_parse;

grant select on public.data_uploads to sluice_promote;

grant select on public.data_uploads to sluice_tenant;

grant insert, select, update on public.dependency_rate_limits to sluice_kernel;

grant insert, select on public.dropped_files to sluice_intake;

grant select on public.dropped_files to sluice_kernel;

grant delete, select on public.embeddings_index to sluice_kernel;

grant delete, insert, select, update on public.embeddings_index to sluice_tenant;

grant select on public.ended_job_tables to sluice_kernel;

grant delete, insert, select on public.erased_tenants to sluice_kernel;

grant select on public.event_eras to sluice_kernel;

grant usage on sequence public.event_ids to sluice_kernel;

grant usage on sequence public.event_ids to sluice_tenant;

grant select on public.event_partitions to sluice_kernel;

grant delete, insert, select on public.events to sluice_kernel;

grant insert, select on public.events to sluice_tenant;

grant delete, select on public.files to sluice_kernel;

grant delete, insert, select on public.files to sluice_tenant;

grant delete, select, update on public.idempotency_keys to sluice_kernel;

grant delete, insert, select, update on public.idempotency_keys to sluice_tenant;

grant delete, select, update on public.ingestion_handoffs to sluice_kernel;

grant delete, insert, select, update on public.ingestion_handoffs to sluice_tenant;

grant delete, insert, select, update on public.ingestion_jobs to sluice_kernel;

grant delete, insert, select, update on public.ingestion_jobs to sluice_tenant;

grant delete, insert, select, update on public.ingestion_jobs_ended to sluice_kernel;

grant delete, insert, select, update on public.ingestion_jobs_ended to sluice_tenant;

grant select on public.item_corrections to sluice_kernel;

grant insert, select on public.item_corrections to sluice_tenant;

grant delete, select on public.item_images to sluice_kernel;

grant delete, insert, select on public.item_images to sluice_tenant;

grant delete, select on public.item_jobs to sluice_kernel;

grant insert, select, update on public.item_jobs to sluice_tenant;

grant select on public.item_providers to sluice_kernel;

grant insert, select, update on public.item_providers to sluice_tenant;

grant delete, select on public.item_templates to sluice_kernel;

grant delete, insert, select, update on public.item_templates to sluice_tenant;

grant delete, select, update on public.job_items to sluice_kernel;

grant insert, select, update on public.job_items to sluice_tenant;

grant select on public.knowledge_bases to sluice_kernel;

grant delete, insert, select, update on public.knowledge_bases to sluice_tenant;

grant delete, select on public.knowledge_documents to sluice_kernel;

grant delete, insert, select, update on public.knowledge_documents to sluice_tenant;

grant delete, select on public.knowledge_evaluations to sluice_kernel;

grant delete, insert, select on public.knowledge_evaluations to sluice_tenant;

grant select on public.knowledge_files to sluice_kernel;

grant delete, insert, select, update on public.knowledge_files to sluice_tenant;

grant delete, select on public.knowledge_frontier to sluice_kernel;

grant delete, insert, select, update on public.knowledge_frontier to sluice_tenant;

grant select on public.knowledge_generations to sluice_kernel;

grant delete, insert, select, update on public.knowledge_generations to sluice_tenant;

grant delete, select on public.knowledge_labels to sluice_kernel;

grant delete, insert, select, update on public.knowledge_labels to sluice_tenant;

grant delete, select on public.knowledge_links to sluice_kernel;

grant delete, insert, select, update on public.knowledge_links to sluice_tenant;

grant select on public.knowledge_sources to sluice_kernel;

grant delete, insert, select, update on public.knowledge_sources to sluice_tenant;

grant delete, select on public.knowledge_word_changes to sluice_kernel;

grant delete, insert, select, update on public.knowledge_word_changes to sluice_tenant;

grant delete, select on public.knowledge_words to sluice_kernel;

grant delete, insert, select, update on public.knowledge_words to sluice_tenant;

grant delete, insert, select, update on public.login_links to sluice_kernel;

grant delete, select on public.metric_breakdowns to sluice_kernel;

grant delete, insert, select, update on public.metric_breakdowns to sluice_promote;

grant select on public.metric_breakdowns to sluice_tenant;

grant delete, insert, select, update on public.office_candidates to sluice_kernel;

grant insert, select, update on public.offices to sluice_kernel;

grant delete, insert, select, update on public.own_pipelines to sluice_kernel;

grant delete, select on public.own_slots to sluice_kernel;

grant delete, insert, select, update on public.own_slots to sluice_tenant;

grant delete, select on public.period_metrics to sluice_kernel;

grant delete, insert, select, update on public.period_metrics to sluice_promote;

grant select on public.period_metrics to sluice_tenant;

grant delete, insert, select, update on public.rate_limits to sluice_kernel;

grant select on public.schema_migrations to sluice_kernel;

grant delete, select on public.scrape_frontier to sluice_kernel;

grant delete, insert, select, update on public.scrape_frontier to sluice_tenant;

grant delete, select on public.scrape_references to sluice_kernel;

grant delete, insert, select, update on public.scrape_references to sluice_tenant;

grant delete, select, update on public.scrape_runs to sluice_kernel;

grant delete, insert, select, update on public.scrape_runs to sluice_tenant;

grant select on public.scrape_sources to sluice_kernel;

grant delete, insert, select, update on public.scrape_sources to sluice_tenant;

grant select on public.search_events to sluice_kernel;

grant insert, select on public.search_events to sluice_tenant;

grant delete, insert, select on public.sessions to sluice_kernel;

grant delete, select on public.sessions to sluice_tenant;

grant delete, select on public.staging_id_resolution to sluice_cleanup;

grant delete, select on public.staging_id_resolution to sluice_kernel;

grant delete, insert, select, update on public.staging_id_resolution to sluice_promote;

grant delete, select on public.staging_repeats to sluice_cleanup;

grant delete, select on public.staging_repeats to sluice_kernel;

grant insert, select, update on public.staging_repeats to sluice_parse;

grant select, update on public.staging_repeats to sluice_promote;

grant select on public.staging_repeats to sluice_tenant;

grant delete, select on public.staging_rows to sluice_cleanup;

grant delete, select on public.staging_rows to sluice_kernel;

grant insert, select on public.staging_rows to sluice_parse;

grant select on public.staging_rows to sluice_promote;

grant select on public.staging_rows to sluice_tenant;

grant delete, insert, select, update on public.tenant_queue to sluice_kernel;

grant select on public.tenant_queue to sluice_tenant;

grant delete, insert, select, update on public.tenant_queue_marks to sluice_kernel;

grant insert on public.tenant_queue_marks to sluice_tenant;

grant select on public.tenant_secrets to sluice_kernel;

grant delete, insert, select, update on public.tenant_secrets to sluice_tenant;

grant select on public.tenant_signing to sluice_kernel;

grant delete, insert, select, update on public.tenants to sluice_kernel;

grant select on public.tenants to sluice_tenant;

grant insert, select, update on public.upkeep_tasks to sluice_kernel;

grant delete, insert, select, update on public.upload_corrections to sluice_intake;

grant delete, select on public.upload_corrections to sluice_kernel;

grant select on public.upload_corrections to sluice_tenant;

grant select on public.upload_mappings to sluice_kernel;

grant delete, insert, select, update on public.upload_mappings to sluice_tenant;

grant delete, select on public.upload_platforms to sluice_kernel;

grant insert, select on public.upload_platforms to sluice_tenant;

grant select on public.upload_slots to sluice_kernel;

grant insert, select, update on public.upload_slots to sluice_tenant;

grant select on public.upload_source_contents to sluice_kernel;

grant delete, insert, select, update on public.upload_source_contents to sluice_tenant;

grant delete, select on public.upload_sources to sluice_kernel;

grant delete, insert, select, update on public.upload_sources to sluice_tenant;

grant delete, insert, select, update on public.users to sluice_kernel;

grant select, update on public.users to sluice_tenant;

grant select, update on public.webhook_cursors to sluice_kernel;

grant insert, select on public.webhook_cursors to sluice_tenant;

grant delete, insert, select, update on public.webhook_deliveries to sluice_kernel;

grant delete, insert, select, update on public.webhook_deliveries to sluice_tenant;

grant select, update on public.webhook_endpoints to sluice_kernel;

grant delete, insert, select, update on public.webhook_endpoints to sluice_tenant;

grant delete, insert, select, update on public.webhook_lanes to sluice_kernel;

grant delete, insert, select, update on public.webhook_lanes to sluice_tenant;

grant delete, insert, select, update on public.workers to sluice_kernel;

grant insert, select on public.workspaces to sluice_kernel;

grant delete, insert, select, update on public.workspaces to sluice_tenant;

-- Grants on columns

grant update (status, force_partial, review, mapping, mapping_version, failed_rows, error_code, error_text, updated_at, finished_at, undone_at, date_from, date_to, blockers) on public.data_uploads to sluice_intake;

grant update (status, review, total_rows, valid_rows, invalid_rows, failed_rows, warnings, layout, error_code, error_text, updated_at, finished_at, reconciliation, blockers) on public.data_uploads to sluice_parse;

grant update (status, row_count, promoted_rows, failed_rows, campaigns_upserted, ad_sets_upserted, ads_upserted, daily_metrics_upserted, affected_dates, warnings, error_code, error_text, event_emitted, updated_at, finished_at, undone_at, period_metrics_upserted, breakdowns_stored, reconciliation) on public.data_uploads to sluice_promote;

grant update (promotion_error) on public.staging_rows to sluice_parse;

grant update (promotion_error, promotion_warning) on public.staging_rows to sluice_promote;

grant update (pass) on public.tenants to sluice_kernel;

grant update (deleted_at) on public.upload_platforms to sluice_tenant;

-- Grants on functions

revoke execute on function public.add_event_partition() from public;

grant execute on function public.adopt_reference_documents(text,text,uuid,uuid[]) to public;

revoke execute on function public.analyze_entities() from public;
grant execute on function public.analyze_entities() to sluice_kernel;
grant execute on function public.analyze_entities() to sluice_tenant;

revoke execute on function public.analyze_items() from public;
grant execute on function public.analyze_items() to sluice_tenant;

revoke execute on function public.analyze_staging() from public;
grant execute on function public.analyze_staging() to sluice_kernel;
grant execute on function public.analyze_staging() to sluice_tenant;

grant execute on function public.api_key_user() to public;

grant execute on function public.claim_due_jobs(uuid,text[],integer,integer,integer,uuid[],text) to public;

grant execute on function public.claim_jobs(uuid,text[],integer,integer,integer,text,uuid,boolean) to public;

grant execute on function public.claim_one_job(uuid,integer,integer,text,uuid) to public;

grant execute on function public.copy_frontier_to_new() to public;

grant execute on function public.copy_frontier_to_old() to public;

grant execute on function public.count_added_words() to public;

grant execute on function public.count_deleted_words() to public;

grant execute on function public.count_leases(text,timestamp with time zone,integer) to public;

grant execute on function public.count_old_passages(text,text,integer,integer) to public;

grant execute on function public.count_provider_calls(text,text,uuid,integer,integer,double precision,jsonb) to public;

revoke execute on function public.count_running_syncs(text) from public;
grant execute on function public.count_running_syncs(text) to sluice_tenant;

grant execute on function public.current_groups() to public;

grant execute on function public.current_tenant() to public;

grant execute on function public.delete_frontier_copies() to public;

grant execute on function public.dispatch_job(text,uuid,text,text,uuid,text,timestamp with time zone,integer,text,jsonb,uuid,boolean,text,text,text,text,uuid,text,uuid,integer,integer) to public;

revoke execute on function public.drop_ended_jobs(text) from public;
grant execute on function public.drop_ended_jobs(text) to sluice_kernel;

revoke execute on function public.drop_event_partition(bigint) from public;
grant execute on function public.drop_event_partition(bigint) to sluice_kernel;

revoke execute on function public.ensure_event_era() from public;
grant execute on function public.ensure_event_era() to sluice_kernel;

revoke execute on function public.event_era(bigint) from public;
grant execute on function public.event_era(bigint) to sluice_kernel;
grant execute on function public.event_era(bigint) to sluice_tenant;

grant execute on function public.event_incarnation() to public;

revoke execute on function public.event_log_eras() from public;
grant execute on function public.event_log_eras() to sluice_kernel;
grant execute on function public.event_log_eras() to sluice_tenant;

revoke execute on function public.event_log_head(pg_snapshot) from public;
grant execute on function public.event_log_head(pg_snapshot) to sluice_kernel;
grant execute on function public.event_log_head(pg_snapshot) to sluice_tenant;

revoke execute on function public.event_low(bigint,xid8) from public;
grant execute on function public.event_low(bigint,xid8) to sluice_kernel;
grant execute on function public.event_low(bigint,xid8) to sluice_tenant;

grant execute on function public.explain_passages(text,text,integer,text,bigint[]) to public;

grant execute on function public.facts_have_parents() to public;

grant execute on function public.fence_job(uuid,text,uuid,bigint) to public;

grant execute on function public.find_handed_reference(text,text,uuid) to public;

grant execute on function public.find_reference_intake(text,text) to public;

grant execute on function public.find_struck_job(text[],integer,text) to public;

grant execute on function public.finish_unchanged_items(text,uuid,bigint[]) to public;

grant execute on function public.first_lanes(text[],integer,text) to public;

grant execute on function public.follow_ingestion_job() to public;

grant execute on function public.forward_retry(text,text,text) to public;

grant execute on function public.full_workspaces(text,integer) to public;

grant execute on function public.generation_word(text,text,integer) to public;

grant execute on function public.give_waiting_ingestion_handoff_its_job(text,uuid,integer) to public;

revoke execute on function public.guard_event_partition(text) from public;

revoke execute on function public.guard_tenant_table(regclass) from public;

grant execute on function public.hold_generation(text,text,integer) to public;

grant execute on function public.images_take_their_files() to public;

grant execute on function public.insert_items_at_once(text,uuid,text,text,jsonb,jsonb,text,text,text,jsonb,integer,text,text) to public;

grant execute on function public.insert_items_of_file(text,uuid,text,text,jsonb,jsonb,text,text,text,jsonb,integer,text,text,uuid,text,bigint,text) to public;

grant execute on function public.is_counted_word(text) to public;

grant execute on function public.items_go_with_their_job() to public;

grant execute on function public.items_have_a_job() to public;

grant execute on function public.keys_stay() to public;

grant execute on function public.knowledge_counters_add_up() to public;

grant execute on function public.label_document() to public;

grant execute on function public.lane_head(text,text,timestamp with time zone) to public;

grant execute on function public.lane_key(text,text) to public;

grant execute on function public.lease_jobs(uuid,integer,text,uuid[],text[]) to public;

grant execute on function public.length_of_words(tsvector) to public;

grant execute on function public.limit_document_file() to public;

grant execute on function public.lock_pure_items(text,uuid,integer) to public;

grant execute on function public.matched_words(text,text,integer,text,text[]) to public;

revoke execute on function public.matching_documents(text,text,integer,jsonpath) from public;
grant execute on function public.matching_documents(text,text,integer,jsonpath) to sluice_tenant;

revoke execute on function public.matching_passages(text,text,integer,jsonpath) from public;
grant execute on function public.matching_passages(text,text,integer,jsonpath) to sluice_tenant;

grant execute on function public.may_start_at_once(text,text,integer) to public;

grant execute on function public.move_ended_jobs(integer) to public;

grant execute on function public.move_item_counts(text,uuid,jsonb,jsonb,jsonb,jsonb,integer) to public;

grant execute on function public.needed_words(regconfig,text[],text[]) to public;

grant execute on function public.next_transaction(pg_snapshot) to public;

grant execute on function public.note_moved_job() to public;

grant execute on function public.note_new_jobs() to public;

grant execute on function public.note_room(text) to public;

grant execute on function public.note_room_of_job() to public;

grant execute on function public.note_word_change(text,text,integer,jsonb,bigint,bigint) to public;

grant execute on function public.note_work(text,text,timestamp with time zone) to public;

revoke execute on function public.open_event_partition(bigint) from public;

grant execute on function public.open_ingestion_handoffs(text,text,text,timestamp with time zone,uuid,text,jsonb) to public;

grant execute on function public.open_reference_run(text,text) to public;

grant execute on function public.parents_of_facts_stay() to public;

grant execute on function public.passage_score(tsvector,integer,double precision,tsquery[],double precision[]) to public;

revoke execute on function public.prepare_ended_jobs(regclass) from public;

grant execute on function public.question_words(text,text,integer,text) to public;

grant execute on function public.rank_passages(text,text,integer,text,text[],text[],integer,bigint[]) to public;

grant execute on function public.rate_limit_wait(timestamp with time zone[],timestamp with time zone,integer,interval) to public;

grant execute on function public.recall_ended_job(text,uuid) to public;

grant execute on function public.record_ingestion_handoff_event() to public;

grant execute on function public.release_jobs(uuid,text[],uuid[],bigint[]) to public;

grant execute on function public.renew_jobs(uuid,text[],uuid[],bigint[],integer) to public;

grant execute on function public.reserve_rate_limits(text[],integer[],bigint[]) to public;

grant execute on function public.rest_lane(public.tenant_queue,timestamp with time zone,uuid[]) to public;

grant execute on function public.retry_may_start(text,text,text,uuid) to public;

revoke execute on function public.roll_event_log(interval) from public;
grant execute on function public.roll_event_log(interval) to sluice_kernel;

revoke execute on function public.rotate_ended_jobs() from public;
grant execute on function public.rotate_ended_jobs() to sluice_kernel;

grant execute on function public.save_job(uuid,text,uuid,bigint,integer,jsonb,jsonb,text,boolean,text) to public;

revoke execute on function public.score_passages(text,text,integer,text[],bigint[],double precision[],double precision,tsquery,integer) from public;
grant execute on function public.score_passages(text,text,integer,text[],bigint[],double precision[],double precision,tsquery,integer) to sluice_tenant;

revoke execute on function public.search_chunk_texts(text,text,integer,text,integer) from public;
grant execute on function public.search_chunk_texts(text,text,integer,text,integer) to sluice_tenant;

grant execute on function public.separate_numbers(text) to public;

grant execute on function public.set_passage_words() to public;

revoke execute on function public.settle_catalog_products() from public;
grant execute on function public.settle_catalog_products() to sluice_tenant;

grant execute on function public.settle_jobs(uuid,jsonb) to public;

grant execute on function public.settled_status(text,text) to public;

revoke execute on function public.show_rows_to_owner(regclass) from public;

revoke execute on function public.sluice_dispatch(text,text,jsonb,text,timestamp with time zone) from public;

grant execute on function public.started_event(public.ingestion_jobs,uuid) to public;

grant execute on function public.sum_up_words(text,text,integer) to public;

grant execute on function public.take_own_slot(text,text,text,integer,uuid,bigint,uuid) to public;

grant execute on function public.take_provider_call(text,text,uuid,integer,double precision,integer,double precision,double precision) to public;

revoke execute on function public.take_schedule_tick(text,timestamp with time zone,timestamp with time zone) from public;
grant execute on function public.take_schedule_tick(text,timestamp with time zone,timestamp with time zone) to sluice_tenant;

grant execute on function public.time_ordered_uuid() to public;

grant execute on function public.update_ingestion_handoff_timestamp() to public;

grant execute on function public.wake_lanes(timestamp with time zone,text[]) to public;

grant execute on function public.word_query(text) to public;

grant execute on function public.words_of(regconfig,text) to public;
