-- Crawls by schedule, what a crawl missed (the next one asks for it, so that unchanged pages may stay unread), and how
-- politely it went about the site.
alter table scrape_sources
  add column every_hours double precision check (every_hours > 0),
  add column next_crawl_at timestamptz;
create index ix_scrape_sources_due on scrape_sources (next_crawl_at) where next_crawl_at is not null;

alter table scrape_runs
  add column missed_pages jsonb,
  add column delay_ms integer,
  add column paused_ms bigint;
