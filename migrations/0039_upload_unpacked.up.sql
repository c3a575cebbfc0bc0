-- How a report was unpacked from a workbook, a gzip file or an archive; null when the file came as it is read.
alter table data_uploads add column unpacked jsonb;
