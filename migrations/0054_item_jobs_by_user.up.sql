-- concurrently
-- The jobs of a user in the order in which they were made: ids grow with time. The counts of a user's open rows use it.
create index concurrently if not exists item_jobs_by_user
    on item_jobs (tenant_id, user_id, job_id);
