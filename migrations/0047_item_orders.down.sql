drop index job_items_by_attempts;
drop index job_items_failed_by_time;
