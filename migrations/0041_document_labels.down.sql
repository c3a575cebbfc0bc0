drop function matching_passages(text, text, integer, jsonpath);
drop function matching_documents(text, text, integer, jsonpath);
drop trigger limit_changed_file on knowledge_documents;
drop trigger limit_new_file on knowledge_documents;
drop function limit_document_file();
drop trigger label_document on knowledge_documents;
drop function label_document();
drop policy allowed_rows on knowledge_files;
drop policy allowed_rows on knowledge_documents;
drop function current_groups();
drop table knowledge_labels;
alter table sessions drop column groups;
alter table knowledge_files drop column allow;
alter table knowledge_documents
  drop column allow,
  drop column metadata,
  drop column own_allow,
  drop column own_metadata;
