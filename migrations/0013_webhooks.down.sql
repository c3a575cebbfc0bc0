drop table webhook_deliveries;
drop table webhook_lanes;
drop table webhook_cursors;
drop table webhook_endpoints;
