-- Items: row lists that are persisted first and then processed row by row, by any number of workers at once.

create table item_jobs (
  tenant_id    text not null,
  job_id       uuid not null,
  job_type     text not null check (job_type in ('csv', 'image')),
  processor    text not null,
  options      jsonb not null default '{}',
  -- Of the input, and what results added; in the order in which they were first seen.
  columns      jsonb not null default '[]',
  result_columns jsonb not null default '[]',
  file_id      uuid,
  file_name    text,
  user_id      text not null,
  -- The process that is still writing rows; null once all are in. Upkeep removes what a dead one left.
  ingesting_by uuid,
  total        bigint not null default 0,
  pending      bigint not null default 0,
  processing   bigint not null default 0,
  done         bigint not null default 0,
  error        bigint not null default 0,
  not_found    bigint not null default 0,
  skipped      bigint not null default 0,
  -- What the controllers decided last and why, for people.
  controllers  jsonb not null default '{}',
  primary key (tenant_id, job_id),
  foreign key (tenant_id, job_id) references ingestion_jobs on delete cascade,
  check (total = pending + processing + done + error + not_found + skipped)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 100);
create index item_jobs_ingesting on item_jobs (ingesting_by) where ingesting_by is not null;
select guard_tenant_table('item_jobs');
grant select, insert, update on item_jobs to sluice_tenant;
grant select on item_jobs to sluice_kernel;

create table job_items (
  tenant_id       text not null,
  job_id          uuid not null,
  id              bigint generated always as identity,
  row_no          integer not null,
  status          text not null default 'PENDING' check (status in
    ('PENDING', 'PROCESSING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED')),
  attempts        smallint not null default 0,
  -- Which request variant comes next; it rotates on retry.
  strategy        smallint not null default 0,
  -- How many workers died while they had this item; such an item is claimed alone.
  crashes         smallint not null default 0,
  -- When a waiting item may be taken: at once, or after a retry's delay.
  due_at          timestamptz not null default '-infinity',
  locked_by       uuid,
  lock_token      uuid,
  locked_at       timestamptz,
  lock_expires_at timestamptz,
  error_code      text,
  last_error      text,
  user_id         text not null,
  job_type        text not null,
  updated_at      timestamptz not null default clock_timestamp(),
  input_json      json not null,
  normalized_json jsonb,
  result_json     json,
  primary key (tenant_id, job_id, id),
  foreign key (tenant_id, job_id) references item_jobs on delete cascade
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_scale_factor = 0.2);

-- Finished rows leave every index but the primary key, so finishing one touches no wide index.
create index job_items_claimable on job_items (tenant_id, job_id, due_at, id) where status = 'PENDING';
create index job_items_locked on job_items (tenant_id, job_id, lock_expires_at) where status = 'PROCESSING';
create index job_items_open_by_job on job_items (tenant_id, job_id, updated_at, id)
 where status in ('PENDING', 'PROCESSING');
create index job_items_open_by_user on job_items (tenant_id, user_id, updated_at, id)
 where status in ('PENDING', 'PROCESSING');
create index job_items_open on job_items (tenant_id, updated_at, id) where status in ('PENDING', 'PROCESSING');
create index job_items_crashed on job_items (tenant_id, job_id, id) where status = 'PENDING' and crashes > 0;
create index job_items_failed on job_items (tenant_id, job_id, id) where status in ('ERROR', 'NOT_FOUND', 'SKIPPED');
select guard_tenant_table('job_items');
grant select, insert, update on job_items to sluice_tenant;
grant select, update on job_items to sluice_kernel;

-- Every call to a provider, for the row's history and for the provider's statistics.
create table search_events (
  tenant_id  text not null,
  job_id     uuid not null,
  event_id   bigint generated always as identity,
  item_ids   bigint[] not null,
  provider   text not null,
  strategy   text not null,
  status     integer,
  outcome    text not null,
  error      text,
  took_ms    integer not null,
  user_id    text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, job_id, event_id),
  foreign key (tenant_id, job_id) references item_jobs on delete cascade
);
select guard_tenant_table('search_events');
grant select, insert on search_events to sluice_tenant;

-- Secrets that tenants store for their providers: write-only over the API, encrypted with the installation's key.
create table tenant_secrets (
  tenant_id  text not null references tenants on delete cascade,
  name       text not null check (name ~ '^[a-z][a-z0-9_]{0,62}$'),
  encrypted  text not null,
  updated_by text not null,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, name)
);
select guard_tenant_table('tenant_secrets');
grant select, insert, update, delete on tenant_secrets to sluice_tenant;
