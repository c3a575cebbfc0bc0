-- What happens to the rows of a file, under a name: the processor, its options and the mapping of columns.
create table item_templates (
  tenant_id  text not null,
  name       text not null check (length(name) between 1 and 64),
  processor  text not null,
  options    json not null default '{}',
  mapping    json,
  updated_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, name)
);
select guard_tenant_table('item_templates');
grant select, insert, update, delete on item_templates to sluice_tenant;
grant select, delete on item_templates to sluice_kernel;
