-- Signed webhooks: the endpoints of tenants, how far each one has come in the event log, and what it was told.
-- Whoever locks rows of several of these tables does so in this order: endpoint, cursor, lane, delivery.

create table webhook_endpoints (
  tenant_id        text not null references tenants on delete cascade,
  webhook_id       uuid not null,
  url              text not null check (octet_length(url) between 1 and 8000),
  -- Types, or beginnings of types that end in `.*`; null: all types.
  event_types      text[] check (cardinality(event_types) between 1 and 50),
  description      text,
  is_enabled       boolean not null default true,
  disabled_reason  text,
  disabled_at      timestamptz,
  -- Encrypted. After a rotation the old one signs beside the new one for a while.
  secret           text not null,
  old_secret       text,
  old_secret_until timestamptz,
  failures_in_row  integer not null default 0,
  -- Since a delivery was given up; the next success clears it.
  failing_since    timestamptz,
  last_success_at  timestamptz,
  -- Endpoints take turns: the one that was served longest ago is next.
  served_at        timestamptz not null default clock_timestamp(),
  created_by       text not null,
  created_at       timestamptz not null default clock_timestamp(),
  updated_at       timestamptz not null default clock_timestamp(),
  primary key (tenant_id, webhook_id),
  check (is_enabled = (disabled_at is null))
);
alter table webhook_endpoints set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 200);
select guard_tenant_table('webhook_endpoints');
grant select, insert, update, delete on webhook_endpoints to sluice_tenant;
grant select, update on webhook_endpoints to sluice_kernel;

-- Every event up to this position has its delivery, if the endpoint wants it. A row of its own, so that writing
-- deliveries does not keep the endpoint's row locked that senders need.
create table webhook_cursors (
  tenant_id  text not null,
  webhook_id uuid not null,
  xid        xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  event_id   bigint not null default 0,
  -- What had committed when the endpoint was made is not for it, although the cursor may stand before it.
  since      pg_snapshot not null default pg_current_snapshot(),
  moved_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, webhook_id),
  foreign key (tenant_id, webhook_id) references webhook_endpoints on delete cascade
);
alter table webhook_cursors set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 200);
select guard_tenant_table('webhook_cursors');
grant select, insert on webhook_cursors to sluice_tenant;
grant select, update on webhook_cursors to sluice_kernel;

-- Deliveries that wait for each other: those of one endpoint about one subject, in the order of the log. A lane is
-- there as long as it has a delivery that is pending.
-- No foreign keys here and below: the check would cost more than the insert; removal and erasure delete the rows.
create table webhook_lanes (
  tenant_id  text not null,
  webhook_id uuid not null,
  lane       text not null,
  -- When its first delivery is tried next; while a sender has it, when that one's lease ends.
  due_at     timestamptz not null default clock_timestamp(),
  -- A Retry-After of the receiver: nobody brings the next try forward beyond it.
  not_before timestamptz,
  -- The lease of the sender that has it: only who knows the token may say how it went.
  token      uuid,
  primary key (tenant_id, webhook_id, lane)
);
alter table webhook_lanes set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 500);
create index ix_webhook_lanes_due on webhook_lanes (tenant_id, webhook_id, due_at);
create index ix_webhook_lanes_leased on webhook_lanes (tenant_id, webhook_id) where token is not null;
select guard_tenant_table('webhook_lanes');
grant select, insert, update, delete on webhook_lanes to sluice_tenant;
grant select, insert, update, delete on webhook_lanes to sluice_kernel;

-- One row per event and endpoint. What is sent is made from the event, which stays as long as anybody has not got it.
create table webhook_deliveries (
  tenant_id        text not null,
  delivery_id      uuid not null,
  webhook_id       uuid not null,
  event_xid        xid8 not null,
  event_id         bigint not null,
  event_type       text not null,
  lane             text not null,
  status           text not null default 'pending' check (status in ('pending', 'delivered', 'exhausted')),
  -- Since it was made or last asked for by a person; it is given up when they reach max_tries.
  tries            integer not null default 0,
  max_tries        integer not null default 10,
  -- The last ones, oldest first: at, status_code, error, duration_ms, response_body.
  attempts         jsonb not null default '[]',
  attempt_count    integer not null default 0,
  last_attempt_at  timestamptz,
  last_status_code integer,
  last_error       text,
  last_duration_ms integer,
  created_at       timestamptz not null default clock_timestamp(),
  finished_at      timestamptz,
  primary key (tenant_id, delivery_id),
  unique (tenant_id, webhook_id, event_id),
  check ((status = 'pending') = (finished_at is null))
);
alter table webhook_deliveries set (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_scale_factor = 0.2);
create index ix_webhook_deliveries_lane on webhook_deliveries (tenant_id, webhook_id, lane, event_xid, event_id)
 where status = 'pending';
create index ix_webhook_deliveries_endpoint on webhook_deliveries (tenant_id, webhook_id, delivery_id);
create index ix_webhook_deliveries_status on webhook_deliveries (tenant_id, webhook_id, status, delivery_id);
create index ix_webhook_deliveries_owed on webhook_deliveries (tenant_id, event_id) where status = 'pending';
create index ix_webhook_deliveries_finished on webhook_deliveries (finished_at) where finished_at is not null;
select guard_tenant_table('webhook_deliveries');
grant select, insert, update, delete on webhook_deliveries to sluice_tenant;
grant select, insert, update, delete on webhook_deliveries to sluice_kernel;
