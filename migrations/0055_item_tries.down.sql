alter table job_items
  drop column earlier_attempts;
