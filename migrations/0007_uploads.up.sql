-- Uploads: ad reports, from the file through staging into four production tables. The boundaries between the workers
-- are the roles' grants: intake writes the record, parse only staging, promote production, cleanup deletes staging.

create table data_uploads (
  tenant_id       text not null references tenants on delete cascade,
  upload_id       uuid not null,
  workspace_id    uuid not null,
  client_id       uuid,
  platform        text not null check (platform in ('meta', 'google', 'tiktok')),
  source          text not null check (source in ('manual', 'api', 'webhook')),
  filename        text,
  file_id         uuid not null,
  file_url        text not null,
  status          text not null default 'pending' check (status in
    ('pending', 'processing', 'staging_complete', 'promoting', 'completed', 'partial', 'failed')),
  force_partial   boolean not null default false,
  -- Holds in staging_complete until somebody says promote.
  review          boolean not null default false,
  -- Header as written to canonical field, as a person chose it; null for columns that are left out.
  mapping         jsonb not null default '{}',
  -- Changes with the mapping: what was staged under an earlier one is staged again.
  mapping_version integer not null default 0,
  job_id          uuid not null,
  row_count       integer,
  total_rows      integer not null default 0,
  valid_rows      integer not null default 0,
  invalid_rows    integer not null default 0,
  promoted_rows   integer not null default 0,
  failed_rows     integer not null default 0,
  campaigns_upserted     integer not null default 0,
  ad_sets_upserted       integer not null default 0,
  ads_upserted           integer not null default 0,
  daily_metrics_upserted integer not null default 0,
  affected_dates  date[] not null default '{}',
  warnings        jsonb not null default '[]',
  -- How the file was read: encoding, delimiter, columns and what they were taken for.
  layout          jsonb,
  error_code      text,
  error_text      text,
  event_emitted   boolean not null default false,
  created_by      text not null,
  user_id         text not null,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  finished_at     timestamptz,
  undone_at       timestamptz,
  primary key (tenant_id, upload_id),
  foreign key (tenant_id, workspace_id) references workspaces,
  check ((status in ('completed', 'partial', 'failed')) = (finished_at is not null)),
  check (not event_emitted or status in ('completed', 'partial'))
);
create index data_uploads_waiting on data_uploads (tenant_id, workspace_id, created_at, upload_id)
 where status = 'pending';
create index data_uploads_unfinished on data_uploads (tenant_id, upload_id)
 where status not in ('completed', 'partial', 'failed');
create index data_uploads_of_workspace on data_uploads (tenant_id, workspace_id, upload_id);
select guard_tenant_table('data_uploads');

-- Three rows per workspace: an upload that is at work holds one, also between its slices.
create table upload_slots (
  tenant_id    text not null references tenants on delete cascade,
  workspace_id uuid not null,
  slot_no      smallint not null,
  upload_id    uuid,
  taken_at     timestamptz,
  primary key (tenant_id, workspace_id, slot_no),
  unique (tenant_id, upload_id),
  foreign key (tenant_id, workspace_id) references workspaces on delete cascade
);
select guard_tenant_table('upload_slots');

-- One row per entity that a line names, and one per line that was refused. No foreign key: its check would cost more
-- than the insert. Cleanup and erasure delete the rows by themselves.
create table staging_rows (
  tenant_id         text not null,
  upload_id         uuid not null,
  workspace_id      uuid not null,
  entity_type       text not null check (entity_type in ('campaign', 'ad_set', 'ad', 'daily_metric')),
  row_index         integer not null,
  natural_key_hash  text not null,
  -- What the line says; of valid facts it is in the columns below, because reading JSON three times took a third of
  -- the time of an upload.
  raw_data          jsonb,
  validation_status text not null check (validation_status in ('pending', 'valid', 'invalid')),
  validation_errors jsonb,
  -- Written by promotion, and only for rows that are worth a word: all others are covered by its checkpoint.
  promotion_error   jsonb,
  promotion_warning jsonb,
  created_at        timestamptz not null default clock_timestamp(),
  metric_date          date,
  campaign_external_id text,
  ad_set_external_id   text,
  ad_external_id       text,
  impressions          bigint,
  clicks               bigint,
  reach                bigint,
  spend                numeric,
  conversions          numeric,
  conversion_value     numeric,
  currency             text,
  primary key (tenant_id, upload_id, entity_type, row_index),
  check ((raw_data is null) = (metric_date is not null)),
  check (metric_date is null or (entity_type = 'daily_metric' and validation_status = 'valid'))
) with (autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05);
create index staging_rows_refused on staging_rows (tenant_id, upload_id, row_index)
 where validation_status = 'invalid' or promotion_error is not null;
