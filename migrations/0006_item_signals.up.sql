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

-- The job of an item is checked by the statement, once, where a foreign key would check every row of a file against
-- one and the same job: that was 40 % of what an ingest cost the database (docs/decisions/0011). Deleting goes by
-- statement as well, under the rights of whoever deletes the job, which only the kernel may.
alter table job_items drop constraint job_items_tenant_id_job_id_fkey;

create function items_have_a_job() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
declare
  missing text;
begin
  with named as (
    select distinct n.tenant_id, n.job_id from new_items n
  ), there as (
    select p.job_id from item_jobs p join named n using (tenant_id, job_id) for key share of p
  )
  select n.job_id::text into missing from named n where n.job_id not in (select job_id from there) limit 1;
  if missing is not null then
    raise foreign_key_violation using message = format('There is no items job %s', missing), table = 'job_items',
      constraint = 'job_items_job';
  end if;
  return null;
end
$$;
create trigger job_items_job after insert on job_items
  referencing new table as new_items
  for each statement execute function items_have_a_job();

create function items_go_with_their_job() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
begin
  delete from job_items i
   using gone g
   where i.tenant_id = g.tenant_id
     and i.job_id = g.job_id;
  return null;
end
$$;
create trigger item_jobs_gone after delete on item_jobs
  referencing old table as gone
  for each statement execute function items_go_with_their_job();
grant delete on job_items to sluice_kernel;
