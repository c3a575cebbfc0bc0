alter table data_uploads drop column unpacked;
