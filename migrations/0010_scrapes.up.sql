-- Scrapes: what callers push or a crawl fetches, kept as references. Handing them over to a knowledge base is the
-- next migration's, because it can be taken down alone.

create table scrape_sources (
  tenant_id  text not null references tenants on delete cascade,
  source     text not null check (length(source) between 1 and 100),
  mode       text not null check (mode in ('push', 'crawl')),
  kind       text check (kind in ('website', 'sitemap', 'feed')),
  -- No foreign key: a knowledge base may go while its sources stay, and a hand-over says so then.
  kb_id      text not null check (length(kb_id) between 1 and 200),
  url        text check (octet_length(url) between 1 and 8000),
  -- Of a crawl: how far it goes.
  settings   jsonb not null default '{}',
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, source),
  check ((mode = 'crawl') = (kind is not null)),
  check ((mode = 'crawl') = (url is not null))
);
create index ix_scrape_sources_kb on scrape_sources (tenant_id, kb_id, source);
select guard_tenant_table('scrape_sources');

-- One sync each. The counts are those of its hand-over; what became of it later is in the hand-offs.
create table scrape_runs (
  tenant_id               text not null references tenants on delete cascade,
  scrape_run_id           uuid not null,
  source                  text not null,
  mode                    text not null check (mode in ('push', 'crawl')),
  status                  text not null default 'running' check (status in ('running', 'completed', 'failed')),
  -- Of a crawl.
  job_id                  uuid,
  references_persisted    integer not null default 0,
  references_created      integer not null default 0,
  references_changed      integer not null default 0,
  pages_failed            integer not null default 0,
  handoff_queued_count    integer not null default 0,
  handoff_completed_count integer not null default 0,
  handoff_failed_count    integer not null default 0,
  handoff_skipped_count   integer not null default 0,
  -- Why the counts of hand-offs are not there: the feature was taken down.
  handoff_notice          text,
  -- Of a crawl: every page was seen.
  is_complete             boolean,
  error_code              text,
  error_text              text,
  created_by              text not null,
  started_at              timestamptz not null default clock_timestamp(),
  finished_at             timestamptz,
  updated_at              timestamptz not null default clock_timestamp(),
  primary key (tenant_id, scrape_run_id)
);
create index ix_scrape_runs_source on scrape_runs (tenant_id, source, scrape_run_id);
create index ix_scrape_runs_open on scrape_runs (updated_at) where status = 'running';
create index ix_scrape_runs_finished on scrape_runs (finished_at) where finished_at is not null;
select guard_tenant_table('scrape_runs');

-- No foreign key to sources and tenants: its check would cost more than the insert. Syncs lock the row of their source,
-- whoever deletes a source deletes these rows first, and erasure deletes them by itself.
create table scrape_references (
  tenant_id     text not null,
  reference_id  uuid not null,
  source        text not null,
  -- In the order of bytes: syncs lock references in this order, whatever the database's collation is.
  external_id   text collate "C" not null check (octet_length(external_id) between 1 and 1500),
  url           text not null,
  -- SHA-256 of the url, which may be longer than an index takes.
  url_key       bytea not null,
  title         text not null,
  content       text not null,
  media_type    text,
  metadata      jsonb not null default '{}',
  -- SHA-256 over the canonical JSON of url, title, content and metadata.
  payload_hash  text not null check (length(payload_hash) = 64),
  -- What the next crawl wants to know about the page.
  memo          text,
  -- The site says that the page is not there any more (404, 410, noindex).
  gone_at       timestamptz,
  -- The run that touched it last, and the one that changed it last.
  scrape_run_id uuid not null,
  changed_by    uuid not null,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, reference_id),
  unique (tenant_id, source, external_id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index ix_scrape_references_source on scrape_references (tenant_id, source, reference_id);
create index ix_scrape_references_url on scrape_references (tenant_id, url_key, reference_id);
select guard_tenant_table('scrape_references');

-- Pages that a crawl has heard of, in the order in which they were found.
create table scrape_frontier (
  tenant_id  text not null,
  job_id     uuid not null,
  seq        bigint generated always as identity,
  url        text not null,
  url_key    bytea not null,
  depth      integer not null,
  is_visited boolean not null default false,
  primary key (tenant_id, job_id, seq),
  unique (tenant_id, job_id, url_key)
);
select guard_tenant_table('scrape_frontier');

grant select, insert, update, delete on scrape_sources, scrape_runs, scrape_references, scrape_frontier
  to sluice_tenant;
-- Erasure, and upkeep: runs whose process died, and runs past their time.
grant delete on scrape_references, scrape_frontier to sluice_kernel;
grant update, delete on scrape_runs to sluice_kernel;
