-- For BI tools: a login of its own reads one tenant's figures through these views and reaches nothing else.

create table bi_logins (
  tenant_id   text not null references tenants on delete cascade,
  -- A role of the cluster. It names nobody: every login of the cluster can list the roles.
  role_name   text not null,
  description text not null default '',
  created_at  timestamptz not null default clock_timestamp(),
  primary key (tenant_id, role_name)
);
select guard_tenant_table('bi_logins');

create schema sluice_bi;
comment on schema sluice_bi is 'Figures of one tenant, for BI tools. Names and columns stay; new ones may be added.';

-- The tenant is that of the login, which no SET changes: neither a setting nor SET ROLE touches session_user.
create function sluice_bi.login_tenant() returns text
language sql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $$
  select l.tenant_id from public.bi_logins l where l.role_name = session_user
$$;

create view sluice_bi.campaigns with (security_barrier) as
select c.workspace_id, w.name as workspace, c.client_id, c.platform, c.campaign_id, c.external_id, c.name, c.status,
       c.type, c.updated_at
  from public.campaigns c
  left join public.workspaces w on w.tenant_id = c.tenant_id and w.workspace_id = c.workspace_id
 where c.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.campaigns is 'Campaigns as the newest upload states them.';

create view sluice_bi.ad_sets with (security_barrier) as
select s.workspace_id, w.name as workspace, s.client_id, s.platform, s.ad_set_id, s.external_id, s.name, s.status,
       s.campaign_id, c.name as campaign_name, s.updated_at
  from public.ad_sets s
  left join public.workspaces w on w.tenant_id = s.tenant_id and w.workspace_id = s.workspace_id
  left join public.campaigns c on c.tenant_id = s.tenant_id and c.campaign_id = s.campaign_id
 where s.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.ad_sets is 'Ad sets (ad groups) as the newest upload states them.';

create view sluice_bi.ads with (security_barrier) as
select a.workspace_id, w.name as workspace, a.client_id, a.platform, a.ad_id, a.external_id, a.name, a.status,
       a.campaign_id, c.name as campaign_name, a.ad_set_id, s.name as ad_set_name, a.updated_at
  from public.ads a
  left join public.workspaces w on w.tenant_id = a.tenant_id and w.workspace_id = a.workspace_id
  left join public.campaigns c on c.tenant_id = a.tenant_id and c.campaign_id = a.campaign_id
  left join public.ad_sets s on s.tenant_id = a.tenant_id and s.ad_set_id = a.ad_set_id
 where a.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.ads is 'Ads as the newest upload states them.';

create view sluice_bi.daily_metrics with (security_barrier) as
select p.metric_date, p.workspace_id, w.name as workspace, p.client_id, p.platform,
       p.campaign_id, c.external_id as campaign_external_id, c.name as campaign_name,
       p.ad_set_id, s.external_id as ad_set_external_id, s.name as ad_set_name,
       p.ad_id, a.external_id as ad_external_id, a.name as ad_name,
       p.impressions, p.clicks, p.link_clicks, p.reach, p.spend, p.conversions, p.conversion_value, p.currency,
       p.last_upload as upload_id, u.filename, p.line_no as line, p.updated_at
  from public.daily_metrics p
  left join public.workspaces w on w.tenant_id = p.tenant_id and w.workspace_id = p.workspace_id
  left join public.campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
  left join public.ad_sets s on s.tenant_id = p.tenant_id and s.ad_set_id = p.ad_set_id
  left join public.ads a on a.tenant_id = p.tenant_id and a.ad_id = p.ad_id
  left join public.data_uploads u on u.tenant_id = p.tenant_id and u.upload_id = p.last_upload
 where p.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.daily_metrics is
  'Figures by day. Never add up spend or conversion_value over several currencies.';
comment on column sluice_bi.daily_metrics.clicks is 'All clicks.';
comment on column sluice_bi.daily_metrics.link_clicks is 'Clicks on the link of the ad.';
comment on column sluice_bi.daily_metrics.reach is 'People. They cannot be added up; null where lines were.';
comment on column sluice_bi.daily_metrics.spend is 'In the currency of the row.';
comment on column sluice_bi.daily_metrics.upload_id is 'The upload that gave the row its values.';
comment on column sluice_bi.daily_metrics.line is 'The line of that file, the first where several were added up.';

create view sluice_bi.period_metrics with (security_barrier) as
select p.date_from, p.date_to, p.workspace_id, w.name as workspace, p.client_id, p.platform,
       p.campaign_id, c.external_id as campaign_external_id, c.name as campaign_name,
       p.ad_set_id, s.external_id as ad_set_external_id, s.name as ad_set_name,
       p.ad_id, a.external_id as ad_external_id, a.name as ad_name,
       p.impressions, p.clicks, p.link_clicks, p.reach, p.spend, p.conversions, p.conversion_value, p.currency,
       p.last_upload as upload_id, u.filename, p.line_no as line, p.updated_at
  from public.period_metrics p
  left join public.workspaces w on w.tenant_id = p.tenant_id and w.workspace_id = p.workspace_id
  left join public.campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
  left join public.ad_sets s on s.tenant_id = p.tenant_id and s.ad_set_id = p.ad_set_id
  left join public.ads a on a.tenant_id = p.tenant_id and a.ad_id = p.ad_id
  left join public.data_uploads u on u.tenant_id = p.tenant_id and u.upload_id = p.last_upload
 where p.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.period_metrics is
  'Figures of reports without a day. Ranges may overlap, with each other and with days: add up one range only.';

create view sluice_bi.metric_breakdowns with (security_barrier) as
select p.date_from, p.date_to, p.workspace_id, w.name as workspace, p.client_id, p.platform,
       p.campaign_id, c.name as campaign_name, p.ad_set_id, s.name as ad_set_name, p.ad_id, a.name as ad_name,
       p.dimensions, p.impressions, p.clicks, p.link_clicks, p.reach, p.spend, p.conversions, p.conversion_value,
       p.currency, p.last_upload as upload_id, p.line_no as line, p.updated_at
  from public.metric_breakdowns p
  left join public.workspaces w on w.tenant_id = p.tenant_id and w.workspace_id = p.workspace_id
  left join public.campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
  left join public.ad_sets s on s.tenant_id = p.tenant_id and s.ad_set_id = p.ad_set_id
  left join public.ads a on a.tenant_id = p.tenant_id and a.ad_id = p.ad_id
 where p.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.metric_breakdowns is
  'The lines of reports with a breakdown: daily_metrics and period_metrics have their sums.';
comment on column sluice_bi.metric_breakdowns.dimensions is 'What the line is about, by column of the report.';

create view sluice_bi.uploads with (security_barrier) as
select u.upload_id, u.workspace_id, w.name as workspace, u.client_id, u.platform, u.filename, u.status,
       u.promoted_rows, u.failed_rows, u.created_at, u.finished_at, u.undone_at
  from public.data_uploads u
  left join public.workspaces w on w.tenant_id = u.tenant_id and w.workspace_id = u.workspace_id
 where u.tenant_id = (select sluice_bi.login_tenant());
comment on view sluice_bi.uploads is 'Uploads and how they ended.';

-- To everybody: whoever has no row in bi_logins sees no row here, and a view that is added later needs no new grants.
grant usage on schema sluice_bi to public;
grant select on all tables in schema sluice_bi to public;
