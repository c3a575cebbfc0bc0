drop table office_candidates;
drop table offices;

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
  -- Reading is what the proof of an erasure needs everywhere; every right to write is granted by name.
  execute format('grant select on %s to sluice_kernel', target);
end
$$;

do $$
declare
  v_table regclass;
begin
  for v_table in select p.polrelid from pg_policy p where p.polname = 'owner_rows' loop
    execute format('drop policy owner_rows on %s', v_table);
  end loop;
end
$$;
drop function show_rows_to_owner(regclass);
