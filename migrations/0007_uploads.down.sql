drop table dropped_files, upload_mappings, daily_metrics, ads, ad_sets, campaigns, staging_id_resolution, staging_rows,
  upload_slots, data_uploads;
