-- Who disables a user expects that it also counts for what that user made: keys, keys made with those keys, and
-- sessions. So a key has its user. A session follows the newest role, so a role has the time of its token.

-- The policies hold for the owner as well, who acts for no tenant here.
alter table users no force row level security;
alter table sessions no force row level security;
alter table api_keys no force row level security;

alter table users
  -- '-infinity': an older version did not record when the role was issued. Any token is newer.
  add column role_issued_at timestamptz not null default '-infinity',
  -- Tokens count seconds. Of several that were issued in one second, the one seen first does not come back later.
  add column roles_issued text[] not null default '{}',
  add column role_since timestamptz not null default clock_timestamp(),
  add column operator_since timestamptz,
  add column disabled_by_operator boolean not null default false;
update users
   set roles_issued = array[role],
       role_since = created_at,
       operator_since = case when role = 'operator' then created_at end,
       -- Nobody but an operator could disable one.
       disabled_by_operator = disabled_at is not null and role = 'operator';

alter table login_links
  add column created_at timestamptz not null default clock_timestamp();
alter table sessions
  add column role_issued_at timestamptz not null default clock_timestamp();
update sessions set role_issued_at = created_at;

alter table api_keys
  add column user_id text;
comment on column api_keys.user_id is
  'The user behind the key: its creator, or the user behind the key that created it. One look-up instead of a chain.';

with recursive owned (tenant_id, key_id, user_id) as (
  select tenant_id, key_id, created_by
    from api_keys
   where not starts_with(created_by, 'api_key:')
  union
  select k.tenant_id, k.key_id, o.user_id
    from api_keys k
    join owned o on o.tenant_id = k.tenant_id and k.created_by = 'api_key:' || o.key_id
)
update api_keys k
   set user_id = o.user_id
  from owned o
 where o.tenant_id = k.tenant_id
   and o.key_id = k.key_id;
update api_keys
   set user_id = created_by
 where user_id is null;

-- A trigger, because programs of the older version also create keys during an upgrade.
create function api_key_user() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
  if starts_with(new.created_by, 'api_key:') then
    select k.user_id
      into new.user_id
      from api_keys k
     where k.tenant_id = new.tenant_id
       and k.key_id = substr(new.created_by, 9)::uuid;
  else
    new.user_id := new.created_by;
  end if;
  new.user_id := coalesce(new.user_id, new.created_by);
  return new;
end
$$;
create trigger api_keys_have_a_user before insert on api_keys
  for each row execute function api_key_user();

alter table api_keys
  alter column user_id set not null;

alter table users force row level security;
alter table sessions force row level security;
alter table api_keys force row level security;
