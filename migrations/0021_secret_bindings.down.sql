-- A tenant's breakers would be the installation's without their tenant.
alter table circuit_breakers no force row level security;
delete from circuit_breakers where tenant_id is not null;
drop policy tenant_rows on circuit_breakers;
drop policy kernel_rows on circuit_breakers;
alter table circuit_breakers disable row level security;
alter table circuit_breakers drop column tenant_id;
alter table item_jobs drop column user_role;
alter table tenant_secrets drop column hosts, drop column roles, drop column uses;
