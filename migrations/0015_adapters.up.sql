-- Adapters: places outside (a folder, an S3 prefix, an FTP directory) that are looked through for files, and every
-- file that was found there. Looks are stored: a file that is still being written is left alone across restarts too.

create table adapters (
  tenant_id       text not null references tenants on delete cascade,
  name            text not null check (length(name) between 1 and 100),
  kind            text not null check (kind in ('folder', 's3', 'ftp')),
  -- Where it is; secrets only by their names.
  place           jsonb not null,
  -- What becomes of a file: `kind` items or uploads, and what that needs.
  target          jsonb not null,
  pattern         text,
  -- Null: looked through by hand.
  every_minutes   integer check (every_minutes between 1 and 44640),
  after           text not null default 'leave' check (after in ('leave', 'move')),
  settle_seconds  integer not null default 10 check (settle_seconds between 0 and 86400),
  next_scan_at    timestamptz,
  failures_in_row integer not null default 0,
  last_scan_at    timestamptz,
  last_success_at timestamptz,
  last_result     jsonb,
  last_error      text,
  last_error_code text,
  -- The lease of the scan that runs. Every transaction of a scan looks for its token here: without it, it is too late.
  scan_token      uuid,
  scan_until      timestamptz,
  scanning_by     text,
  created_by      text not null,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  primary key (tenant_id, name),
  check ((scan_token is null) = (scan_until is null))
);
alter table adapters set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
create index ix_adapters_due on adapters (next_scan_at) where next_scan_at is not null;
select guard_tenant_table('adapters');
grant select, insert, update, delete on adapters to sluice_tenant;

-- One row per version of a file. The row and the job (or the upload) of its content commit together.
create table adapter_files (
  tenant_id    text not null,
  file_id      uuid not null,
  adapter      text not null,
  -- Below the place of the adapter.
  path         text not null check (octet_length(path) between 1 and 1024),
  size_bytes   bigint not null,
  -- What the place says of its version: a time of change, an etag.
  version      text not null check (octet_length(version) <= 200),
  state        text not null default 'waiting' check (state in ('waiting', 'ingested', 'duplicate', 'failed')),
  -- How often, and since when, it has looked as it does.
  looks        integer not null default 1,
  same_since   timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  -- Counted before the work: a file that takes its process down does not do so for ever.
  attempts     integer not null default 0,
  sha256       text,
  job_id       uuid,
  upload_id    uuid,
  duplicate_of uuid,
  reason_code  text,
  reason       text,
  -- Where it lies now, if it was moved.
  moved_to     text check (octet_length(moved_to) <= 1100),
  found_at     timestamptz not null default clock_timestamp(),
  finished_at  timestamptz,
  primary key (tenant_id, file_id),
  foreign key (tenant_id, adapter) references adapters (tenant_id, name) on delete cascade,
  check ((state = 'waiting') = (finished_at is null)),
  check (state <> 'ingested' or (sha256 is not null and job_id is not null))
);
alter table adapter_files set (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 500);
-- Each content once.
create unique index ux_adapter_files_content on adapter_files (tenant_id, adapter, sha256) where state = 'ingested';
-- What was moved away makes room for another one that looks the same.
create unique index ux_adapter_files_version on adapter_files (tenant_id, adapter, path, size_bytes, version)
 where moved_to is null;
create unique index ux_adapter_files_waiting on adapter_files (tenant_id, adapter, path)
 where state = 'waiting' and moved_to is null;
create index ix_adapter_files_adapter on adapter_files (tenant_id, adapter, file_id);
create index ix_adapter_files_state on adapter_files (tenant_id, adapter, state, file_id);
select guard_tenant_table('adapter_files');
grant select, insert, update, delete on adapter_files to sluice_tenant;
