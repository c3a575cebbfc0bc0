-- What three foreign keys of daily_metrics cost against one check by statement. On a migrated, empty database:
--   psql "$DATABASE_URL" -f bench/experiments/parents-of-facts.sql
-- Everything happens in one transaction, which is rolled back.
\timing on
\set QUIET on
begin;
set local jit = off;
set local work_mem = '64MB';
insert into tenants (tenant_id, name) values ('experiment', 'Experiment');
insert into workspaces (tenant_id, workspace_id, name)
values ('experiment', '00000000-0000-4000-8000-000000000001', 'Main');
create temporary table known as
select n, gen_random_uuid() as campaign_id, gen_random_uuid() as ad_set_id, gen_random_uuid() as ad_id
  from generate_series(1, 3512) n;
insert into campaigns (tenant_id, campaign_id, workspace_id, platform, external_id, is_name_key, as_of,
  created_by_upload, last_upload)
select 'experiment', campaign_id, '00000000-0000-4000-8000-000000000001', 'meta', n, false, now(), campaign_id,
       campaign_id
  from known;
insert into ad_sets (tenant_id, ad_set_id, workspace_id, platform, external_id, is_name_key, as_of, created_by_upload,
  last_upload)
select 'experiment', ad_set_id, '00000000-0000-4000-8000-000000000001', 'meta', n, false, now(), ad_set_id, ad_set_id
  from known;
insert into ads (tenant_id, ad_id, workspace_id, platform, external_id, is_name_key, as_of, created_by_upload,
  last_upload)
select 'experiment', ad_id, '00000000-0000-4000-8000-000000000001', 'meta', n, false, now(), ad_id, ad_id
  from known;
analyze known, campaigns, ad_sets, ads;
create function pg_temp.write_facts() returns bigint language sql as $$
  with put as (
    insert into daily_metrics (tenant_id, workspace_id, platform, metric_date, campaign_id, ad_set_id, ad_id, spend,
      as_of, created_by_upload, last_upload)
    select 'experiment', '00000000-0000-4000-8000-000000000001', 'meta', date '2026-01-01' + day, campaign_id,
           ad_set_id, ad_id, day, now(), ad_id, ad_id
      from known, generate_series(1, 90) day
     order by ad_id, day
    returning 1)
  select count(*) from put
$$;

\echo 316,080 facts, parents checked by the statement:
select pg_temp.write_facts();

truncate daily_metrics;
alter table daily_metrics disable trigger daily_metrics_parents;
\echo nothing checked:
select pg_temp.write_facts();

truncate daily_metrics;
alter table daily_metrics
  add foreign key (tenant_id, campaign_id) references campaigns,
  add foreign key (tenant_id, ad_set_id) references ad_sets,
  add foreign key (tenant_id, ad_id) references ads;
\echo three foreign keys (they are checked at the end of the statement):
select pg_temp.write_facts();
rollback;
