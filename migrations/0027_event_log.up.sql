-- The event log in partitions, and positions in it that outlive the cluster.
--
-- A reader keeps a snapshot: what was visible in it has been read, and whatever is visible now and was not visible then
-- is new. Nobody waits for open transactions. The order is that of event_id, drawn while the subject is locked.
--
-- Partitions are ranges of event_id. A partition is opened by moving the sequence to its beginning, once a day: so each
-- holds what happened between two points in time, every look-up by id reaches one partition, and an id is unique.
--
-- A transaction id means nothing in another cluster, or after recovery to an earlier point. So the log has eras: each
-- begins with a partition of its own when the program finds that the cluster, its timeline or the table has changed.

create table if not exists event_eras (
  -- Seconds since 1970 when it began, so that eras of two restores of one backup differ. 0: events of older versions,
  -- in the order (xid, event_id).
  era         bigint primary key,
  first_id    bigint not null unique,
  incarnation text,
  reason      text not null,
  began_at    timestamptz not null default clock_timestamp()
);

create table if not exists event_partitions (
  from_id    bigint primary key,
  to_id      bigint not null,
  name       text not null unique,
  era        bigint,
  -- Null: made in advance.
  opened_at  timestamptz,
  -- Whatever has this transaction id or a later one has drawn its ids in this partition or a later one.
  opened_xid xid8,
  -- Its events are past their retention; it is removed as soon as nobody is in the way.
  emptied_at timestamptz,
  check (from_id < to_id)
);

-- The existing table becomes the first partition. What is checked here, while everybody writes, need not be checked
-- while the table is locked.
do $$
declare
  v_last bigint;
  v_bound bigint;
begin
  if exists (select from event_partitions) then
    return;
  end if;
  set local lock_timeout = '2s';
  select last_value into v_last from events_event_id_seq;
  v_bound := (v_last / 1000000000 + 1) * 1000000000;
  if v_bound - v_last < 100000000 then
    v_bound := v_bound + 1000000000;
  end if;
  insert into event_partitions (from_id, to_id, name, era, opened_at) values (0, v_bound, 'events_0', 0, '-infinity');
  execute format('alter table events add constraint events_0_range'
                 ' check (event_id >= 0 and event_id < %s) not valid', v_bound);
end
$$;

-- next transaction

-- A webhook's cursor is a reader's. Programs of the version before move (xid, event_id) only; null: none of this
-- version has moved it yet. In a transaction of its own: who writes deliveries has cursor and events locked.
alter table webhook_cursors
  add column if not exists era bigint,
  add column if not exists position jsonb,
  add column if not exists high bigint not null default 0,
  add column if not exists low bigint not null default 0,
  add column if not exists open xid8[] not null default '{}';

-- next transaction

alter table events validate constraint events_0_range;

-- next transaction

set local lock_timeout = '2s';
-- Waits for everybody who is writing: afterwards every event in it has been committed.
lock table events in access exclusive mode;

alter table events
  alter column event_id drop identity,
  add column horizon xid8;
alter table events rename to events_0;
alter index events_pkey rename to events_0_pkey;
alter index ix_events_subject rename to ix_events_0_subject;
alter index ix_events_age rename to ix_events_0_age;
-- Only the owner can reach a partition; everybody else goes through the parent, whose policies count then.
revoke all on events_0 from sluice_tenant, sluice_kernel;

create sequence event_ids as bigint;
grant usage on sequence event_ids to sluice_tenant, sluice_kernel;

