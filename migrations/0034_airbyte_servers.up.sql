-- Airbyte servers of tenants' own, beside the one of the installation.
create table airbyte_servers (
  tenant_id    text not null,
  server       text not null check (length(server) <= 100),
  base_url     text not null check (length(base_url) <= 2000),
  auth         text not null check (auth in ('token', 'client', 'basic')),
  identity     text check (length(identity) <= 500),
  secret_name  text not null,
  workspace_id text check (length(workspace_id) <= 200),
  created_by   text not null,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, server)
);
select guard_tenant_table('airbyte_servers');
grant select, insert, update, delete on airbyte_servers to sluice_tenant;
grant select, delete on airbyte_servers to sluice_kernel;

alter table connectors
  add column airbyte_server text,
  add constraint connectors_airbyte_server foreign key (tenant_id, airbyte_server)
      references airbyte_servers (tenant_id, server);
create index ix_connectors_airbyte_server on connectors (tenant_id, airbyte_server) where airbyte_server is not null;
