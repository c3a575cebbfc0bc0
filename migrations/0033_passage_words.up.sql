-- Ranking by BM25: how many passages of a generation contain a word, how long its passages are, and how often a word is
-- in one. Triggers keep the counts in the transaction that adds or deletes passages, whichever program it belongs to.

alter table knowledge_bases add column language text not null default 'english';
alter table knowledge_generations
  add column language text not null default 'english',
  -- How many passages there are, and how many words they have.
  add column passages bigint not null default 0,
  add column passage_words bigint not null default 0,
  -- Passages after this one may have been written by an older version and are not counted yet; null: all are counted.
  add column counted_to bigint;
update knowledge_generations set counted_to = 0;

-- A trigger fills it from now on, because the words depend on the language. Nothing is rewritten.
alter table embeddings_index alter column text_search drop expression;
alter table embeddings_index
  -- How many words the text has; null: not counted yet.
  add column word_count integer,
  -- Title and headings that the text belongs to and does not contain: embedded with it, and found by their words. Those
  -- of the document that had the text first.
  add column context text not null default '';

create table knowledge_words (
  tenant_id  text not null,
  kb_id      text not null,
  generation integer not null,
  word       text not null check (octet_length(word) <= 255),
  passages   integer not null,
  primary key (tenant_id, kb_id, generation, word)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
select guard_tenant_table('knowledge_words');

-- What has been added to the counts since they were last summed up, one row per statement: updating a row of
-- knowledge_words for each word of each group would cost more than writing the passages.
create table knowledge_word_changes (
  tenant_id  text not null,
  kb_id      text not null,
  generation integer not null,
  change_id  bigint generated always as identity,
  words      jsonb not null,
  primary key (tenant_id, kb_id, generation, change_id)
) with (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);
select guard_tenant_table('knowledge_word_changes');

grant select, insert, update, delete on knowledge_words, knowledge_word_changes to sluice_tenant;
-- Erasure.
grant delete on knowledge_words, knowledge_word_changes to sluice_kernel;

-- PostgreSQL's parser takes the hyphen of KX-4410 for a minus.
create function separate_numbers(p_text text) returns text
language sql immutable parallel safe
return regexp_replace(p_text, '([[:alnum:]])[-/](?=[0-9])', '\1 ', 'g');

-- The words of a text in the forms that are compared, with their positions. Codes such as KX-4410 are also found when
-- they are written without their signs.
create function words_of(p_language regconfig, p_text text) returns tsvector
language sql immutable parallel safe
return to_tsvector(p_language, separate_numbers(p_text)) || array_to_tsvector(coalesce((
  select array_agg(distinct lower(translate(m[1], '-_./:', '')))
    from regexp_matches(p_text, '\m[[:alnum:]]+(?:[-_./:][[:alnum:]]+)+', 'g') m
   where m[1] ~ '[0-9]'
     and m[1] ~ '[[:alpha:]]'
     and length(m[1]) <= 64), '{}'));

-- A word that only the passages of one generation have. The index of words has all tenants' passages; with this word
-- a search reads those of its own generation. No text has it: words do not begin with this sign.
create function generation_word(p_tenant text, p_kb text, p_generation integer) returns text
language sql immutable parallel safe
return '=' || left(md5(p_tenant || chr(1) || p_kb || chr(1) || p_generation), 16);

create function length_of_words(p_words tsvector) returns integer
language sql immutable parallel safe
return (select coalesce(sum(cardinality(u.positions)), 0)::integer from unnest(p_words) u);

create function set_passage_words() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_language text;
begin
  select g.language into v_language
    from knowledge_generations g
   where g.tenant_id = new.tenant_id
     and g.kb_id = new.kb_id
     and g.generation = new.generation;
  new.text_search := words_of(
    coalesce(v_language, 'english')::regconfig, concat_ws(E'\n', nullif(new.context, ''), new.text));
  new.word_count := length_of_words(new.text_search);
  new.text_search := new.text_search
    || array_to_tsvector(array[generation_word(new.tenant_id, new.kb_id, new.generation)]);
  return new;
end
$$;
create trigger set_passage_words before insert on embeddings_index
  for each row execute function set_passage_words();

-- Longer ones are no words of a language, and are not worth their place in an index.
create function is_counted_word(p_word text) returns boolean
language sql immutable parallel safe
return octet_length(p_word) <= 255 and p_word not like '=%';

-- Adds up the changes. The sorted order keeps two transactions from waiting for each other.
create function sum_up_words(p_tenant text, p_kb text, p_generation integer) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
  with taken as (
    delete from knowledge_word_changes c
     where c.tenant_id = p_tenant
       and c.kb_id = p_kb
       and c.generation = p_generation
    returning c.words
  )
  insert into knowledge_words as w (tenant_id, kb_id, generation, word, passages)
  select p_tenant, p_kb, p_generation, e.key, sum(e.value::integer)
    from taken t,
         jsonb_each_text(t.words) e
   group by e.key
  having sum(e.value::integer) <> 0
   order by e.key
  on conflict (tenant_id, kb_id, generation, word) do update
     set passages = w.passages + excluded.passages;
end
$$;

-- So many changes are kept: each search reads them all.
create function note_word_change(
  p_tenant text, p_kb text, p_generation integer, p_words jsonb, p_passages bigint, p_word_count bigint)
returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
  update knowledge_generations g
     set passages = g.passages + p_passages,
         passage_words = g.passage_words + p_word_count
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation;
  insert into knowledge_word_changes (tenant_id, kb_id, generation, words)
  values (p_tenant, p_kb, p_generation, p_words);
  if (select count(*) >= 32
        from knowledge_word_changes c
       where c.tenant_id = p_tenant
         and c.kb_id = p_kb
         and c.generation = p_generation) then
    perform sum_up_words(p_tenant, p_kb, p_generation);
  end if;
end
$$;

create function count_added_words() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
  perform note_word_change(s.tenant_id, s.kb_id, s.generation, w.words, s.passages, s.word_count)
     from (select c.tenant_id, c.kb_id, c.generation, count(*) as passages, sum(c.word_count) as word_count
             from changed c
            where c.word_count is not null
            group by c.tenant_id, c.kb_id, c.generation) s
    cross join lateral (
          select coalesce(jsonb_object_agg(n.word, n.count), '{}') as words
            from (select u.word, count(*) as count
                    from changed c,
                         unnest(tsvector_to_array(c.text_search)) as u (word)
                   where c.tenant_id = s.tenant_id
                     and c.kb_id = s.kb_id
                     and c.generation = s.generation
                     and c.word_count is not null
                     and is_counted_word(u.word)
                   group by u.word) n) w;
  return null;
end
$$;

create function count_deleted_words() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
  perform note_word_change(s.tenant_id, s.kb_id, s.generation, w.words, -s.passages, -s.word_count)
     from (select c.tenant_id, c.kb_id, c.generation, count(*) as passages, sum(c.word_count) as word_count
             from changed c
            where c.word_count is not null
            group by c.tenant_id, c.kb_id, c.generation) s
    cross join lateral (
          select coalesce(jsonb_object_agg(n.word, -n.count), '{}') as words
            from (select u.word, count(*) as count
                    from changed c,
                         unnest(tsvector_to_array(c.text_search)) as u (word)
                   where c.tenant_id = s.tenant_id
                     and c.kb_id = s.kb_id
                     and c.generation = s.generation
                     and c.word_count is not null
                     and is_counted_word(u.word)
                   group by u.word) n) w;
  return null;
end
$$;

create trigger count_added_words after insert on embeddings_index
  referencing new table as changed
  for each statement execute function count_added_words();
-- Erasure deletes the counts as well.
create trigger count_deleted_words after delete on embeddings_index
  referencing old table as changed
  for each statement
  when (current_user <> 'sluice_kernel')
  execute function count_deleted_words();

-- Counts up to `p_limit` passages that an older version has written. Returns whether all are counted.
create function count_old_passages(p_tenant text, p_kb text, p_generation integer, p_limit integer)
returns boolean
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_from bigint;
  v_language regconfig;
  v_read bigint;
  v_last bigint;
  v_passages bigint;
  v_word_count bigint;
  v_words jsonb;
begin
  select g.counted_to, g.language::regconfig into v_from, v_language
    from knowledge_generations g
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation
     for no key update;
  if v_from is null then
    return true;
  end if;
  with next as (
    select e.chunk_id, e.word_count, words_of(v_language, concat_ws(E'\n', nullif(e.context, ''), e.text)) as words
      from embeddings_index e
     where e.tenant_id = p_tenant
       and e.kb_id = p_kb
       and e.generation = p_generation
       and e.chunk_id > v_from
     order by e.chunk_id
     limit p_limit
  ), filled as (
    update embeddings_index e
       set text_search = n.words || array_to_tsvector(array[generation_word(p_tenant, p_kb, p_generation)]),
           word_count = length_of_words(n.words)
      from next n
     where e.tenant_id = p_tenant
       and e.chunk_id = n.chunk_id
       and n.word_count is null
    returning e.word_count, n.words
  ), counted as (
    select u.word, count(*) as count
      from filled f,
           unnest(tsvector_to_array(f.words)) as u (word)
     where is_counted_word(u.word)
     group by u.word
  )
  select (select count(*) from next), (select max(n.chunk_id) from next n),
         (select count(*) from filled), (select coalesce(sum(f.word_count), 0) from filled f),
         (select coalesce(jsonb_object_agg(c.word, c.count), '{}') from counted c)
    into v_read, v_last, v_passages, v_word_count, v_words;
  if v_passages > 0 then
    perform note_word_change(p_tenant, p_kb, p_generation, v_words, v_passages, v_word_count);
  end if;
  update knowledge_generations g
     set counted_to = case when v_read < p_limit then null else v_last end
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation;
  return v_read < p_limit;
end
$$;

-- The words of a question with what they weigh; rarest first. Words that no passage has weigh most.
create function question_words(p_tenant text, p_kb text, p_generation integer, p_question text)
returns table (word text, passages bigint, weight double precision)
language sql stable
set search_path = pg_catalog, public, pg_temp
as $$
  with index as materialized (
    select g.language::regconfig as language, g.passages
      from knowledge_generations g
     where g.tenant_id = p_tenant
       and g.kb_id = p_kb
       and g.generation = p_generation
  ), changes as materialized (
    -- Joining it with nothing unpacks it once, and not for each word.
    select c.words || '{}' as words
      from knowledge_word_changes c
     where c.tenant_id = p_tenant
       and c.kb_id = p_kb
       and c.generation = p_generation
  ), counted as (
    select u.word,
           coalesce((select w.passages
                       from knowledge_words w
                      where w.tenant_id = p_tenant
                        and w.kb_id = p_kb
                        and w.generation = p_generation
                        and w.word = u.word), 0)
             + coalesce((select sum((c.words ->> u.word)::bigint) from changes c), 0) as passages
      from index i,
           unnest(tsvector_to_array(words_of(i.language, p_question))) as u (word)
     where is_counted_word(u.word)
  )
  select c.word, c.passages::bigint, ln(1 + (i.passages - c.passages + 0.5) / (c.passages + 0.5))::double precision
    from counted c,
         index i
   where c.passages between 0 and i.passages
   order by c.passages, c.word
   limit 64
$$;

-- A word of the index as a query.
create function word_query(p_word text) returns tsquery
language sql immutable parallel safe
return ('''' || replace(replace(p_word, '\', '\\'), '''', '''''') || '''')::tsquery;

-- The score of BM25 with k1 = 1.2 and b = 0.75. How often a word is in the text comes from ts_rank: for one word whose
-- positions weigh the same it is the sum of 1/1² to 1/n², divided by π²/6, and n follows from it. Unpacking all words
-- of a passage instead takes three times as long.
create function passage_score(
  p_words tsvector, p_word_count integer, p_average double precision, p_queries tsquery[], p_weights double precision[])
returns double precision
language sql immutable parallel safe
return (
  select coalesce(sum(c.weight * c.n * 2.2 / (c.n + 1.2 * (0.25 + 0.75 * p_word_count / p_average))), 0)
    from (select q.weight, round(1 / (1.64493406685 * (1 - r.rank)) - 0.5) as n
            from unnest(p_queries, p_weights) as q (query, weight),
                 lateral (select ts_rank('{1,1,1,1}', p_words, q.query)::double precision as rank) r
           where r.rank > 0) c);

-- The best passages by BM25, best first, all words compared. A passage without any of the rare words is read only if
-- the frequent words could lift it among the best: the best score of a word is 2.2 times its weight.
create function score_passages(
  p_tenant text, p_kb text, p_generation integer, p_words text[], p_passages bigint[], p_weights double precision[],
  p_average double precision, p_needed tsquery, p_most integer)
returns table (chunk_id bigint, score double precision)
language plpgsql
stable
security definer
set search_path = pg_catalog, public, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_queries tsquery[] := array(select word_query(u.word)
                                 from unnest(p_words) with ordinality as u (word, place)
                                order by u.place);
  v_own tsquery := word_query(generation_word(p_tenant, p_kb, p_generation));
  v_count integer := cardinality(p_words);
  v_used integer := 0;
  v_needed integer := 0;
  v_sum double precision := 0;
  v_least double precision;
  v_any tsquery;
  v_ids bigint[];
  v_scores double precision[];
begin
  if p_tenant is distinct from public.current_tenant() then
    raise exception 'A search was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  -- The rarest words that have some times as many passages as are wanted.
  while v_used < v_count and v_sum < 2 * p_most loop
    v_used := v_used + 1;
    v_sum := v_sum + p_passages[v_used];
  end loop;
  loop
    select u.query into v_any
      from (select string_agg('(' || q.query::text || ')', ' | ')::tsquery as query
              from unnest(v_queries[1 : v_used]) as q (query)) u;
    v_any := v_any && v_own;
    if p_needed is not null then
      v_any := v_any && p_needed;
    end if;
    select array_agg(b.chunk_id order by b.score desc, b.chunk_id),
           array_agg(b.score order by b.score desc, b.chunk_id),
           case when count(*) < p_most then 0 else min(b.score) end
      into v_ids, v_scores, v_least
      from (select e.chunk_id,
                   passage_score(e.text_search, e.word_count, p_average, v_queries, p_weights) as score
              from public.embeddings_index e
             where e.tenant_id = p_tenant
               and e.kb_id = p_kb
               and e.generation = p_generation
               and e.text_search @@ v_any
             order by 2 desc, 1
             limit p_most) b;
    -- The words from v_needed + 1 on cannot make a best passage by themselves.
    v_needed := v_count;
    v_sum := 0;
    while v_needed > v_used and v_sum + 2.2 * p_weights[v_needed] < v_least loop
      v_sum := v_sum + 2.2 * p_weights[v_needed];
      v_needed := v_needed - 1;
    end loop;
    exit when v_needed <= v_used;
    v_used := v_needed;
  end loop;
  return query
  select u.chunk_id, u.score
    from unnest(v_ids, v_scores) as u (chunk_id, score);
end
$$;
revoke execute on function score_passages(
  text, text, integer, text[], bigint[], double precision[], double precision, tsquery, integer) from public;
grant execute on function score_passages(
  text, text, integer, text[], bigint[], double precision[], double precision, tsquery, integer) to sluice_tenant;

-- What must and must not be in a passage; null without either.
create function needed_words(p_language regconfig, p_phrases text[], p_excluded text[]) returns tsquery
language plpgsql immutable
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_needed tsquery;
  v_part tsquery;
  v_text text;
begin
  foreach v_text in array p_phrases loop
    v_part := phraseto_tsquery(p_language, separate_numbers(v_text));
    if numnode(v_part) > 0 then
      v_needed := case when v_needed is null then v_part else v_needed && v_part end;
    end if;
  end loop;
  foreach v_text in array p_excluded loop
    v_part := phraseto_tsquery(p_language, separate_numbers(v_text));
    if numnode(v_part) > 0 then
      v_needed := case when v_needed is null then !!v_part else v_needed && !!v_part end;
    end if;
  end loop;
  return v_needed;
end
$$;

-- The best passages for the words of a question, best first, and then the scores of the passages `p_also`: 0 for those
-- without a needed phrase, null for those with an excluded one. `whole` is the score of a passage of average length
-- that has each word once.
create function rank_passages(
  p_tenant text, p_kb text, p_generation integer, p_question text, p_phrases text[], p_excluded text[],
  p_most integer, p_also bigint[])
returns table (chunk_id bigint, score double precision, whole double precision)
language plpgsql
stable
set search_path = pg_catalog, public, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_language regconfig;
  v_average double precision;
  v_words text[];
  v_passages bigint[];
  v_weights double precision[];
  v_needed tsquery;
  v_excluded tsquery;
  v_whole double precision;
begin
  if p_tenant is distinct from public.current_tenant() then
    raise exception 'A search was asked about another tenant than that of the transaction'
      using errcode = 'insufficient_privilege';
  end if;
  select g.language::regconfig, greatest(1, g.passage_words::double precision / greatest(1, g.passages))
    into v_language, v_average
    from knowledge_generations g
   where g.tenant_id = p_tenant
     and g.kb_id = p_kb
     and g.generation = p_generation;
  select array_agg(w.word order by w.passages, w.word) filter (where w.passages > 0),
         array_agg(w.passages order by w.passages, w.word) filter (where w.passages > 0),
         array_agg(w.weight order by w.passages, w.word) filter (where w.passages > 0),
         coalesce(sum(w.weight), 0)
    into v_words, v_passages, v_weights, v_whole
    from question_words(p_tenant, p_kb, p_generation, p_question) w;
  v_needed := needed_words(v_language, p_phrases, p_excluded);
  v_excluded := needed_words(v_language, p_excluded, '{}');
  if v_words is not null then
    return query
    select s.chunk_id, s.score, v_whole
      from score_passages(
             p_tenant, p_kb, p_generation, v_words, v_passages, v_weights, v_average, v_needed, p_most) s;
  end if;
  return query
  select e.chunk_id,
         case when v_excluded is not null and e.text_search @@ v_excluded then null
              when v_words is null or (v_needed is not null and not e.text_search @@ v_needed) then 0
              else passage_score(
                     e.text_search, e.word_count, v_average,
                     array(select word_query(u.word)
                             from unnest(v_words) with ordinality as u (word, place)
                            order by u.place),
                     v_weights)
         end,
         v_whole
    from embeddings_index e
   where e.tenant_id = p_tenant
     and e.kb_id = p_kb
     and e.generation = p_generation
     and e.chunk_id = any(p_also);
end
$$;

-- Why these passages have their score: each word of the question, how many passages have it, how often this one does.
create function explain_passages(
  p_tenant text, p_kb text, p_generation integer, p_question text, p_chunks bigint[])
returns table (
  chunk_id bigint, word text, passages bigint, weight double precision, occurrences integer, score double precision,
  word_count integer, average_word_count double precision)
language sql stable
set search_path = pg_catalog, public, pg_temp
as $$
  select e.chunk_id, w.word, w.passages, w.weight, cardinality(coalesce(u.positions, '{1}')),
         passage_score(e.text_search, e.word_count, a.average, array[word_query(w.word)], array[w.weight]),
         e.word_count, a.average
    from (select greatest(1, g.passage_words::double precision / greatest(1, g.passages)) as average
            from knowledge_generations g
           where g.tenant_id = p_tenant
             and g.kb_id = p_kb
             and g.generation = p_generation) a
    cross join embeddings_index e
    cross join lateral unnest(e.text_search) u
    join question_words(p_tenant, p_kb, p_generation, p_question) w on w.word = u.lexeme and w.passages > 0
   where e.tenant_id = p_tenant
     and e.kb_id = p_kb
     and e.generation = p_generation
     and e.chunk_id = any(p_chunks)
   order by e.chunk_id, w.passages, w.word
$$;
