-- What became of items since the last event that told of it: events are summaries, so that no item costs one of its
-- own, and the counts of all of them still add up. Moved in the statement that moves the counts.
alter table item_jobs
  add column unreported jsonb not null default '{}',
  add column reported_at timestamptz;
