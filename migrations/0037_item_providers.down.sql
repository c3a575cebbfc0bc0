alter table job_items
  drop column uncharged;

alter table search_events
  drop column tokens,
  drop column cost;

alter table item_jobs
  drop column cost;

drop function count_provider_calls(text, text, uuid, integer, integer, double precision, jsonb);
drop function take_provider_call(
  text, text, uuid, integer, double precision, integer, double precision, double precision);
drop table item_providers;
