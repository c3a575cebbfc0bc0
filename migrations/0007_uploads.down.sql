drop table dropped_files, upload_mappings, daily_metrics, ads, ad_sets, campaigns, staging_id_resolution, staging_rows,
  upload_slots, data_uploads;
drop function facts_have_parents(), parents_of_facts_stay(), keys_stay(), analyze_staging(), analyze_entities(),
  time_ordered_uuid();
