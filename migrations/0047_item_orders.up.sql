-- concurrently
-- Orders of the grid. Rows that end well at their first try are in neither index and pay nothing.
create index concurrently if not exists job_items_failed_by_time
    on job_items (tenant_id, job_id, status, updated_at, id)
 where status in ('ERROR', 'NOT_FOUND', 'SKIPPED');

create index concurrently if not exists job_items_by_attempts
    on job_items (tenant_id, job_id, status, attempts, id)
 where attempts > 1;
