-- Reports of platforms that older versions do not know stay: the constraints of old are checked for new rows only.
alter table upload_mappings
  drop constraint upload_mappings_platform_check,
  add constraint upload_mappings_platform_check check (platform in ('meta', 'google', 'tiktok')) not valid;

alter table data_uploads
  drop column platform_version,
  drop constraint data_uploads_platform_check,
  add constraint data_uploads_platform_check check (platform in ('meta', 'google', 'tiktok')) not valid;

drop table upload_platforms;
