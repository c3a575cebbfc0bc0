/** When virtual time begins, for the database, which wants dates. */
export const startOfTimeMs = Date.UTC(2030, 0, 1);

/**
 * Puts a clock into a test's own database that only the test turns. The kernel's SQL asks for clock_timestamp(), which
 * is looked up along the search path when it runs: with `public` first it finds this one, in functions too.
 */
export const virtualClock = `
  create table virtual_clock (at timestamptz not null);
  insert into virtual_clock values (to_timestamp(${startOfTimeMs / 1000}));
  grant select on virtual_clock to public;
  create function public.clock_timestamp() returns timestamptz
  language sql volatile
  as 'select at from public.virtual_clock';
  -- Defaults were looked up when the table was made.
  alter table workers alter column heartbeat_at set default public.clock_timestamp();
  do $$
  declare
    pinned regprocedure;
  begin
    -- Functions that pin their path find the clock of PostgreSQL first.
    for pinned in
      select p.oid::regprocedure
        from pg_proc p
       where p.pronamespace = 'public'::regnamespace and p.proconfig::text like '%search_path=%'
    loop
      execute format('alter function %s set search_path = public, pg_catalog, pg_temp', pinned);
    end loop;
    execute format('alter database %I set search_path = public, pg_catalog', current_database());
    -- What is compared are answers, not what a power cut leaves.
    execute format('alter database %I set synchronous_commit = off', current_database());
  end $$`;
