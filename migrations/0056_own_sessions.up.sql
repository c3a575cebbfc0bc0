-- Sessions can be listed and ended by whoever they belong to: each has an id that is not its secret, and says what
-- program it was started with.
alter table sessions
  add column session_id uuid not null default gen_random_uuid(),
  add column agent text;
create index sessions_by_user on sessions (tenant_id, user_id);
