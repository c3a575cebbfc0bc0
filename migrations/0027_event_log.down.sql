-- One table again, with the events of all partitions.
lock table events in access exclusive mode;
alter table events no force row level security;
alter table webhook_cursors no force row level security;
alter table webhook_deliveries no force row level security;
alter table events rename to events_in_partitions;

-- The version before reads by transaction id, and nothing above the oldest open one. The ids of an era that has ended
-- are those of another cluster or timeline, unless it is the era of that version itself, followed by the present one.
-- Their events get the lowest id of all: they come before all others, in the order of event_id.
create function foreign_before() returns bigint
language sql stable
return (select case when count(*) > 1 then max(r.first_id) else 0 end from event_eras r where r.era > 0);

-- Where an endpoint has to go on: before the first event that it has not read. Some of what follows it may have read;
-- deliveries that are there are not made again.
create function place_of(c webhook_cursors) returns table (xid xid8, event_id bigint)
language sql stable
begin atomic
  select e.place, e.event_id - 1
    from (select case when v.event_id < foreign_before() then '3'::xid8 else v.xid end as place,
                 v.event_id, v.xid,
                 (select max(r.era) from event_eras r where r.first_id <= v.event_id) as era
            from events_in_partitions v
           where v.tenant_id = c.tenant_id) e
   where case
           when c.position is null then e.era > 0 or (e.xid, e.event_id) > (c.xid, c.event_id)
           when e.era <> c.era then e.era > c.era
           when e.era = 0 then (e.xid, e.event_id) > ((c.position ->> 'xid')::xid8, (c.position ->> 'at')::bigint)
           when pg_visible_in_snapshot(e.xid, (c.position #>> '{seen,snapshot}')::pg_snapshot) then false
           else not coalesce(
             e.event_id <= (c.position ->> 'at')::bigint
             and pg_visible_in_snapshot(e.xid, (c.position #>> '{until,snapshot}')::pg_snapshot), false)
         end
   order by e.place, e.event_id
   limit 1;
end;

update webhook_cursors c
   set (xid, event_id) = (
         select coalesce(max(p.xid), pg_snapshot_xmin(pg_current_snapshot())), coalesce(max(p.event_id), 0)
           from place_of(c) p),
       -- What was older than the endpoint cannot be told from the rest by these ids.
       since = case when foreign_before() > 0 then '1:1:' else c.since end
 where c.position is not null
    or foreign_before() > 0;
update webhook_deliveries d
   set event_xid = '3'
 where d.event_id < foreign_before();

create table events (
  tenant_id      text not null,
  xid            xid8 not null default pg_current_xact_id(),
  event_id       bigint generated always as identity,
  type           text not null,
  subject        text not null,
  user_id        text,
  correlation_id text,
  data           jsonb not null,
  occurred_at    timestamptz not null default clock_timestamp()
);
insert into events (tenant_id, xid, event_id, type, subject, user_id, correlation_id, data, occurred_at)
overriding system value
select tenant_id, case when event_id < foreign_before() then '3'::xid8 else xid end, event_id, type, subject,
       user_id, correlation_id, data, occurred_at
  from events_in_partitions;
select setval(pg_get_serial_sequence('events', 'event_id'), greatest((select last_value from event_ids), 1));
alter table events add primary key (tenant_id, xid, event_id);
create index ix_events_subject on events (tenant_id, subject, xid, event_id);
create index ix_events_age on events using brin (occurred_at);
alter table events set (autovacuum_vacuum_insert_scale_factor = 0.2);
select guard_tenant_table('events');
grant select, insert on events to sluice_tenant;
grant select, insert, delete on events to sluice_kernel;

drop function place_of(webhook_cursors);
drop function foreign_before();
alter table webhook_cursors
  drop column era,
  drop column position,
  drop column high,
  drop column low,
  drop column open;
alter table webhook_cursors force row level security;
alter table webhook_deliveries force row level security;
drop table events_in_partitions;
drop function drop_event_partition(bigint);
drop function ensure_event_era();
drop function roll_event_log(interval);
drop function open_event_partition(bigint);
drop function add_event_partition();
drop function guard_event_partition(text);
drop function next_transaction(pg_snapshot);
drop function event_log_eras();
drop function event_era(bigint);
drop function event_log_head(pg_snapshot);
drop function event_low(bigint, xid8);
drop function event_incarnation();
drop table event_partitions;
drop table event_eras;
drop sequence event_ids;
