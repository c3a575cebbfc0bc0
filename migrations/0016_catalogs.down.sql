-- Made where the database has pg_trgm, outside of the numbered migrations; the extension stays.
drop function if exists match_catalog_titles(text, bigint, real, text[], bigint[], integer);
drop function settle_catalog_products();
drop table catalog_products;
drop table catalog_versions;
drop table catalogs;
