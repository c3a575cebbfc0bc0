-- A secret is bound to the hosts that it may be sent to, and to the roles that may use it. Old programs know nothing of
-- it: what they store meanwhile has no hosts and waits for an admin.
alter table tenant_secrets
  -- `host`, or `host:port`. Empty: may be sent nowhere.
  add column hosts text[] not null default '{}',
  -- Who may use it beside the roles that may use every secret.
  add column roles text[] not null default '{}',
  -- Null: everything.
  add column uses text[];

-- With whose rights the job uses secrets. Null: an old program created it, and a member's rights are all that is safe.
alter table item_jobs
  add column user_role text check (user_role in ('member', 'admin', 'support', 'service', 'operator'));

-- Whose configuration names the dependency. Null: the installation's, shared by all tenants.
alter table circuit_breakers
  add column tenant_id text references tenants on delete cascade;
create index circuit_breakers_of_tenant on circuit_breakers (tenant_id) where tenant_id is not null;
select guard_tenant_table('circuit_breakers');
-- Each was shared by the tenants on its host. Whatever still fails opens its tenant's own soon.
delete from circuit_breakers where dependency like 'embedder %';

-- The policies hold for the owner as well, who acts for no tenant here.
alter table tenant_secrets no force row level security;
alter table item_jobs no force row level security;
alter table knowledge_bases no force row level security;
alter table adapters no force row level security;
alter table users no force row level security;
alter table api_keys no force row level security;

update item_jobs i
   set user_role = p.role
  from (select tenant_id, user_id, role from users
         union all
        select tenant_id, 'api_key:' || key_id, role from api_keys) p
 where p.tenant_id = i.tenant_id
   and p.user_id = i.user_id;

-- Existing secrets keep working where those who may use every secret have sent them so far. Jobs of members do not
-- count: one of them may have been an attempt to read a secret.
with used as (
  select tenant_id, embedder ->> 'apiKeySecret' as name, embedder ->> 'baseUrl' as url
    from knowledge_bases
   union all
  select a.tenant_id, s.name,
         regexp_replace(coalesce(a.place ->> 'endpoint', 'https://s3.' || (a.place ->> 'region') || '.amazonaws.com'),
                        '^(https?://)',
                        case when (a.place ->> 'pathStyle')::boolean
                             then '\1' else '\1' || (a.place ->> 'bucket') || '.' end,
                        'i')
    from adapters a
    cross join lateral (values (a.place ->> 'accessKeyIdSecret'), (a.place ->> 'secretAccessKeySecret')) s (name)
   where a.kind = 's3'
   union all
  select tenant_id, place ->> 'passwordSecret', 'http://' || (place ->> 'host') || ':' || (place ->> 'port')
    from adapters
   where kind = 'ftp'
   union all
  select o.tenant_id, o.options #>> '{auth,secret}', u.url #>> '{}'
    from (select tenant_id, options
            from item_jobs
           where user_role in ('admin', 'service', 'operator')
           union all
          select tenant_id, target -> 'options'
            from adapters) o
    cross join lateral (select jsonb_path_query(o.options, '$.request.url')
                         union all
                        select jsonb_path_query(o.options, '$.strategies[*].url')) u (url)
),
bound as (
  select tenant_id, name, array_agg(distinct host order by host) as hosts
    from (select tenant_id, name, lower(substring(url from '(?i)^https?://(?:[^/?#@]*@)?([^/?#@]+)')) as host
            from used) u
   -- Other spellings would have to be turned into punycode first.
   where host ~ '^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?$'
   group by tenant_id, name
)
update tenant_secrets s
   set hosts = b.hosts
  from bound b
 where b.tenant_id = s.tenant_id
   and b.name = s.name;

alter table tenant_secrets force row level security;
alter table item_jobs force row level security;
alter table knowledge_bases force row level security;
alter table adapters force row level security;
alter table users force row level security;
alter table api_keys force row level security;
