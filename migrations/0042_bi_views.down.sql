drop schema sluice_bi cascade;
drop table bi_logins;
