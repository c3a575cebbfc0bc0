create or replace function analyze_staging() returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
  analyze (skip_locked) public.staging_rows (tenant_id, upload_id, entity_type, row_index, validation_status);
end
$$;
-- The older program knows neither ranges nor breakdowns: lines of reports without a day go with their table.
drop table metric_breakdowns, period_metrics, staging_repeats;
alter table daily_metrics drop column link_clicks;
alter table staging_rows no force row level security;
delete from staging_rows where entity_type = 'period_metric';
alter table staging_rows force row level security;
alter table staging_rows
  drop constraint staging_rows_entity_type_check,
  drop constraint staging_rows_check1,
  add constraint staging_rows_entity_type_check check (entity_type in ('campaign', 'ad_set', 'ad', 'daily_metric')),
  add constraint staging_rows_check1
    check (metric_date is null or (entity_type = 'daily_metric' and validation_status = 'valid')),
  drop column dimensions,
  drop column link_clicks,
  drop column date_to,
  drop column line_no;
revoke update (promotion_error) on staging_rows from sluice_parse;
alter table data_uploads
  drop column blockers,
  drop column reconciliation,
  drop column breakdowns_stored,
  drop column period_metrics_upserted,
  drop column date_to,
  drop column date_from,
  drop column origin;
revoke update (review) on data_uploads from sluice_parse;
create or replace function parents_of_facts_stay() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
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
