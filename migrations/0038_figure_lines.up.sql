-- Each figure leads to the line that it came from, also after the staged rows have been purged.

-- The line of the file of `last_upload`, the first one where several were added up; null for rows of older versions.
alter table daily_metrics add column line_no integer;
alter table period_metrics add column line_no integer;
