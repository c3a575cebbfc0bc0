drop index ix_ingestion_jobs_lane;
drop index ix_ingestion_jobs_lease_ends;
drop index ix_ingestion_jobs_strikes;
