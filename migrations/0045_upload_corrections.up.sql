-- Cells of a report that a person corrected during review. The file stays as it is: they are applied while it is read.

create table upload_corrections (
  tenant_id    text not null,
  upload_id    uuid not null,
  row_index    integer not null,
  -- Its place in the file: names of columns may repeat, and are of any length.
  column_index integer not null,
  line_no      integer,
  header       text not null,
  old_value    text not null,
  new_value    text not null,
  user_id      text not null,
  created_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, upload_id, row_index, column_index)
);
select guard_tenant_table('upload_corrections');

grant select on upload_corrections to sluice_tenant;
grant select, insert, update, delete on upload_corrections to sluice_intake;
-- Erasure.
grant delete on upload_corrections to sluice_kernel;
