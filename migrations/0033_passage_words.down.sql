drop function explain_passages(text, text, integer, text, bigint[]);
drop function rank_passages(text, text, integer, text, text[], text[], integer, bigint[]);
drop function needed_words(regconfig, text[], text[]);
drop function score_passages(
  text, text, integer, text[], bigint[], double precision[], double precision, tsquery, integer);
drop function passage_score(tsvector, integer, double precision, tsquery[], double precision[]);
drop function word_query(text);
drop function question_words(text, text, integer, text);
drop function count_old_passages(text, text, integer, integer);
drop trigger count_deleted_words on embeddings_index;
drop trigger count_added_words on embeddings_index;
drop function count_deleted_words();
drop function count_added_words();
drop function note_word_change(text, text, integer, jsonb, bigint, bigint);
drop function sum_up_words(text, text, integer);
drop function is_counted_word(text);
drop trigger set_passage_words on embeddings_index;
drop function set_passage_words();
drop function length_of_words(tsvector);
drop function generation_word(text, text, integer);
drop function words_of(regconfig, text);
drop function separate_numbers(text);
drop table knowledge_word_changes;
drop table knowledge_words;
alter table embeddings_index
  drop column context,
  drop column word_count;
-- The version before generates the words by itself.
alter table embeddings_index drop column text_search;
alter table embeddings_index
  add column text_search tsvector generated always as (to_tsvector('english', text)) stored;
create index embeddings_index_text_search on embeddings_index using gin (text_search);
alter table knowledge_generations
  drop column counted_to,
  drop column passage_words,
  drop column passages,
  drop column language;
alter table knowledge_bases drop column language;
