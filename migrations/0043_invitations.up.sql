-- People who were invited and have not come yet. Their row exists, so that they can be seen and removed.
alter table users add column invited_at timestamptz;

-- Removing a person.
grant delete on users to sluice_kernel;
