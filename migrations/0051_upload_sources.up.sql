-- Where reports are pulled from on a schedule: a URL, an S3 prefix, an FTP directory, or a platform's reporting API.
create table upload_sources (
  tenant_id     text not null,
  source_id     uuid not null,
  name          text not null check (octet_length(name) between 1 and 800),
  workspace_id  uuid not null,
  client_id     uuid,
  platform      text not null check (platform ~ '^[a-z][a-z0-9_-]{1,39}$'),
  kind          text not null check (kind in ('url', 's3', 'ftp', 'meta', 'google', 'tiktok')),
  place         jsonb not null,
  -- How many days each pull asks for again: late conversions change the figures of days that were pulled before.
  restate_days  integer not null check (restate_days between 1 and 180),
  enabled       boolean not null,
  -- Null without cron: as often as the plan allows.
  cadence_hours double precision check (cadence_hours > 0),
  cron          text,
  time_zone     text not null,
  jitter        double precision not null check (jitter >= 0 and jitter < 1),
  next_pull_at  timestamptz not null,
  last_tick_at  timestamptz not null default clock_timestamp(),
  planned_for   text not null,
  last_pull_at    timestamptz,
  last_success_at timestamptz,
  last_result     jsonb,
  created_by    text not null,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, source_id),
  check (cadence_hours is null or cron is null)
);
create unique index ux_upload_sources_name on upload_sources (tenant_id, name);
create index ix_upload_sources_due on upload_sources (next_pull_at) where enabled;
select guard_tenant_table('upload_sources');
grant select, insert, update, delete on upload_sources to sluice_tenant;
-- Erasure; what belongs to a source goes with it.
grant delete on upload_sources to sluice_kernel;

-- What each path of a source held when it was pulled last. The row and the upload of its content commit together, so
-- a content that is found again makes no second upload.
create table upload_source_contents (
  tenant_id  text not null,
  source_id  uuid not null,
  -- Below the place; empty for a URL and for an API, which have one report.
  path       text not null check (octet_length(path) <= 1024),
  size_bytes bigint not null,
  version    text not null check (octet_length(version) <= 200),
  sha256     text not null,
  -- The pull that took it, and its first upload. No upload: the file was refused.
  job_id     uuid not null,
  upload_id  uuid,
  reason     text,
  taken_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, source_id, path),
  foreign key (tenant_id, source_id) references upload_sources (tenant_id, source_id) on delete cascade,
  check (upload_id is not null or reason is not null)
);
select guard_tenant_table('upload_source_contents');
grant select, insert, update, delete on upload_source_contents to sluice_tenant;
