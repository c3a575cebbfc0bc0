drop table api_keys;
drop table users;
drop table workspaces;
drop table erased_tenants;
drop table tenants;
drop function guard_tenant_table(regclass);
drop function current_tenant();
