drop function count_running_syncs(text);
alter table connectors
  drop column airbyte_workspace_id,
  drop column cron,
  drop column time_zone;
