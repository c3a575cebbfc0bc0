drop index job_items_by_reason;
drop table item_corrections;
