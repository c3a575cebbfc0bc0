revoke update (failed_rows) on data_uploads from sluice_intake, sluice_parse;
