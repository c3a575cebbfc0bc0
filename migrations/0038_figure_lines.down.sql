alter table period_metrics drop column line_no;
alter table daily_metrics drop column line_no;
