-- One frontier for all crawls, whichever pipeline they belong to; before, knowledge and scrapes had one each. This is
-- the first half of the change: old programs still run beside new ones and read the old tables, so the triggers below
-- keep the old tables and the new one alike. A later migration drops both.

-- Pages that a crawl knows of, in the order in which they were found. No foreign key: the job deletes its own rows.
create table crawl_frontier (
  tenant_id  text not null,
  job_id     uuid not null,
  -- The id of a knowledge source, or the name of a scrape source.
  source     text not null,
  seq        bigint generated always as identity,
  url        text not null,
  -- SHA-256 of the url, which may be longer than an index takes.
  url_key    bytea not null,
  depth      integer not null,
  is_visited boolean not null default false,
  primary key (tenant_id, job_id, source, seq),
  unique (tenant_id, job_id, source, url_key)
);
select guard_tenant_table('crawl_frontier');
grant select, insert, update, delete on crawl_frontier to sluice_tenant;
-- Erasure.
grant delete on crawl_frontier to sluice_kernel;

-- What crawls have open now. The policies hold for the owner as well, who acts for no tenant here. Lifting them locks
-- the old tables until the end of this migration, so that no old program adds a page meanwhile.
alter table knowledge_frontier no force row level security;
alter table scrape_frontier no force row level security;
do $$
declare
  crawling text;
begin
  for crawling in select tenant_id from knowledge_frontier union select tenant_id from scrape_frontier loop
    perform set_config('app.tenant_id', crawling, true);
    insert into crawl_frontier (tenant_id, job_id, source, url, url_key, depth, is_visited)
    select f.tenant_id, f.job_id, f.source_id::text, f.url, f.url_key, f.depth, f.is_visited
      from knowledge_frontier f
     where f.tenant_id = crawling
     order by f.seq;
    insert into crawl_frontier (tenant_id, job_id, source, url, url_key, depth, is_visited)
    select f.tenant_id, f.job_id, j.subject_id, f.url, f.url_key, f.depth, f.is_visited
      from scrape_frontier f
      join ingestion_jobs j on j.tenant_id = f.tenant_id and j.job_id = f.job_id
     where f.tenant_id = crawling
     order by f.seq;
  end loop;
  perform set_config('app.tenant_id', '', true);
end
$$;
alter table knowledge_frontier force row level security;
alter table scrape_frontier force row level security;

-- Each trigger below writes to the other table, whose own trigger then runs one level deeper and does nothing.
create function copy_frontier_to_new() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
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
$$;

create function copy_frontier_to_old() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
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
$$;

-- A frontier goes as a whole, when its job has ended: the first batch that goes takes the whole copy with it.
create function delete_frontier_copies() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
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
$$;

do $$
declare
  source_table text;
  copier text;
begin
  foreach source_table in array array['knowledge_frontier', 'scrape_frontier', 'crawl_frontier'] loop
    copier := case source_table when 'crawl_frontier' then 'copy_frontier_to_old' else 'copy_frontier_to_new' end;
    execute format('create trigger %I after insert on %I referencing new table as changed '
      'for each statement execute function %I()', source_table || '_added', source_table, copier);
    execute format('create trigger %I after update on %I referencing new table as changed '
      'for each statement execute function %I()', source_table || '_visited', source_table, copier);
    execute format('create trigger %I after delete on %I referencing old table as gone '
      'for each statement execute function delete_frontier_copies()', source_table || '_gone', source_table);
  end loop;
end
$$;