-- The transaction id is assigned before the event's id is drawn: readers rely on the order of these two columns.
create table events (
  tenant_id      text not null,
  xid            xid8 not null default pg_current_xact_id(),
  event_id       bigint not null default nextval('event_ids'),
  type           text not null,
  subject        text not null,
  user_id        text,
  correlation_id text,
  data           jsonb not null,
  occurred_at    timestamptz not null default clock_timestamp(),
  -- Every transaction before this one had ended. Whoever continues after this event alone, without a reader's
  -- snapshot, has seen what they wrote.
  horizon        xid8 default pg_snapshot_xmin(pg_current_snapshot())
) partition by range (event_id);
comment on column events.user_id is 'Whose job it is about; members read only their own.';
select guard_tenant_table('events');
grant select, insert on events to sluice_tenant;
grant select, insert, delete on events to sluice_kernel;
-- Rows are deleted only when their tenant is erased. Programs of the version before purge by ctid, which is not unique
-- in a partitioned table: they would delete events of other partitions. They erase a tenant's events once it is gone.
create policy erasure_only on events as restrictive for delete
 using (tenant_id = (select nullif(current_setting('app.erased_tenant', true), ''))
        or not exists (select from tenants t where t.tenant_id = events.tenant_id));

grant select on event_eras to sluice_kernel;
grant select on event_partitions to sluice_kernel;

-- What the transaction ids of this database belong to. Null on a standby, which cannot begin an era.
create function event_incarnation() returns text
language sql stable
set search_path = public, pg_temp
as $$
  select case when pg_is_in_recovery() then null
              else concat_ws(':', s.system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                             (select d.oid from pg_database d where d.datname = current_database()),
                             'public.events'::regclass::oid) end
    from pg_control_system() s
$$;

-- The id that no transaction had yet when the snapshot was taken; null inside a transaction that has an id of its own,
-- which PostgreSQL would name instead. A snapshot ends behind the last completed transaction, not behind the last one.
create function next_transaction(p_snapshot pg_snapshot) returns xid8
language sql stable
set search_path = public, pg_temp
as $$
  select case when pg_current_xact_id_if_assigned() is null
              then (x.last + mod(mod(age('3'::xid)::bigint + 3, 4294967296) - mod(x.last, 4294967296) + 8589934592,
                                 4294967296))::text::xid8 end
    from (select pg_snapshot_xmax(p_snapshot)::text::bigint as last) x
$$;

-- Transactions from this one on have drawn only higher ids in this era.
create function event_low(p_era bigint, p_xid xid8) returns bigint
language sql stable security definer
set search_path = public, pg_temp
as $$
  select coalesce(
           (select max(p.from_id) from event_partitions p where p.era = r.era and p.opened_xid <= p_xid),
           r.first_id) - 1
    from event_eras r
   where r.era = p_era
$$;

