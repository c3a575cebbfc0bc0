do $$
begin
  if to_regclass('public.ix_ingestion_handoffs_without_job') is not null then
    create index ix_ingestion_handoffs_waiting on ingestion_handoffs (tenant_id, reference_id, turn)
     where status = 'queued' and job_id is null;
    create index ix_ingestion_handoffs_left on ingestion_handoffs (updated_at)
     where status = 'queued' and reason_code = 'queued_from_scrape';
    drop index ix_ingestion_handoffs_without_job;
    alter table ingestion_handoffs set (fillfactor = 80);
  end if;
end
$$;

drop function open_ingestion_handoffs(text, text, text, timestamptz, uuid, text, jsonb);
drop function find_reference_intake(text, text);
drop function find_handed_reference(text, text, uuid);
drop function adopt_reference_documents(text, text, uuid, uuid[]);
drop function hold_generation(text, text, integer);
drop function open_reference_run(text, text);
drop function move_item_counts(text, uuid, jsonb, jsonb, jsonb, jsonb, integer);
drop function finish_unchanged_items(text, uuid, bigint[]);
drop function lock_pure_items(text, uuid, integer);
drop function insert_items_at_once(
  text, uuid, text, text, jsonb, jsonb, text, text, text, jsonb, integer, text, text);
