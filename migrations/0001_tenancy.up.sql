-- Tenants and who may act for them. Every table with a tenant_id goes through guard_tenant_table.

create function current_tenant() returns text
language sql stable
-- After a transaction the setting is '', not null: both mean "no tenant", and no row may match.
return nullif(current_setting('app.tenant_id', true), '');

create function guard_tenant_table(target regclass) returns void
language plpgsql
as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant_rows on %s using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())',
    target);
  execute format(
    'create policy kernel_rows on %s to sluice_kernel using (true) with check (true)',
    target);
  -- Reading is what the proof of an erasure needs everywhere; every right to write is granted by name.
  execute format('grant select on %s to sluice_kernel', target);
end
$$;
revoke execute on function guard_tenant_table(regclass) from public;

create table tenants (
  tenant_id  text primary key check (length(tenant_id) between 1 and 200),
  name       text not null,
  plan       text not null default 'free' check (plan in ('free', 'growth', 'enterprise')),
  limits     jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
select guard_tenant_table('tenants');
grant select on tenants to sluice_tenant;
grant select, insert, update, delete on tenants to sluice_kernel;

-- Only a hash: an erased tenant leaves nothing behind, yet its old tokens must not bring it back.
create table erased_tenants (
  tenant_hash text primary key,
  erased_at   timestamptz not null default clock_timestamp()
);
grant select, insert, delete on erased_tenants to sluice_kernel;

create table workspaces (
  tenant_id    text not null references tenants on delete cascade,
  workspace_id uuid not null,
  name         text not null check (length(name) between 1 and 200),
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, workspace_id),
  unique (tenant_id, name)
);
select guard_tenant_table('workspaces');
grant select, insert, update, delete on workspaces to sluice_tenant;
grant select, insert on workspaces to sluice_kernel;

create table users (
  tenant_id    text not null references tenants on delete cascade,
  user_id      text not null check (length(user_id) between 1 and 200),
  role         text not null check (role in ('member', 'admin', 'support', 'service', 'operator')),
  name         text,
  email        text,
  disabled_at  timestamptz,
  created_at   timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, user_id)
);
select guard_tenant_table('users');
grant select, update on users to sluice_tenant;
grant select, insert, update on users to sluice_kernel;

create table api_keys (
  tenant_id    text not null references tenants on delete cascade,
  key_id       uuid not null,
  name         text not null check (length(name) between 1 and 200),
  role         text not null check (role in ('member', 'admin', 'support', 'service', 'operator')),
  key_hash     bytea not null,
  key_hint     text not null,
  created_by   text not null,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  primary key (tenant_id, key_id)
);
create index api_keys_by_hash on api_keys (key_hash);
select guard_tenant_table('api_keys');
grant select, insert, update on api_keys to sluice_tenant;
grant select, update on api_keys to sluice_kernel;
