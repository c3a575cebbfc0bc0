drop function analyze_items();
alter table item_jobs
  drop column reported_at,
  drop column unreported;
