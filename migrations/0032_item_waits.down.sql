alter table item_jobs
  drop column waiting_until,
  drop column waiting_for;

alter table job_items
  drop column not_found_count,
  drop column throttled_count,
  drop column waiting_for;
