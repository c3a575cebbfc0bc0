-- What a file says is what is stored: lines of one key are added up, breakdowns are kept line by line, reports without
-- a day have a table of their own, and every upload states how its sums reconcile.

alter table data_uploads
  add column origin text not null default 'request' check (origin in ('request', 'folder', 'adapter', 'pull')),
  -- The range of a report that names none itself, as the request or the reviewer gave it.
  add column date_from date,
  add column date_to date,
  add column period_metrics_upserted integer not null default 0,
  add column breakdowns_stored integer not null default 0,
  -- Per figure: the sums of the lines, of the file's own total row, of what was promoted and of what was refused.
  add column reconciliation jsonb,
  -- Why a person has to look at the upload before it may be promoted.
  add column blockers jsonb not null default '[]',
  add check ((date_from is null) = (date_to is null)),
  add check (date_from <= date_to);

alter table staging_rows
  add column line_no integer,
  -- Of a report without a day: the last day of the range that begins with metric_date.
  add column date_to date,
  add column link_clicks bigint,
  -- Columns that tell lines of one day and ad apart: header to cell.
  add column dimensions jsonb,
  drop constraint staging_rows_entity_type_check,
  drop constraint staging_rows_check1,
  add constraint staging_rows_entity_type_check
    check (entity_type in ('campaign', 'ad_set', 'ad', 'daily_metric', 'period_metric')),
  add constraint staging_rows_check1 check (metric_date is null
    or (entity_type in ('daily_metric', 'period_metric') and validation_status = 'valid'));

-- Lines whose key another line of the file has too. `head_row` is the first line of the key: its row here has the sums
-- of the lines that are added up, and stands for all of them in promotion.
create table staging_repeats (
  tenant_id        text not null,
  upload_id        uuid not null,
  row_index        integer not null,
  head_row         integer not null,
  part             text not null check (part in ('adds', 'duplicate', 'refused')),
  -- Lines with the same key and the same dimensions, from 0.
  occurrence       integer not null,
  lines            integer,
  impressions      numeric,
  clicks           numeric,
  link_clicks      numeric,
  reach            numeric,
  spend            numeric,
  conversions      numeric,
  conversion_value numeric,
  currency         text,
  primary key (tenant_id, upload_id, row_index)
);
create index staging_repeats_of_head on staging_repeats (tenant_id, upload_id, head_row);
select guard_tenant_table('staging_repeats');

alter table daily_metrics add column link_clicks bigint;

-- Reports without a day. They are never mixed into daily sums.
create table period_metrics (
  tenant_id           text not null,
  metric_id           bigint generated always as identity,
  workspace_id        uuid not null,
  client_id           uuid,
  platform            text not null,
  date_from           date not null,
  date_to             date not null,
  campaign_id         uuid,
  ad_set_id           uuid,
  ad_id               uuid,
  impressions         bigint,
  clicks              bigint,
  link_clicks         bigint,
  reach               bigint,
  spend               numeric,
  conversions         numeric,
  conversion_value    numeric,
  currency            text,
  as_of               timestamptz not null,
  created_by_upload   uuid not null,
  last_upload         uuid not null,
  confirmed_by_upload uuid,
  created_at          timestamptz not null default clock_timestamp(),
  updated_at          timestamptz not null default clock_timestamp(),
  primary key (tenant_id, metric_id),
  constraint period_metrics_key unique nulls not distinct
    (tenant_id, workspace_id, client_id, platform, campaign_id, ad_set_id, ad_id, date_from, date_to),
  check (date_from < date_to)
) with (fillfactor = 90);
create index period_metrics_by_date on period_metrics (tenant_id, workspace_id, date_from, metric_id);
create index period_metrics_of_campaign on period_metrics (tenant_id, campaign_id);
create index period_metrics_of_ad_set on period_metrics (tenant_id, ad_set_id);
create index period_metrics_of_ad on period_metrics (tenant_id, ad_id);
select guard_tenant_table('period_metrics');

