-- A job of rows names its file: name, size and hash. The bytes are not kept, because the rows are.
alter table files drop constraint files_storage_check;
alter table files add constraint files_storage_check check (storage in ('local', 's3', 'rows')) not valid;

-- As insert_items_at_once, which programs of the version before still call.
create function insert_items_of_file(
  p_tenant text, p_job uuid, p_job_type text, p_processor text, p_options jsonb, p_columns jsonb, p_file_name text,
  p_user text, p_user_role text, p_controllers jsonb, p_first_row_no integer, p_inputs text, p_normalized text,
  p_file uuid, p_media_type text, p_size_bytes bigint, p_sha256 text)
returns void language plpgsql
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan as
$$
declare
  v_inputs text[] := string_to_array(p_inputs, E'\n');
  v_normalized text[] := string_to_array(p_normalized, E'\n');
begin
  insert into files (tenant_id, file_id, name, media_type, size_bytes, sha256, storage, storage_key, created_by)
  values (p_tenant, p_file, coalesce(p_file_name, ''), p_media_type, p_size_bytes, p_sha256, 'rows', p_file, p_user);
  insert into item_jobs (tenant_id, job_id, job_type, processor, options, columns, file_id, file_name, user_id,
                         user_role, controllers, total, pending)
  values (p_tenant, p_job, p_job_type, p_processor, p_options, p_columns, p_file, p_file_name, p_user,
          p_user_role, p_controllers, cardinality(v_inputs), cardinality(v_inputs));
  insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json, normalized_json)
  select p_tenant, p_job, p_first_row_no + r.n - 1, p_user, p_job_type, r.input::json, nullif(r.normalized, '')::jsonb
    from unnest(v_inputs, v_normalized) with ordinality as r (input, normalized, n);
end
$$;

-- The record of the file goes with its job. Files of images have records of their own, which item_images name.
create or replace function items_go_with_their_job() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as
$$
begin
  delete from job_items i
   using gone g
   where i.tenant_id = g.tenant_id
     and i.job_id = g.job_id;
  delete from files f
   using gone g
   where f.tenant_id = g.tenant_id
     and f.file_id = g.file_id
     and f.storage = 'rows';
  return null;
end
$$;
