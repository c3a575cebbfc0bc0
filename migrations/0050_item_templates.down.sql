drop table item_templates;
