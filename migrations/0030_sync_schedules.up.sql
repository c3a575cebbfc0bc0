-- Schedules by cron expression, beside cadences; and how many syncs run, for a cap on them.
alter table connectors
  add column cron text check (length(cron) <= 200),
  add column time_zone text not null default 'UTC' check (length(time_zone) <= 100);
alter table connectors add column airbyte_workspace_id text check (length(airbyte_workspace_id) <= 200);

-- Syncs that run at Airbyte or are being triggered, over all tenants: a tenant's slice may know how many, and no more.
create function count_running_syncs(p_workspace text, out total bigint, out in_workspace bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
  select count(*), count(*) filter (where c.airbyte_workspace_id = p_workspace)
    from only ingestion_jobs j
    left join connectors c on c.tenant_id = j.tenant_id and c.connector_id = j.connector_id
   where j.pipeline = 'sync'
     and j.status = 'running'
     and (j.run_id is not null or j.stage = 'triggering')
$$;
revoke all on function count_running_syncs(text) from public;
grant execute on function count_running_syncs(text) to sluice_tenant;
