drop table upload_corrections;
