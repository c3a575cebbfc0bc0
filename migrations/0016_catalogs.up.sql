-- Catalogues: products that the rows of item jobs are matched against. A catalogue is replaced as a whole: the new
-- version is written beside the one in use, and one transaction switches over.
create table catalogs (
  tenant_id     text not null references tenants on delete cascade,
  name          text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  -- Counts the replacements, for people; the products are found by version_id.
  version       integer not null default 1,
  version_id    bigint not null,
  product_count bigint not null,
  -- Rows of the file that had neither a SKU nor a title: nothing could ever match them.
  skipped_count bigint not null,
  columns       jsonb not null,
  -- Which column of the file is the SKU, the brand, the title and the GTIN.
  fields        jsonb not null,
  file_name     text,
  updated_by    text not null,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, name)
);
select guard_tenant_table('catalogs');
grant select, insert, update, delete on catalogs to sluice_tenant;

-- Every version that has products: being loaded (loading_by), in use, or retired and to be removed by upkeep.
create table catalog_versions (
  tenant_id  text not null references tenants on delete cascade,
  version_id bigint generated always as identity,
  name       text not null,
  -- The process that is still writing products; upkeep removes what a dead one left.
  loading_by uuid,
  retired_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, version_id),
  check (loading_by is null or retired_at is null)
);
create index ix_catalog_versions_unused on catalog_versions (tenant_id, version_id)
 where loading_by is not null or retired_at is not null;
select guard_tenant_table('catalog_versions');
grant select, insert, update on catalog_versions to sluice_tenant;
grant select, update, delete on catalog_versions to sluice_kernel;

-- No foreign key: it would be checked for every row of a file against one and the same version. Upkeep and erasure
-- delete the rows.
create table catalog_products (
  tenant_id       text not null,
  version_id      bigint not null,
  row_no          integer not null,
  -- Normalised for comparing; null where the product has none. Long ones are hashes of themselves.
  sku_key         text,
  brand_title_key text,
  title_key       text not null default '',
  -- The version, and the brand within it, for the trigram index: without them a search would read the titles of all
  -- tenants that look alike.
  scope           bigint[] not null,
  product         json not null,
  primary key (tenant_id, version_id, row_no)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index ix_catalog_products_sku on catalog_products (tenant_id, version_id, sku_key) where sku_key is not null;
create index ix_catalog_products_brand_title on catalog_products (tenant_id, version_id, brand_title_key)
 where brand_title_key is not null;
select guard_tenant_table('catalog_products');
grant select, insert on catalog_products to sluice_tenant;
grant select, delete on catalog_products to sluice_kernel;

-- The function that searches titles is made with the trigram index, where the database has pg_trgm. It has to see past
-- the policies: under them only leakproof operators can use an index, and % is none. A superuser's function does; an
-- owner of another kind needs a policy of its own.
do $$
begin
  if not (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) then
    execute format('create policy search_rows on catalog_products for select to %I using (true)', current_user);
  end if;
end
$$;

-- A catalogue that was just loaded is unknown to the planner, and the newest part of a trigram index is a plain list;
-- only the owner may change either.
create function settle_catalog_products() returns void
language plpgsql
security definer
set search_path = pg_catalog, public
as $$
begin
  analyze (skip_locked) public.catalog_products (tenant_id, version_id, row_no, sku_key, brand_title_key);
  if to_regclass('public.ix_catalog_products_titles') is not null then
    perform gin_clean_pending_list('public.ix_catalog_products_titles'::regclass);
  end if;
end
$$;
revoke execute on function settle_catalog_products() from public;
grant execute on function settle_catalog_products() to sluice_tenant;
