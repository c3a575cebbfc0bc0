alter table scrape_runs
  drop column missed_pages,
  drop column delay_ms,
  drop column paused_ms;
drop index ix_scrape_sources_due;
alter table scrape_sources
  drop column every_hours,
  drop column next_crawl_at;
