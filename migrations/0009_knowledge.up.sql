-- Knowledge: documents from sources, cut into chunks, embedded, indexed and searched. A run is a job of the pipeline
-- `knowledge`; everything that belongs to one embedder and one way of cutting is a generation.

create table knowledge_bases (
  tenant_id       text not null references tenants on delete cascade,
  kb_id           text not null check (length(kb_id) between 1 and 200),
  name            text not null check (length(name) between 1 and 200),
  chunker         jsonb not null,
  embedder        jsonb not null,
  -- What searches are answered from; 0 before the first run has ended.
  generation      integer not null default 0,
  -- Numbers are never used twice: what is left of an old one is never taken for a part of a new one.
  next_generation integer not null default 1,
  created_by      text not null,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id)
) with (fillfactor = 70);
select guard_tenant_table('knowledge_bases');

create table knowledge_sources (
  tenant_id  text not null,
  kb_id      text not null,
  source_id  uuid not null,
  type       text not null check (length(type) between 1 and 64),
  settings   jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id, source_id),
  foreign key (tenant_id, kb_id) references knowledge_bases on delete cascade
);
-- Files that were added by hand belong to one source, which every knowledge base has.
create unique index knowledge_sources_files on knowledge_sources (tenant_id, kb_id) where type = 'files';
select guard_tenant_table('knowledge_sources');

-- Files that were added by hand; their bytes are in `files`. The same name again replaces the earlier one.
create table knowledge_files (
  tenant_id  text not null,
  kb_id      text not null,
  file_id    uuid not null,
  name       text not null check (octet_length(name) between 1 and 1000),
  media_type text not null,
  size_bytes bigint not null check (size_bytes >= 0),
  sha256     text not null check (length(sha256) = 64),
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id, file_id),
  unique (tenant_id, kb_id, name),
  foreign key (tenant_id, kb_id) references knowledge_bases on delete cascade
);
select guard_tenant_table('knowledge_files');

create table knowledge_generations (
  tenant_id     text not null,
  kb_id         text not null,
  generation    integer not null check (generation > 0),
  -- Provider, model, dimensions and the settings of the chunker: under another one vectors cannot be compared.
  fingerprint   text not null,
  dimensions    integer not null check (dimensions > 0),
  -- What it is built with: until another one serves, questions are embedded with this one.
  embedder      jsonb not null,
  state         text not null check (state in ('building', 'serving', 'retired')),
  built_by_job  uuid not null,
  -- Moves with every transaction that adds or deletes chunks, so that copies in memory know when they are old. Whoever
  -- writes chunks locks this row: so no chunk is taken away from a document that is about to link to it.
  index_version bigint not null default 0,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id, generation),
  foreign key (tenant_id, kb_id) references knowledge_bases on delete cascade
);
create unique index knowledge_generations_serving on knowledge_generations (tenant_id, kb_id)
 where state = 'serving';
create unique index knowledge_generations_building on knowledge_generations (tenant_id, kb_id)
 where state = 'building';
select guard_tenant_table('knowledge_generations');

-- No foreign keys below: their checks would cost more than the inserts. Runs lock the row of the knowledge base and so
-- see it; whoever deletes one deletes these rows first; erasure deletes them by itself.
create table knowledge_documents (
  tenant_id      text not null,
  kb_id          text not null,
  document_id    uuid not null,
  generation     integer not null,
  source_id      uuid not null,
  uri            text not null,
  -- SHA-256 of the uri, which may be longer than an index takes.
  uri_key        bytea not null,
  title          text not null,
  media_type     text,
  state          text not null check (state in ('indexed', 'empty', 'error', 'gone')),
  -- Null until every chunk of the text is in: what is not complete is never taken for unchanged.
  content_hash   text,
  etag           text,
  last_modified  text,
  -- Which links are the document's: those of a new text are written beside the old ones, then this moves.
  revision       bigint not null default 0,
  -- What the document was before the run that has touched it last, until that run has ended: cancel goes back to it.
  previous       jsonb,
  chunk_count    integer not null default 0,
  error_code     text,
  error_text     text,
  created_by_job uuid not null,
  last_job       uuid not null,
  -- When a run last came across it: what a concurrent run has just added is not gone.
  seen_at        timestamptz not null default clock_timestamp(),
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id, document_id),
  -- Without kb_id, which the source implies: two indexes that begin alike are mistaken for each other by a planner that
  -- has no statistics yet, and then a look for one document reads all of them.
  unique (tenant_id, source_id, uri_key, generation)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index knowledge_documents_touched on knowledge_documents (tenant_id, kb_id, document_id)
 where previous is not null;
