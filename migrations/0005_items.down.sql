drop table tenant_secrets;
drop table search_events;
drop table job_items;
drop table item_jobs;
