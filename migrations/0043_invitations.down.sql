revoke delete on users from sluice_kernel;
alter table users drop column invited_at;