-- One row per line of a report with a breakdown. The sums of these rows are the rows of daily_metrics and
-- period_metrics.
create table metric_breakdowns (
  tenant_id           text not null,
  breakdown_id        bigint generated always as identity,
  workspace_id        uuid not null,
  client_id           uuid,
  platform            text not null,
  date_from           date not null,
  date_to             date not null,
  campaign_id         uuid,
  ad_set_id           uuid,
  ad_id               uuid,
  -- All columns that the report is broken down by; in `dimensions` the empty cells of the line are left out.
  dimension_names     text[] not null,
  dimensions          jsonb not null,
  -- Dimensions are of any length, and an index takes no more than 2,704 bytes.
  dimensions_hash     bytea not null,
  -- Two lines that only a name identifies may have everything else in common, too.
  occurrence          integer not null default 0,
  impressions         bigint,
  clicks              bigint,
  link_clicks         bigint,
  reach               bigint,
  spend               numeric,
  conversions         numeric,
  conversion_value    numeric,
  currency            text,
  -- The line of the file of `last_upload`.
  line_no             integer,
  as_of               timestamptz not null,
  created_by_upload   uuid not null,
  last_upload         uuid not null,
  confirmed_by_upload uuid,
  created_at          timestamptz not null default clock_timestamp(),
  updated_at          timestamptz not null default clock_timestamp(),
  primary key (tenant_id, breakdown_id),
  constraint metric_breakdowns_key unique nulls not distinct
    (tenant_id, workspace_id, client_id, platform, campaign_id, ad_set_id, ad_id, date_from, date_to, dimensions_hash,
     occurrence),
  check (date_from <= date_to)
) with (fillfactor = 90);
create index metric_breakdowns_by_date on metric_breakdowns (tenant_id, workspace_id, date_from, breakdown_id);
create index metric_breakdowns_of_campaign on metric_breakdowns (tenant_id, campaign_id);
create index metric_breakdowns_of_ad_set on metric_breakdowns (tenant_id, ad_set_id);
create index metric_breakdowns_of_ad on metric_breakdowns (tenant_id, ad_id);
select guard_tenant_table('metric_breakdowns');

create trigger period_metrics_parents after insert on period_metrics
  referencing new table as new_facts for each statement execute function facts_have_parents();
create trigger metric_breakdowns_parents after insert on metric_breakdowns
  referencing new table as new_facts for each statement execute function facts_have_parents();
create trigger period_metrics_keys_stay before update of tenant_id, campaign_id, ad_set_id, ad_id on period_metrics
  for each row execute function keys_stay();
create trigger metric_breakdowns_keys_stay before update of tenant_id, campaign_id, ad_set_id, ad_id
  on metric_breakdowns for each row execute function keys_stay();

create or replace function parents_of_facts_stay() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
  held text;
begin
  case tg_table_name
    when 'campaigns' then
      select g.campaign_id::text into held from gone g
       where exists (select from daily_metrics m where m.tenant_id = g.tenant_id and m.campaign_id = g.campaign_id)
          or exists (select from period_metrics m where m.tenant_id = g.tenant_id and m.campaign_id = g.campaign_id)
          or exists (select from metric_breakdowns m where m.tenant_id = g.tenant_id and m.campaign_id = g.campaign_id)
       limit 1;
    when 'ad_sets' then
      select g.ad_set_id::text into held from gone g
       where exists (select from daily_metrics m where m.tenant_id = g.tenant_id and m.ad_set_id = g.ad_set_id)
          or exists (select from period_metrics m where m.tenant_id = g.tenant_id and m.ad_set_id = g.ad_set_id)
          or exists (select from metric_breakdowns m where m.tenant_id = g.tenant_id and m.ad_set_id = g.ad_set_id)
       limit 1;
    else
      select g.ad_id::text into held from gone g
       where exists (select from daily_metrics m where m.tenant_id = g.tenant_id and m.ad_id = g.ad_id)
          or exists (select from period_metrics m where m.tenant_id = g.tenant_id and m.ad_id = g.ad_id)
          or exists (select from metric_breakdowns m where m.tenant_id = g.tenant_id and m.ad_id = g.ad_id)
       limit 1;
  end case;
  if held is not null then
    raise foreign_key_violation using message = format('%s of %s still has metrics', held, tg_table_name),
      table = tg_table_name, constraint = 'daily_metrics_parents';
  end if;
  return null;
end
$$;

create or replace function analyze_staging() returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
  analyze (skip_locked)
    public.staging_rows (tenant_id, upload_id, entity_type, row_index, validation_status, promotion_error),
    public.staging_repeats;
end
$$;

grant select on period_metrics, metric_breakdowns, staging_repeats to sluice_tenant;
grant update (date_from, date_to, blockers) on data_uploads to sluice_intake;
grant update (review, blockers, reconciliation) on data_uploads to sluice_parse;
grant update (promotion_error) on staging_rows to sluice_parse;
grant select, insert, update on staging_repeats to sluice_parse;
grant select, update on staging_repeats to sluice_promote;
grant select, insert, update, delete on period_metrics, metric_breakdowns to sluice_promote;
grant update (period_metrics_upserted, breakdowns_stored, reconciliation) on data_uploads to sluice_promote;
grant select, delete on staging_repeats to sluice_cleanup;
-- Erasure.
grant delete on staging_repeats, period_metrics, metric_breakdowns to sluice_kernel;
