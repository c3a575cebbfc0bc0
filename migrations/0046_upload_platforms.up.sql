-- Platforms of tenants' own. Every version of a profile is kept: an upload is read with the one that it came in with.
create table upload_platforms (
  tenant_id  text not null,
  name       text not null check (name ~ '^[a-z][a-z0-9_-]{1,39}$'),
  version    integer not null check (version > 0),
  profile    jsonb not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Of the newest version: the platform takes no more reports.
  deleted_at timestamptz,
  primary key (tenant_id, name, version)
);
select guard_tenant_table('upload_platforms');
grant select, insert on upload_platforms to sluice_tenant;
grant update (deleted_at) on upload_platforms to sluice_tenant;
grant select, delete on upload_platforms to sluice_kernel;

alter table data_uploads
  drop constraint data_uploads_platform_check,
  add constraint data_uploads_platform_check check (platform ~ '^[a-z][a-z0-9_-]{1,39}$'),
  -- Null for platforms that come with Sluice.
  add column platform_version integer;

alter table upload_mappings
  drop constraint upload_mappings_platform_check,
  add constraint upload_mappings_platform_check check (platform ~ '^[a-z][a-z0-9_-]{1,39}$');
