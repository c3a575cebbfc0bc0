-- A transaction names its tenant in a setting, which any statement can change: whoever got SQL into a request could
-- have named another tenant. So the name counts only with a signature that the program makes with this key, which the
-- roles that work for tenants cannot read. Programs of older versions do not sign; they are served until none is left.
create table tenant_signing (
  is_single   boolean primary key default true check (is_single),
  key         bytea not null check (length(key) = 32),
  is_required boolean not null
);
grant select on tenant_signing to sluice_kernel;

insert into tenant_signing (key, is_required)
select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
       -- A login that may work for tenants and as the kernel is one of an older version, or made by an administrator.
       not exists (
         select m.member
           from pg_auth_members m
          where m.roleid in ('sluice_tenant'::regrole, 'sluice_kernel'::regrole)
          group by m.member
         having count(distinct m.roleid) = 2);

create or replace function current_tenant() returns text
language plpgsql stable parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- After a transaction the settings are '', not null.
  v_tenant text := nullif(current_setting('app.tenant_id', true), '');
  v_signature text := coalesce(current_setting('app.tenant_signature', true), '');
begin
  if v_tenant is null then
    return null;
  end if;
  if exists (
    select
      from public.tenant_signing s
     where v_signature = encode(sha256(s.key || sha256(s.key || convert_to(v_tenant, 'UTF8'))), 'hex')
        or (v_signature = '' and not s.is_required)) then
    return v_tenant;
  end if;
  -- The owner of the database reads and mends by hand.
  if v_signature = '' and pg_has_role(session_user, current_user, 'member') then
    return v_tenant;
  end if;
  raise insufficient_privilege using
    message = 'The tenant of this transaction is not signed by Sluice', constraint = 'tenant_signature';
end
$$;
comment on function current_tenant() is
  'The tenant of this transaction; its name has to be signed. In policies a sub-select: one call per statement.';

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
  for v_table in
    select p.polrelid from pg_policy p where p.polname = 'tenant_rows' order by p.polrelid::regclass::text
  loop
    execute format(
      'alter policy tenant_rows on %s using (tenant_id = (select current_tenant()))'
      ' with check (tenant_id = (select current_tenant()))',
      v_table);
  end loop;
end
$$;

-- Without pg_temp at the end it is searched first: somebody's temporary table could stand in for a table of ours.
do $$
declare
  v_function regprocedure;
  v_path text;
begin
  for v_function, v_path in
    select p.oid, split_part(c.setting, '=', 2)
      from pg_proc p
     cross join lateral unnest(p.proconfig) as c (setting)
     where p.pronamespace = 'public'::regnamespace
       and c.setting like 'search_path=%'
       and c.setting not like '%pg_temp'
  loop
    execute format('alter function %s set search_path = %s, pg_temp', v_function, v_path);
  end loop;
end
$$;
