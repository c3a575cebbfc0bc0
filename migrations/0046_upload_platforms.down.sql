-- Reports of platforms that older versions do not know stay: the constraints of old are checked for new rows only.
alter table upload_mappings
  drop constraint upload_mappings_platform_check,
  add constraint upload_mappings_platform_check check (platform in ('meta', 'google', 'tiktok')) not valid;

alter table data_uploads
  drop column platform_version,
  drop constraint data_uploads_platform_check,
  add constraint data_uploads_platform_check check (platform in ('meta', 'google', 'tiktok')) not valid;

drop table upload_platforms;

-- Valid again where no row has a platform that the older version does not know; otherwise such rows stay as they are.
do $$
begin
  alter table data_uploads validate constraint data_uploads_platform_check;
exception when check_violation then
  raise notice 'Some uploads are of platforms that this version does not know; they are kept';
end
$$;
do $$
begin
  alter table upload_mappings validate constraint upload_mappings_platform_check;
exception when check_violation then
  raise notice 'Some mappings are of platforms that this version does not know; they are kept';
end
$$;
