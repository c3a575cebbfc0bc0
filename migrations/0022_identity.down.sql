drop trigger api_keys_have_a_user on api_keys;
drop function api_key_user();
alter table api_keys
  drop column user_id;
alter table sessions drop column role_issued_at;
alter table login_links drop column created_at;
alter table users
  drop column role_issued_at,
  drop column roles_issued,
  drop column role_since,
  drop column operator_since,
  drop column disabled_by_operator;
