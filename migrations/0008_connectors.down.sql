drop index ix_ingestion_jobs_connector, ix_ingestion_jobs_run;
drop table connectors;
