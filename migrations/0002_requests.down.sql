drop table sessions;
drop table login_links;
drop table idempotency_keys;
