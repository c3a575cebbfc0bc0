-- A row that waits says what for, and each class of retry is counted for itself: a throttled call must not use up what
-- a row has for failures, and neither may use up what it has for not being found. Null is none: most rows never need
-- one of these, and a null costs nothing.
alter table job_items
  add column waiting_for text,
  add column throttled_count smallint,
  add column not_found_count smallint;

-- What the whole job waits for, and until when: its provider asked for a pause, or fails, or its budget is used up.
alter table item_jobs
  add column waiting_for text,
  add column waiting_until timestamptz;
