-- Every row of an upload that has ended was promoted or has failed, also when it ended before promotion.
grant update (failed_rows) on data_uploads to sluice_intake, sluice_parse;

-- The policies hold for the owner as well, who acts for no tenant here.
alter table data_uploads no force row level security;
update data_uploads
   set failed_rows = total_rows - promoted_rows
 where status = 'failed'
   and failed_rows <> total_rows - promoted_rows;
alter table data_uploads force row level security;
