drop table adapter_files;
drop table adapters;
