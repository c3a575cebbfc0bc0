-- Values of rows that a person corrected: what they were, what they are, who and when. Goes with its job.
create table item_corrections (
  tenant_id     text not null,
  job_id        uuid not null,
  correction_id bigint generated always as identity,
  item_id       bigint not null,
  row_no        integer not null,
  column_name   text not null,
  -- Null as SQL: the row did not have the column.
  old_value     json,
  new_value     json not null,
  user_id       text not null,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, job_id, correction_id),
  foreign key (tenant_id, job_id) references item_jobs on delete cascade
);
select guard_tenant_table('item_corrections');
grant select, insert on item_corrections to sluice_tenant;
grant select on item_corrections to sluice_kernel;

-- Failed rows by their reason, in the order of the file. Rows that never fail pay nothing.
create index job_items_by_reason on job_items (tenant_id, job_id, error_code, id)
 where status in ('ERROR', 'NOT_FOUND') and error_code is not null;
