-- How well questions with known answers were answered, for each build of an index.
create table knowledge_evaluations (
  tenant_id     text not null,
  kb_id         text not null,
  evaluation_id uuid not null,
  generation    integer not null,
  mode          text not null,
  k             integer not null,
  scores        jsonb not null,
  -- Of each question.
  questions     jsonb not null,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (tenant_id, kb_id, evaluation_id),
  foreign key (tenant_id, kb_id) references knowledge_bases on delete cascade
);
select guard_tenant_table('knowledge_evaluations');
grant select, insert, delete on knowledge_evaluations to sluice_tenant;
-- Erasure.
grant delete on knowledge_evaluations to sluice_kernel;
