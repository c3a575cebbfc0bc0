-- How far a row has come with a processor of several steps: what they answered, and which is next. Null is none.
alter table job_items
  add column progress_json json;
