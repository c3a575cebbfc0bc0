-- The pages of its document that a passage is on; null for documents without pages, and for links of older versions.
alter table knowledge_links
  add column page_from integer,
  add column page_to integer;
-- What orders the results of searches anew; null: nothing does.
alter table knowledge_bases
  add column reranker jsonb;

-- The words of these texts, as they are written there, that the question also has in any form.
create function matched_words(p_tenant text, p_kb text, p_generation integer, p_question text, p_texts text[])
  returns table (place bigint, words text[])
  language sql
  stable
  set search_path = pg_catalog, public, pg_temp
as $$
  select t.place, array_agg(distinct w.token)
    from (select g.language::regconfig as language,
                 tsvector_to_array(words_of(g.language::regconfig, p_question)) as lexemes
            from knowledge_generations g
           where g.tenant_id = p_tenant
             and g.kb_id = p_kb
             and g.generation = p_generation) q
   cross join unnest(p_texts) with ordinality as t (text, place)
   cross join lateral (
         select distinct p.token
           from ts_parse('default', separate_numbers(t.text)) p
          where p.tokid <> 12) w
   where tsvector_to_array(words_of(q.language, w.token)) && q.lexemes
   group by t.place
$$;