select guard_tenant_table('knowledge_documents');

-- The chunks: each text once in a generation, however many documents have it.
create table embeddings_index (
  tenant_id      text not null,
  kb_id          text not null,
  generation     integer not null,
  chunk_id       bigint generated always as identity,
  content_hash   text not null check (length(content_hash) = 64),
  text           text not null,
  tokens         integer not null,
  -- Little-endian float32, one after the other.
  vector         bytea not null,
  created_by_job uuid not null,
  indexed_at     timestamptz not null default clock_timestamp(),
  text_search    tsvector generated always as (to_tsvector('english', text)) stored,
  primary key (tenant_id, chunk_id),
  unique (tenant_id, content_hash, kb_id, generation)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- Compressing vectors takes time and gains nothing.
alter table embeddings_index alter column vector set storage external;
create index embeddings_index_text_search on embeddings_index using gin (text_search);
select guard_tenant_table('embeddings_index');
-- Searches walk through the chunks of one generation.
create index ix_embeddings_index_generation on embeddings_index (tenant_id, kb_id, generation, chunk_id);

-- Under a policy only leakproof operators can use an index, and @@ is none: full-text search goes through this
-- function, which asks for the tenant by name and refuses any other than that of the transaction. A superuser's
-- function sees past the policies; an owner of another kind needs one of its own.
do $$
begin
  if not (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) then
    execute format('create policy search_rows on embeddings_index for select to %I using (true)', current_user);
  end if;
end
$$;

-- Chunks that have what the question asks for as a whole come first (rank above 1), then those that have some of it: a
-- paraphrase need not have all words. Of those a bounded number is ranked, because some words are everywhere.
create function search_chunk_texts(
  wanted_tenant text, wanted_kb text, wanted_generation integer, question text, most integer)
returns table (chunk_id bigint, rank double precision)
language plpgsql
stable
security definer
set search_path = pg_catalog, public
as $$
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
$$;
revoke execute on function search_chunk_texts(text, text, integer, text, integer) from public;
grant execute on function search_chunk_texts(text, text, integer, text, integer) to sluice_tenant;

-- Which chunks a document is made of, in order.
create table knowledge_links (
  tenant_id    text not null,
  kb_id        text not null,
  document_id  uuid not null,
  revision     bigint not null,
  ordinal      integer not null,
  chunk_id     bigint not null,
  heading_path text[] not null default '{}',
  start_at     integer not null,
  end_at       integer not null,
  job_id       uuid not null,
  primary key (tenant_id, kb_id, document_id, revision, ordinal)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index knowledge_links_of_chunk on knowledge_links (tenant_id, chunk_id);
select guard_tenant_table('knowledge_links');

-- Pages that the crawls of a run have heard of, in the order in which they were found.
create table knowledge_frontier (
  tenant_id  text not null,
  job_id     uuid not null,
  source_id  uuid not null,
  seq        bigint generated always as identity,
  url        text not null,
  url_key    bytea not null,
  depth      integer not null,
  is_visited boolean not null default false,
  primary key (tenant_id, job_id, source_id, seq),
  unique (tenant_id, job_id, source_id, url_key)
);
select guard_tenant_table('knowledge_frontier');

grant select, insert, update, delete on knowledge_bases, knowledge_sources, knowledge_files, knowledge_generations,
  knowledge_documents, embeddings_index, knowledge_links, knowledge_frontier to sluice_tenant;
-- Erasure.
grant delete on knowledge_documents, embeddings_index, knowledge_links, knowledge_frontier to sluice_kernel;

-- A run that says it is complete, and has lost chunks on its way, is refused.
create function knowledge_counters_add_up() returns trigger
language plpgsql
set search_path = pg_catalog
as $$
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
$$;
create trigger knowledge_counters_add_up before insert or update of status on ingestion_jobs
  for each row
  when (new.pipeline = 'knowledge' and new.status = 'success')
  execute function knowledge_counters_add_up();

-- The last run of a knowledge base.
create index ix_ingestion_jobs_knowledge
    on ingestion_jobs (tenant_id, subject_id, job_id)
 where pipeline = 'knowledge';
