-- Knowledge bases that are being deleted are seen again, with what is left of them: delete them once more.
alter table knowledge_files drop column if exists origin;
drop index if exists knowledge_bases_removed;
alter table knowledge_bases drop column if exists removed_at;
alter table knowledge_documents drop column if exists notes;
