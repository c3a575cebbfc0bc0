-- Row-level security is forced, so an owner who is no superuser saw no rows: the SELECTs that operators work from
-- showed nothing. The owner may read every row; to write, it still has to lift the force by hand. The policy names the
-- owner, so statements of all other roles are planned as before.
create function show_rows_to_owner(target regclass) returns void
language plpgsql
as $$
begin
  execute format('drop policy if exists owner_rows on %s', target);
  execute format(
    'create policy owner_rows on %s for select to %s using (true)',
    target, (select c.relowner::regrole from pg_class c where c.oid = target));
end
$$;
revoke execute on function show_rows_to_owner(regclass) from public;
comment on function show_rows_to_owner(regclass) is
  'Lets the present owner of the table read all rows. Every migration run calls it for tables whose owner has changed.';

create or replace function guard_tenant_table(target regclass) returns void
language plpgsql
as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant_rows on %s using (tenant_id = (select current_tenant()))'
    ' with check (tenant_id = (select current_tenant()))',
    target);
  execute format(
    'create policy kernel_rows on %s to sluice_kernel using (true) with check (true)',
    target);
  perform show_rows_to_owner(target);
  -- Reading is what the proof of an erasure needs everywhere; every right to write is granted by name.
  execute format('grant select on %s to sluice_kernel', target);
end
$$;

-- The tables that are there get the policy at the end of the migration run, each in a transaction of its own: a
-- transaction that locks all of them waits for everybody at work, and everybody waits for it.

-- What one process of all does: each kind of such work is an office. Every process asked the database by itself before,
-- which grows with their number.
create table offices (
  office     text primary key check (length(office) between 1 and 100),
  holder     uuid not null,
  -- Rises with every change of the holder.
  term       bigint not null default 1,
  elected_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table offices is
  'Which process holds an office. It renews its term; when the term expires, another takes over.';
grant select, insert, update on offices to sluice_kernel;

create table office_candidates (
  candidate  uuid primary key,
  offices    text[] not null,
  expires_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table office_candidates is
  'Processes that would take over. They take turns at looking, so their number decides how often each one looks.';
grant select, insert, update, delete on office_candidates to sluice_kernel;
