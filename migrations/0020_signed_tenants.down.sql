do $$
declare
  v_function regprocedure;
  v_path text;
begin
  for v_function, v_path in
    select p.oid, replace(split_part(c.setting, '=', 2), ', pg_temp', '')
      from pg_proc p
     cross join lateral unnest(p.proconfig) as c (setting)
     where p.pronamespace = 'public'::regnamespace
       and c.setting like 'search_path=%, pg_temp'
  loop
    execute format('alter function %s set search_path = %s', v_function, v_path);
  end loop;
end
$$;

create or replace function guard_tenant_table(target regclass) returns void
language plpgsql
as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant_rows on %s using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())',
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
  for v_table in
    select p.polrelid from pg_policy p where p.polname = 'tenant_rows' order by p.polrelid::regclass::text
  loop
    execute format(
      'alter policy tenant_rows on %s using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())',
      v_table);
  end loop;
end
$$;

create or replace function current_tenant() returns text
language sql stable
-- After a transaction the setting is '', not null: both mean "no tenant", and no row may match.
return nullif(current_setting('app.tenant_id', true), '');
comment on function current_tenant() is null;

drop table tenant_signing;
