-- Whether sums of figures need an index by campaign: the questions of the Data screen over 1,022,000 rows of one
-- workspace, without and with it.
--   psql "$DATABASE_URL" -f bench/experiments/figure-sums.sql      (an empty database of a scratch server)
-- Each question is asked three times, warm; read the middle time. The shape is that of figures/summary-store.ts: added up
-- by the stored column first, and only the sums are named and sorted.
\set QUIET on
\timing off
set jit = off;
set work_mem = '32MB';
drop schema if exists figure_sums cascade;
create schema figure_sums;
set search_path = figure_sums;

create table daily_metrics (
  tenant_id text not null, metric_id bigint generated always as identity, workspace_id uuid not null, client_id uuid,
  platform text not null, metric_date date not null, campaign_id uuid, ad_set_id uuid, ad_id uuid, impressions bigint,
  clicks bigint, link_clicks bigint, reach bigint, spend numeric, conversions numeric, conversion_value numeric,
  currency text, primary key (tenant_id, metric_id));

-- 28 campaigns of 10 ad sets of 10 ads, on 365 days, in two currencies; written ad by ad, as reports bring them.
create function id_of(text) returns uuid language sql immutable as $$ select md5($1)::uuid $$;
insert into daily_metrics (tenant_id, workspace_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions,
                           clicks, spend, conversions, conversion_value, currency)
select 'one', id_of('workspace'), 'meta', date '2025-01-01' + day, id_of('c' || ad / 100), id_of('s' || ad / 10),
       id_of('a' || ad), 1000 + ad % 97, 10 + day % 7, (ad % 50) + 0.25, day % 3, (day % 3) * 19.99,
       case when ad % 2 = 0 then 'EUR' else 'USD' end
  from generate_series(0, 2799) ad, generate_series(0, 364) day;
create index daily_metrics_by_date on daily_metrics (workspace_id, metric_date, metric_id);
vacuum analyze daily_metrics;

\set sums 'count(*), sum(impressions), sum(clicks), sum(spend), sum(conversions), sum(conversion_value)'
\set ours 'tenant_id = ''one'' and workspace_id = id_of(''workspace'')'
prepare by_day as select metric_date, currency, :sums from daily_metrics where :ours group by 1, 2;
prepare by_campaign as select campaign_id, currency, :sums from daily_metrics where :ours group by 1, 2;
prepare by_ad as select ad_id, currency, :sums from daily_metrics where :ours group by 1, 2;
prepare month_by_campaign as
  select campaign_id, currency, :sums from daily_metrics
   where :ours and metric_date between '2025-12-02' and '2025-12-31' group by 1, 2;
prepare one_campaign as
  select metric_date, currency, :sums from daily_metrics where :ours and campaign_id = id_of('c7') group by 1, 2;
prepare one_campaign_month as
  select metric_date, currency, :sums from daily_metrics
   where :ours and campaign_id = id_of('c7') and metric_date between '2025-12-02' and '2025-12-31' group by 1, 2;

\o /dev/null
\timing on
\echo without a further index
\echo a year by day
execute by_day; execute by_day; execute by_day;
\echo a year by campaign
execute by_campaign; execute by_campaign; execute by_campaign;
\echo a year by ad
execute by_ad; execute by_ad; execute by_ad;
\echo 30 days by campaign
execute month_by_campaign; execute month_by_campaign; execute month_by_campaign;
\echo one campaign, a year by day
execute one_campaign; execute one_campaign; execute one_campaign;
\echo one campaign, 30 days
execute one_campaign_month; execute one_campaign_month; execute one_campaign_month;

\timing off
create index on daily_metrics (tenant_id, campaign_id, metric_date);
vacuum analyze daily_metrics;
\timing on
\echo with an index by campaign and day
\echo a year by day
execute by_day; execute by_day; execute by_day;
\echo a year by campaign
execute by_campaign; execute by_campaign; execute by_campaign;
\echo a year by ad
execute by_ad; execute by_ad; execute by_ad;
\echo 30 days by campaign
execute month_by_campaign; execute month_by_campaign; execute month_by_campaign;
\echo one campaign, a year by day
execute one_campaign; execute one_campaign; execute one_campaign;
\echo one campaign, 30 days
execute one_campaign_month; execute one_campaign_month; execute one_campaign_month;
\timing off
\o
drop schema figure_sums cascade;
