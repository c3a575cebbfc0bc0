drop function matched_words(text, text, integer, text, text[]);
alter table knowledge_bases
  drop column reranker;
alter table knowledge_links
  drop column page_from,
  drop column page_to;
