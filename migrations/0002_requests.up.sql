-- What the HTTP side has to remember between requests: answers to retried POSTs, login links and sessions.

create table idempotency_keys (
  tenant_id        text not null references tenants on delete cascade,
  principal        text not null,
  route            text not null,
  key              text not null check (length(key) between 1 and 255),
  request_hash     text not null,
  -- Who is doing the work, and until when that is believed: a crash must not leave 409 for ever.
  owner            uuid not null,
  owner_expires_at timestamptz not null,
  status_code      integer,
  headers          jsonb,
  body             text,
  created_at       timestamptz not null default clock_timestamp(),
  primary key (tenant_id, principal, route, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
select guard_tenant_table('idempotency_keys');
grant select, insert, update, delete on idempotency_keys to sluice_tenant;
-- update: what an operator does to other tenants runs under this role and keeps its answer there.
grant select, update, delete on idempotency_keys to sluice_kernel;

create table login_links (
  tenant_id  text not null references tenants on delete cascade,
  code_hash  bytea not null,
  user_id    text not null,
  role       text not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  primary key (tenant_id, code_hash)
);
create index login_links_by_hash on login_links (code_hash);
select guard_tenant_table('login_links');
grant select, insert, update, delete on login_links to sluice_kernel;

create table sessions (
  tenant_id    text not null references tenants on delete cascade,
  session_hash bytea not null,
  user_id      text not null,
  role         text not null,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null,
  primary key (tenant_id, session_hash)
);
create index sessions_by_hash on sessions (session_hash);
select guard_tenant_table('sessions');
grant select, delete on sessions to sluice_tenant;
grant select, insert, delete on sessions to sluice_kernel;
