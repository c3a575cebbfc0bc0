alter table airbyte_servers drop constraint airbyte_servers_tenant_id_fkey;
alter table tenants drop column demo_port;
