drop index item_jobs_by_user;