-- What readers need to know of eras and partitions. Functions, because tables without a tenant are closed to tenants.
-- low: every transaction that was open in the snapshot has drawn only higher ids.
create function event_log_head(p_snapshot pg_snapshot)
returns table (era bigint, first_id bigint, is_current boolean, low bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
  select r.era, r.first_id, coalesce(event_incarnation() = r.incarnation, true),
         event_low(r.era, pg_snapshot_xmin(p_snapshot))
    from event_eras r
   order by r.era desc
   limit 1
$$;

create function event_era(p_event_id bigint) returns bigint
language sql stable security definer
set search_path = public, pg_temp
as $$
  select max(r.era) from event_eras r where r.first_id <= p_event_id
$$;

-- Eras, oldest first; nothing with oldest_id or a higher id has been removed.
create function event_log_eras() returns table (era bigint, first_id bigint, oldest_id bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
  select r.era, r.first_id, (select min(p.from_id) from event_partitions p where p.emptied_at is null)
    from event_eras r
   order by r.era
$$;

create function guard_event_partition(p_name text) returns void
language plpgsql
set search_path = public, pg_temp
as $$
begin
  execute format('alter table %I enable row level security', p_name);
  execute format('alter table %I force row level security', p_name);
  -- Forced on the owner too: without a policy it would find every partition empty.
  execute format('create policy owner_rows on %I to %I using (true) with check (true)', p_name,
                 (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = 'public.events'::regclass));
  execute format('alter table %I set (autovacuum_vacuum_insert_scale_factor = 0.2)', p_name);
end
$$;

-- Attaching takes a lock that neither readers nor writers wait for; creating one in place would.
create function add_event_partition() returns void
language plpgsql
set search_path = public, pg_temp
as $$
declare
  v_from bigint := (select max(p.to_id) from event_partitions p);
  v_to bigint := v_from + 1000000000;
  v_name text := 'events_' || v_from / 1000000000;
begin
  execute format('create table %I (like events including defaults including comments)', v_name);
  execute format('alter table %I add primary key (tenant_id, event_id)', v_name);
  execute format('create index %I on %I (xid)', 'ix_' || v_name || '_xid', v_name);
  execute format('create index %I on %I (tenant_id, subject, event_id)', 'ix_' || v_name || '_subject', v_name);
  perform guard_event_partition(v_name);
  execute format('alter table %I add constraint %I check (event_id >= %s and event_id < %s)', v_name,
                 v_name || '_range', v_from, v_to);
  execute format('alter table events attach partition %I for values from (%s) to (%s)', v_name, v_from, v_to);
  execute format('alter table %I drop constraint %I', v_name, v_name || '_range');
  insert into event_partitions (from_id, to_id, name) values (v_from, v_to, v_name);
end
$$;

-- Moves the sequence to the beginning of the partition, unless it is there or beyond.
create function open_event_partition(p_from bigint) returns void
language plpgsql
set search_path = public, pg_temp
as $$
begin
  perform setval('event_ids', p_from, false) from event_ids s where s.last_value < p_from;
  update event_partitions p
     set era = (select max(r.era) from event_eras r),
         opened_at = clock_timestamp()
   where p.opened_at is null
     and p.from_id <= (select s.last_value from event_ids s);
end
$$;

-- Keeps partitions ready for a thousand million events each, and opens the next one when the present one has been open
-- for so long. Returns 1 when it opened one.
create function roll_event_log(p_after interval) returns integer
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  v_open event_partitions;
  v_next bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('event_partitions', 0));
  -- Opened by an earlier transaction: this one's id, and all later ones, were assigned after the sequence had moved.
  update event_partitions p
     set opened_xid = pg_current_xact_id()
   where p.opened_at is not null
     and p.opened_xid is null;
  perform open_event_partition(0);
  select p.* into v_open
    from event_partitions p
   where p.from_id <= (select s.last_value from event_ids s)
   order by p.from_id desc
   limit 1;
  while (select count(*) from event_partitions p where p.from_id > v_open.from_id) < 8 loop
    perform add_event_partition();
  end loop;
  if v_open.opened_at > clock_timestamp() - p_after then
    return 0;
  end if;
  select min(p.from_id) into v_next from event_partitions p where p.from_id > v_open.from_id;
  perform open_event_partition(v_next);
  return 1;
end
$$;

-- Begins an era when the transaction ids are not those of the newest one. Returns the era in force.
create function ensure_event_era() returns bigint
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  v_now text := event_incarnation();
  v_newest event_eras;
  v_reason text;
  v_first bigint;
  v_name text;
  v_to bigint;
  v_has_rows boolean;
  v_was text[];
  v_is text[];
begin
  select r.* into v_newest from event_eras r order by r.era desc limit 1;
  if v_now is null or v_newest.incarnation = v_now then
    return v_newest.era;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('event_partitions', 0));
  select r.* into v_newest from event_eras r order by r.era desc limit 1;
  if v_newest.incarnation = v_now then
    return v_newest.era;
  end if;
  set local lock_timeout = '2s';
  -- Waits for everybody who writes events: nobody adds to the old era after this.
  lock table events in share row exclusive mode;
  v_was := string_to_array(v_newest.incarnation, ':');
  v_is := string_to_array(v_now, ':');
  v_reason := case
    when v_was is null then 'first era'
    when v_was[1] <> v_is[1] then 'another cluster'
    when v_was[2] <> v_is[2] then 'another timeline'
    else 'restored in the same cluster' end;
  -- Behind everything that is there, whatever the sequence says: a restore may have left it behind.
  select max(p.to_id) into v_first from event_partitions p where p.from_id <= (select s.last_value from event_ids s);
  for v_name, v_to in
    select p.name, p.to_id from event_partitions p where p.to_id > v_first order by p.from_id desc
  loop
    execute format('select exists (select from %I)', v_name) into v_has_rows;
    if v_has_rows then
      v_first := v_to;
      exit;
    end if;
  end loop;
  while not exists (select from event_partitions p where p.from_id = v_first) loop
    perform add_event_partition();
  end loop;
  insert into event_eras (era, first_id, incarnation, reason)
  values (greatest(extract(epoch from clock_timestamp())::bigint, v_newest.era + 1), v_first, v_now, v_reason)
  returning event_eras.era into v_newest.era;
  perform open_event_partition(v_first);
  perform roll_event_log(interval '1 day');
  return v_newest.era;
