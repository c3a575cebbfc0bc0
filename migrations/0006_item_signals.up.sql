-- What became of items since the last event that told of it: events are summaries, so that no item costs one of its
-- own, and the counts of all of them still add up. Moved in the statement that moves the counts.
alter table item_jobs
  add column unreported jsonb not null default '{}',
  add column reported_at timestamptz;

-- Right after an ingest the planner takes a job for a handful of rows, and PostgreSQL before 17 then reads all of them
-- to find the few that a statement names by their ids. So an ingest leaves statistics behind. Only the owner of a table
-- may make them, and whoever meets another one at it has nothing to do.
create function analyze_items() returns void
language plpgsql
security definer
set search_path = pg_catalog, public
as $$
begin
  analyze (skip_locked) public.job_items (tenant_id, job_id, id, status, due_at, crashes, updated_at);
end
$$;
revoke execute on function analyze_items() from public;
grant execute on function analyze_items() to sluice_tenant;
