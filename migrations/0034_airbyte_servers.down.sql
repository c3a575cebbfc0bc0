drop index ix_connectors_airbyte_server;
alter table connectors drop column airbyte_server;
drop table airbyte_servers;
