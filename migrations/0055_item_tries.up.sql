-- Attempts before the count of a row began again, by a correction or a reset. A call of a new attempt must not carry
-- the key of an old one: a provider that knows such keys would return what it answered then. Null is none.
alter table job_items
  add column earlier_attempts integer;
