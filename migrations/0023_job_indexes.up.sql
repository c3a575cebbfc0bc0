-- concurrently
-- Each statement runs by itself: the table is in use, and a transaction would hold its locks until the end.

-- What a worker may take, by lane (tenant and pipeline): started jobs (0) before queued ones (1), then by due time.
-- Jobs that a worker died with run alone and have an index of their own.
create index concurrently if not exists ix_ingestion_jobs_lane
    on ingestion_jobs (tenant_id, pipeline, (case status when 'queued' then 1 else 0 end), run_at)
 where leased_by is null and struck_by = '{}' and (status in ('queued', 'running', 'failed') or cleanup_open);

-- Leases by tenant and the time at which they end: those that are alive are counted, those that have ended are found.
create index concurrently if not exists ix_ingestion_jobs_lease_ends
    on ingestion_jobs (tenant_id, lease_expires_at)
 where leased_by is not null;
-- What a worker was struck with, for its return.
create index concurrently if not exists ix_ingestion_jobs_strikes
    on ingestion_jobs using gin (struck_by)
 where struck_by <> '{}';
