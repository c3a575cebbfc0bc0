alter table item_jobs
  drop column notes,
  drop column mapping;
