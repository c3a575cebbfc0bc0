-- The tenant of the demo may call the demo's own servers, which listen on this port of the machine's loopback address.
alter table tenants add column demo_port integer check (demo_port between 1 and 65535);

-- Without this the erasure of a tenant with a connector on a server of its own failed: its servers went before it.
alter table airbyte_servers
  add constraint airbyte_servers_tenant_id_fkey
    foreign key (tenant_id) references tenants (tenant_id) on delete cascade;
