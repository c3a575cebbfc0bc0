-- What the reader of a job's file repaired, and how its columns were mapped. Old programs write neither: their jobs
-- have no notes, and the columns of the file.
alter table item_jobs
  add column notes jsonb not null default '[]',
  -- File column → column of the job; null leaves it out. Null instead: as in the file.
  add column mapping jsonb;
