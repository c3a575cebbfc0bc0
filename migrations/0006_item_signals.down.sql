revoke delete on job_items from sluice_kernel;
drop trigger item_jobs_gone on item_jobs;
drop trigger job_items_job on job_items;
drop function items_go_with_their_job(), items_have_a_job();
alter table job_items
  add constraint job_items_tenant_id_job_id_fkey foreign key (tenant_id, job_id) references item_jobs on delete cascade;
drop function analyze_items();
alter table item_jobs
  drop column reported_at,
  drop column unreported;
