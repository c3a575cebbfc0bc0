-- Connectors: tenants' Airbyte connections. Their syncs are jobs of the pipeline `sync`; what a sync has to remember is
-- in the columns and the checkpoint of its job.

create table connectors (
  tenant_id             text not null references tenants on delete cascade,
  connector_id          text not null check (length(connector_id) between 1 and 200),
  name                  text not null check (length(name) between 1 and 200),
  airbyte_connection_id text not null check (length(airbyte_connection_id) between 1 and 200),
  external_account_id   text not null check (length(external_account_id) between 1 and 200),
  enabled               boolean not null default true,
  -- Null: as often as the plan allows.
  cadence_hours         double precision check (cadence_hours > 0),
  -- Null: what the installation says. Only a longer one counts.
  min_interval_seconds  integer check (min_interval_seconds between 0 and 604800),
  on_active_sync        text not null default 'adopt' check (on_active_sync in ('adopt', 'fail', 'skip')),
  -- Its own place in the cadence, so that connectors that were made together do not sync together.
  jitter                double precision not null default random() check (jitter between 0 and 1),
  next_sync_at          timestamptz not null,
  -- The last scheduled tick, or when the schedule began.
  last_tick_at          timestamptz not null default clock_timestamp(),
  -- The plan that next_sync_at was reckoned with; when the tenant's is another one, it is reckoned anew.
  planned_for           text not null,
  -- The last webhook of Airbyte about this connection: a hint that nobody has confirmed.
  last_notice           jsonb,
  created_by            text not null,
  created_at            timestamptz not null default clock_timestamp(),
  updated_at            timestamptz not null default clock_timestamp(),
  primary key (tenant_id, connector_id)
);
-- Over all tenants: two that sync one connection would adopt and cancel each other's runs.
create unique index ix_connectors_airbyte_connection on connectors (airbyte_connection_id);
create index ix_connectors_due on connectors (next_sync_at) where enabled;
select guard_tenant_table('connectors');
grant select, insert, update, delete on connectors to sluice_tenant;

-- Which job follows a run of Airbyte, and a connector's history.
create index ix_ingestion_jobs_run on ingestion_jobs (run_id) where run_id is not null;
create index ix_ingestion_jobs_connector
    on ingestion_jobs (tenant_id, connector_id, job_id)
 where connector_id is not null;
