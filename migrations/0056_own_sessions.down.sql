drop index sessions_by_user;
alter table sessions
  drop column session_id,
  drop column agent;
