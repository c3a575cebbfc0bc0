-- Who merely confirmed a row is forgotten: it is undone with the upload that its values come from.
alter table daily_metrics drop column if exists confirmed_by_upload;
alter table ads drop column if exists confirmed_by_upload;
alter table ad_sets drop column if exists confirmed_by_upload;
alter table campaigns drop column if exists confirmed_by_upload;
