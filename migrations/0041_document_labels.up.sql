-- Metadata of documents, for filters, and who may see them.

alter table knowledge_documents
  -- What the document and its source say of it. A program before this column leaves both as they are.
  add column own_metadata jsonb not null default '{}',
  add column own_allow text[],
  -- The same with what the API was told, which counts more; a trigger keeps both.
  add column metadata jsonb not null default '{}',
  -- The groups whose members may see it; null: everybody in the tenant.
  add column allow text[];

alter table knowledge_files add column allow text[];
alter table sessions add column groups text[] not null default '{}';

-- What the API was told of a document. Its row belongs to one generation; this holds for all of them.
create table knowledge_labels (
  tenant_id  text not null,
  kb_id      text not null,
  source_id  uuid not null,
  uri_key    bytea not null,
  metadata   jsonb not null default '{}',
  -- Null: nothing was said.
  allow      text[],
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id, source_id, uri_key),
  foreign key (tenant_id, kb_id) references knowledge_bases on delete cascade
);
select guard_tenant_table('knowledge_labels');
grant select, insert, update, delete on knowledge_labels to sluice_tenant;
-- Erasure.
grant delete on knowledge_labels to sluice_kernel;

create index knowledge_documents_metadata on knowledge_documents using gin (metadata jsonb_path_ops);
create index knowledge_documents_limited on knowledge_documents (tenant_id, kb_id, generation)
  where allow is not null;

-- The groups of whoever is asking, and `*`, which stands for everybody; null: the transaction sees all documents.
create function current_groups() returns text[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
return case when coalesce(current_setting('app.groups', true), '') <> ''
  then array(select jsonb_array_elements_text(current_setting('app.groups', true)::jsonb)) || '*'::text end;

create policy allowed_rows on knowledge_documents as restrictive for select to sluice_tenant
  using (allow is null or (select current_groups()) is null or allow && (select current_groups()));
create policy allowed_rows on knowledge_files as restrictive for select to sluice_tenant
  using (allow is null or (select current_groups()) is null or allow && (select current_groups()));

create function label_document() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
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
$$;
create trigger label_document before insert or update of own_metadata, own_allow on knowledge_documents
  for each row execute function label_document();

-- The name of a file is as confidential as its document.
create function limit_document_file() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
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
$$;
create trigger limit_new_file after insert on knowledge_documents
  for each row when (new.allow is not null) execute function limit_document_file();
create trigger limit_changed_file after update of own_metadata, own_allow on knowledge_documents
  for each row when (new.allow is distinct from old.allow) execute function limit_document_file();

-- The documents of a generation that a filter matches and that whoever is asking may see. Runs as the owner: under the
-- policies of a tenant PostgreSQL could not use the index of the metadata, because its operator is not leakproof.
create function matching_documents(p_tenant text, p_kb text, p_generation integer, p_filter jsonpath)
returns table (document_id uuid, revision bigint)
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_custom_plan
as $$
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
$$;

-- The passages of those documents, as one text: a row for each would cost more than a search. Null: all passages.
create function matching_passages(p_tenant text, p_kb text, p_generation integer, p_filter jsonpath)
returns table (is_limited boolean, ids text)
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_custom_plan
as $$
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
$$;

revoke execute on function matching_documents(text, text, integer, jsonpath) from public;
revoke execute on function matching_passages(text, text, integer, jsonpath) from public;
grant execute on function matching_documents(text, text, integer, jsonpath) to sluice_tenant;
grant execute on function matching_passages(text, text, integer, jsonpath) to sluice_tenant;