create index staging_rows_age on staging_rows using brin (created_at);
select guard_tenant_table('staging_rows');

-- Which production row an external id of this upload stands for.
create table staging_id_resolution (
  tenant_id     text not null,
  upload_id     uuid not null,
  entity_type   text not null check (entity_type in ('campaign', 'ad_set', 'ad')),
  external_id   text not null,
  production_id uuid not null,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, upload_id, entity_type, external_id)
);
select guard_tenant_table('staging_id_resolution');

-- Ids that grow with time, so that what was made together lies together, in tables and in lists.
create function time_ordered_uuid() returns uuid
language sql
volatile parallel safe
set search_path = pg_catalog
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- Production. `as_of` is the created_at of the upload that the values come from: an older one never replaces them.
-- `created_by_upload` and `last_upload` are what undo goes by.
create table campaigns (
  tenant_id         text not null references tenants on delete cascade,
  campaign_id       uuid not null default time_ordered_uuid(),
  workspace_id      uuid not null,
  client_id         uuid,
  platform          text not null,
  external_id       text not null,
  -- The external id is a path of names, because the report had no ids: a rename looks like a new entity.
  is_name_key       boolean not null,
  name              text,
  status            text,
  type              text,
  as_of             timestamptz not null,
  created_by_upload uuid not null,
  last_upload       uuid not null,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, campaign_id),
  unique nulls not distinct (tenant_id, workspace_id, client_id, platform, external_id)
);
select guard_tenant_table('campaigns');

create table ad_sets (
  tenant_id         text not null references tenants on delete cascade,
  ad_set_id         uuid not null default time_ordered_uuid(),
  workspace_id      uuid not null,
  client_id         uuid,
  platform          text not null,
  external_id       text not null,
  is_name_key       boolean not null,
  campaign_id       uuid,
  name              text,
  status            text,
  as_of             timestamptz not null,
  created_by_upload uuid not null,
  last_upload       uuid not null,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, ad_set_id),
  unique nulls not distinct (tenant_id, workspace_id, client_id, platform, external_id),
  foreign key (tenant_id, campaign_id) references campaigns
);
create index ad_sets_of_campaign on ad_sets (tenant_id, campaign_id);
select guard_tenant_table('ad_sets');

create table ads (
  tenant_id         text not null references tenants on delete cascade,
  ad_id             uuid not null default time_ordered_uuid(),
  workspace_id      uuid not null,
  client_id         uuid,
  platform          text not null,
  external_id       text not null,
  is_name_key       boolean not null,
  campaign_id       uuid,
  ad_set_id         uuid,
  name              text,
  status            text,
  as_of             timestamptz not null,
  created_by_upload uuid not null,
  last_upload       uuid not null,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, ad_id),
  unique nulls not distinct (tenant_id, workspace_id, client_id, platform, external_id),
  foreign key (tenant_id, campaign_id) references campaigns,
  foreign key (tenant_id, ad_set_id) references ad_sets
);
create index ads_of_campaign on ads (tenant_id, campaign_id);
create index ads_of_ad_set on ads (tenant_id, ad_set_id);
select guard_tenant_table('ads');