end
$$;

-- Empties a partition that nobody needs and removes it. Emptying locks only this partition, which nobody reads any
-- more; removing it locks the whole log for a moment, so it gives way to whoever is working: the next run tries again.
create function drop_event_partition(p_from bigint) returns boolean
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  v_part event_partitions;
begin
  select p.* into v_part from event_partitions p where p.from_id = p_from for update;
  if not found or not exists (
    select from event_partitions n where n.from_id > p_from and n.opened_at is not null) then
    return false;
  end if;
  begin
    set local lock_timeout = '100ms';
    execute format('truncate %I', v_part.name);
  exception when lock_not_available then
    return false;
  end;
  begin
    set local lock_timeout = '50ms';
    execute format('alter table events detach partition %I', v_part.name);
    execute format('drop table %I', v_part.name);
    delete from event_partitions p where p.from_id = p_from;
  exception when lock_not_available then
    update event_partitions p set emptied_at = clock_timestamp() where p.from_id = p_from;
  end;
  return true;
end
$$;

revoke execute on function guard_event_partition(text), add_event_partition(), open_event_partition(bigint),
  roll_event_log(interval), ensure_event_era(), drop_event_partition(bigint), event_log_head(pg_snapshot),
  event_low(bigint, xid8), event_era(bigint), event_log_eras() from public;
grant execute on function event_log_head(pg_snapshot), event_low(bigint, xid8), event_era(bigint), event_log_eras()
  to sluice_tenant, sluice_kernel;
grant execute on function roll_event_log(interval), ensure_event_era(), drop_event_partition(bigint) to sluice_kernel;

do $$
declare
  v_bound bigint := (select p.to_id from event_partitions p);
  v_has_rows boolean;
begin
  alter table events_0 no force row level security;
  select exists (select from events_0) into v_has_rows;
  if v_has_rows then
    drop policy tenant_rows on events_0;
    drop policy kernel_rows on events_0;
    drop policy if exists owner_rows on events_0;
    perform guard_event_partition('events_0');
    execute format('alter table events attach partition events_0 for values from (0) to (%s)', v_bound);
    alter table events_0 drop constraint events_0_range;
    insert into event_eras (era, first_id, reason) values (0, 0, 'before eras');
    perform setval('event_ids', v_bound, false);
    perform add_event_partition();
  else
    perform setval('event_ids', v_bound, false);
    perform add_event_partition();
    drop table events_0;
    delete from event_partitions p where p.from_id = 0;
  end if;
  insert into event_eras (era, first_id, incarnation, reason)
  values (extract(epoch from clock_timestamp())::bigint, v_bound, event_incarnation(), 'installed or upgraded');
  perform roll_event_log(interval '1 day');
end
$$;

-- The claims that called it ended long before: they had waited for the new queue only.
drop function tenants_with_due_work(timestamptz);
