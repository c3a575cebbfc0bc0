-- The files would belong to nothing: they go as well. Rows are hidden even from the owner, unless it says so.
alter table item_images no force row level security;
alter table files no force row level security;
delete from item_images;
alter table files force row level security;
drop table item_images;
drop function images_take_their_files();
