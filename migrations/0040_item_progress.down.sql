alter table job_items
  drop column progress_json;