create table daily_metrics (
  tenant_id         text not null,
  metric_id         bigint generated always as identity,
  workspace_id      uuid not null,
  client_id         uuid,
  platform          text not null,
  metric_date       date not null,
  campaign_id       uuid,
  ad_set_id         uuid,
  ad_id             uuid,
  impressions       bigint,
  clicks            bigint,
  reach             bigint,
  spend             numeric,
  conversions       numeric,
  conversion_value  numeric,
  currency          text,
  -- Only where a parent could not be resolved: the natural key in the file, so that two are never taken for one.
  unresolved_key    text,
  as_of             timestamptz not null,
  created_by_upload uuid not null,
  last_upload       uuid not null,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, metric_id),
  -- What tells rows apart comes first: comparisons end early. All days of an ad lie together, as uploads bring them.
  constraint daily_metrics_key unique nulls not distinct
    (ad_id, ad_set_id, campaign_id, metric_date, workspace_id, client_id, platform, tenant_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index daily_metrics_by_date on daily_metrics (workspace_id, metric_date, metric_id);
select guard_tenant_table('daily_metrics');

-- The parents of facts are checked by the statement, each parent once, where three foreign keys would check each row
-- three times: that took more than half of the time of an upload (docs/decisions/0011). The rows are locked as a
-- foreign key locks them: who deletes a parent waits for the facts that are being written, and the other way round.
create function facts_have_parents() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
declare
  missing text;
begin
  with named as (
    select distinct n.tenant_id, n.campaign_id from new_facts n where n.campaign_id is not null
  ), there as (
    select p.campaign_id from campaigns p join named n using (tenant_id, campaign_id) for key share of p
  )
  select n.campaign_id::text into missing
    from named n where n.campaign_id not in (select campaign_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no campaign %s', missing), table = 'daily_metrics',
      constraint = 'daily_metrics_campaign';
  end if;
  with named as (
    select distinct n.tenant_id, n.ad_set_id from new_facts n where n.ad_set_id is not null
  ), there as (
    select p.ad_set_id from ad_sets p join named n using (tenant_id, ad_set_id) for key share of p
  )
  select n.ad_set_id::text into missing
    from named n where n.ad_set_id not in (select ad_set_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no ad set %s', missing), table = 'daily_metrics',
      constraint = 'daily_metrics_ad_set';
  end if;
  with named as (
    select distinct n.tenant_id, n.ad_id from new_facts n where n.ad_id is not null
  ), there as (
    select p.ad_id from ads p join named n using (tenant_id, ad_id) for key share of p
  )
  select n.ad_id::text into missing
    from named n where n.ad_id not in (select ad_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no ad %s', missing), table = 'daily_metrics',
      constraint = 'daily_metrics_ad';
  end if;
  return null;
end
$$;
create trigger daily_metrics_parents after insert on daily_metrics
  referencing new table as new_facts
  for each statement execute function facts_have_parents();

-- The other side: a parent of facts stays, and nobody gets another key.
create function parents_of_facts_stay() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
declare
  held text;
begin
  case tg_table_name
    when 'campaigns' then
      select m.campaign_id::text into held
        from daily_metrics m join gone g using (tenant_id, campaign_id) limit 1;
    when 'ad_sets' then
      select m.ad_set_id::text into held
        from daily_metrics m join gone g using (tenant_id, ad_set_id) limit 1;
    else
      select m.ad_id::text into held
        from daily_metrics m join gone g using (tenant_id, ad_id) limit 1;
  end case;
  if held is not null then
    raise foreign_key_violation using message = format('%s of %s still has daily metrics', held, tg_table_name),
      table = tg_table_name, constraint = 'daily_metrics_parents';
  end if;
  return null;
end
$$;
create trigger campaigns_stay after delete on campaigns
  referencing old table as gone for each statement execute function parents_of_facts_stay();
create trigger ad_sets_stay after delete on ad_sets
  referencing old table as gone for each statement execute function parents_of_facts_stay();
create trigger ads_stay after delete on ads
  referencing old table as gone for each statement execute function parents_of_facts_stay();

create function keys_stay() returns trigger
language plpgsql
as $$
begin
  raise integrity_constraint_violation using message = format('The keys of %s never change', tg_table_name);
end
$$;
create trigger campaigns_keys_stay before update of tenant_id, campaign_id on campaigns
  for each row execute function keys_stay();
create trigger ad_sets_keys_stay before update of tenant_id, ad_set_id on ad_sets
  for each row execute function keys_stay();
create trigger ads_keys_stay before update of tenant_id, ad_id on ads
  for each row execute function keys_stay();
create trigger daily_metrics_keys_stay before update of tenant_id, campaign_id, ad_set_id, ad_id on daily_metrics
  for each row execute function keys_stay();

-- What an upload has just staged and resolved is unknown to the planner; only the owner of a table may make it known.
create function analyze_staging() returns void
language plpgsql
security definer
set search_path = pg_catalog, public
as $$
begin
  analyze (skip_locked) public.staging_rows (tenant_id, upload_id, entity_type, row_index, validation_status);
end
$$;
create function analyze_entities() returns void
language plpgsql
security definer
set search_path = pg_catalog, public
as $$
begin
  analyze (skip_locked) public.campaigns, public.ad_sets, public.ads, public.staging_id_resolution;
end
$$;
revoke execute on function analyze_staging(), analyze_entities() from public;
grant execute on function analyze_staging(), analyze_entities() to sluice_tenant, sluice_kernel;

-- What people mapped before, remembered per tenant and platform once an import came through with it.
create table upload_mappings (
  tenant_id  text not null references tenants on delete cascade,
  platform   text not null check (platform in ('meta', 'google', 'tiktok')),
  header     text not null check (length(header) between 1 and 500),
  -- Null: the column is left out.
  field      text,
  updated_by text not null,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, platform, header)
);
select guard_tenant_table('upload_mappings');

-- Files that were found in the watched folder, each once: by its path, size and time of change.
create table dropped_files (
  tenant_id   text not null references tenants on delete cascade,
  path        text not null,
  size_bytes  bigint not null,
  modified_at timestamptz not null,
  upload_id   uuid,
  -- Why no upload was made of it.
  error_text  text,
  seen_at     timestamptz not null default clock_timestamp(),
  primary key (tenant_id, path, size_bytes, modified_at)
);
select guard_tenant_table('dropped_files');
grant select, insert on dropped_files to sluice_intake;

-- Whoever acts for a tenant reads everything here, and writes none of it: that is for the roles below.
grant select on data_uploads, staging_rows, campaigns, ad_sets, ads, daily_metrics to sluice_tenant;
grant select, insert, update on upload_slots to sluice_tenant;
grant select, insert, update, delete on upload_mappings to sluice_tenant;

grant select, insert on data_uploads to sluice_intake;
grant update (status, error_code, error_text, mapping, mapping_version, review, force_partial, finished_at, undone_at,
  updated_at) on data_uploads to sluice_intake;

grant select, insert on staging_rows to sluice_parse;
grant select on data_uploads to sluice_parse;
grant update (status, error_code, error_text, total_rows, valid_rows, invalid_rows, warnings, layout, finished_at,
  updated_at) on data_uploads to sluice_parse;

grant select on data_uploads, staging_rows to sluice_promote;
grant update (promotion_error, promotion_warning) on staging_rows to sluice_promote;
grant select, insert, update, delete on staging_id_resolution to sluice_promote;
grant select, insert, update, delete on campaigns, ad_sets, ads, daily_metrics to sluice_promote;
grant update (status, error_code, error_text, row_count, promoted_rows, failed_rows, campaigns_upserted,
  ad_sets_upserted, ads_upserted, daily_metrics_upserted, affected_dates, warnings, event_emitted, finished_at,
  undone_at, updated_at) on data_uploads to sluice_promote;

grant select, delete on staging_rows, staging_id_resolution to sluice_cleanup;
grant select on data_uploads to sluice_cleanup;

-- Erasure.
grant delete on staging_rows, staging_id_resolution, daily_metrics, data_uploads to sluice_kernel;
