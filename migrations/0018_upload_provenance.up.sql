-- Whoever stated the values of a row after `last_upload` had given them, without changing any: sending a file twice is
-- no change, so `last_upload` stays with the upload that the values come from. Null: nobody has. Undo hands the row
-- over to this upload, and the row goes once nobody is left who states it.
alter table campaigns add column confirmed_by_upload uuid;
alter table ad_sets add column confirmed_by_upload uuid;
alter table ads add column confirmed_by_upload uuid;
alter table daily_metrics add column confirmed_by_upload uuid;
