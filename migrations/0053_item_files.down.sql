create or replace function items_go_with_their_job() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as
$$
begin
  delete from job_items i
   using gone g
   where i.tenant_id = g.tenant_id
     and i.job_id = g.job_id;
  return null;
end
$$;
drop function insert_items_of_file(
  text, uuid, text, text, jsonb, jsonb, text, text, text, jsonb, integer, text, text, uuid, text, bigint, text);
-- The owner of the database is not above the policies unless it is a superuser.
alter table files no force row level security;
alter table item_jobs no force row level security;
update item_jobs i
   set file_id = null
  from files f
 where f.tenant_id = i.tenant_id
   and f.file_id = i.file_id
   and f.storage = 'rows';
delete from files where storage = 'rows';
alter table item_jobs force row level security;
alter table files force row level security;
alter table files drop constraint files_storage_check;
alter table files add constraint files_storage_check check (storage in ('local', 's3'));
