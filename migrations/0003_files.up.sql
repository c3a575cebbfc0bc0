-- Every stored file. The bytes are on disk (or in S3) and fsynced before the row that names them commits.

create table files (
  tenant_id   text not null references tenants on delete cascade,
  file_id     uuid not null,
  name        text not null,
  media_type  text not null,
  size_bytes  bigint not null check (size_bytes >= 0),
  sha256      text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  storage     text not null check (storage in ('local', 's3')),
  storage_key text not null,
  created_by  text not null,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (tenant_id, file_id)
);
create index files_by_storage_key on files (storage, storage_key);
select guard_tenant_table('files');
grant select, insert, delete on files to sluice_tenant;
grant select, delete on files to sluice_kernel;
