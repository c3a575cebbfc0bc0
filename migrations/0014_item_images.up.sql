-- The files of image jobs: the images as they came in, and the thumbnails that were made of them. By the number of the
-- row and not by its id, which an image has only once its row is written.
create table item_images (
  tenant_id text not null,
  job_id    uuid not null,
  row_no    integer not null,
  kind      text not null check (kind in ('original', 'thumbnail')),
  file_id   uuid not null,
  primary key (tenant_id, job_id, row_no, kind),
  foreign key (tenant_id, job_id) references item_jobs on delete cascade,
  foreign key (tenant_id, file_id) references files on delete cascade
);
create index item_images_by_file on item_images (tenant_id, file_id);
select guard_tenant_table('item_images');
grant select, insert, delete on item_images to sluice_tenant;
grant select, delete on item_images to sluice_kernel;

-- Whatever ends a job (retention, an ingest that is taken back, erasure) ends the rows of its files with it, under the
-- rights of whoever does so. The bytes are then nobody's, and the sweep of orphans has them.
create function images_take_their_files() returns trigger
language plpgsql
set search_path = pg_catalog, public
as $$
begin
  delete from files f
   using gone g
   where f.tenant_id = g.tenant_id
     and f.file_id = g.file_id;
  return null;
end
$$;
create trigger item_images_gone after delete on item_images
  referencing old table as gone
  for each statement execute function images_take_their_files();
