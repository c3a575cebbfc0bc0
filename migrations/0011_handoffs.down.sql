drop trigger if exists trg_follow_requeued_ingestion_job on ingestion_jobs;
drop trigger if exists trg_follow_ingestion_job on ingestion_jobs;
revoke insert on ingestion_jobs from sluice_kernel;
-- Whoever followed the document's plan by hand has dropped these three already.
do $$
begin
  if to_regclass('public.ingestion_handoffs') is not null then
    drop trigger if exists trg_update_ingestion_handoff_timestamp on ingestion_handoffs;
  end if;
end
$$;
drop function if exists follow_ingestion_job();
drop function if exists give_waiting_ingestion_handoff_its_job(text, uuid, integer);
drop table if exists ingestion_handoffs;
drop function if exists record_ingestion_handoff_event();
drop function if exists update_ingestion_handoff_timestamp();
