drop table upload_source_contents;
drop table upload_sources;
