-- Which way to rank 100,000 passages by BM25 is fast enough, beside ts_rank_cd without document frequencies:
--   psql "$DATABASE_URL" -f bench/experiments/word-search.sql      (an empty database of a scratch server)
-- Words follow Zipf's law; a passage has 120 of them. The query has two rare words, three usual ones and two that are
-- nearly everywhere.
\set QUIET on
\timing off
set jit = off;
set work_mem = '32MB';
drop schema if exists word_search cascade;
create schema word_search;
set search_path = word_search;
select setseed(0.5);

create table passages (chunk_id bigint primary key, text text not null, words tsvector, terms integer);
insert into passages (chunk_id, text)
select n, (select string_agg('w' || floor(exp(random() * ln(30000)))::int, ' ') from generate_series(1, 120 + n * 0))
  from generate_series(1, 100000) n;
update passages set words = to_tsvector('english', text);
update passages p set terms = (select sum(cardinality(u.positions)) from unnest(p.words) u);
create index on passages using gin (words);
create table postings (term text, chunk_id bigint, tf integer);
insert into postings select u.lexeme, p.chunk_id, cardinality(u.positions) from passages p, unnest(p.words) u;
create index on postings (term, chunk_id) include (tf);
create table frequencies as select term, count(*)::int as df from postings group by term;
create unique index on frequencies (term);
vacuum analyze passages, postings, frequencies;
create table question (term text, idf float8);
insert into question
select f.term, ln(1 + (100000 - f.df + 0.5) / (f.df + 0.5))
  from frequencies f
 where f.term in ('w1', 'w2', 'w40', 'w90', 'w300', 'w9000', 'w20000');
select f.term, f.df from frequencies f join question using (term) order by 2;
select pg_size_pretty(pg_total_relation_size('passages')) as passages, pg_size_pretty(pg_total_relation_size('postings')) as postings;

\timing on
\echo today: ts_rank_cd over 20,000 of the candidates
select count(*), max(r) from (select ts_rank_cd(m.words, q.q, 33) r
  from (select string_agg(term, ' | ')::tsquery q from question) q,
       lateral (select words from passages where words @@ q.q limit 20000) m order by 1 desc limit 200) x;
\echo postings: all of them
select count(*), max(s) from (select chunk_id, sum(q.idf * p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * c.terms / 120.0))) s
  from question q join postings p using (term) join passages c using (chunk_id)
 group by 1 order by 2 desc limit 200) x;
\echo GIN, then unnest: all candidates
select count(*), max(s) from (select c.chunk_id, s.s
  from (select string_agg(term, ' | ')::tsquery q from question) q
  join passages c on c.words @@ q.q,
  lateral (select sum(t.idf * cardinality(u.positions) * 2.2 / (cardinality(u.positions) + 1.2 * (0.25 + 0.75 * c.terms / 120.0))) s
             from unnest(c.words) u join question t on t.term = u.lexeme) s
 order by 2 desc limit 200) x;
\echo GIN, then unnest: candidates that have one of the five rarest words
select count(*), max(s) from (select c.chunk_id, s.s
  from (select string_agg(term, ' | ')::tsquery q from (select term from question order by idf desc limit 5) r) q
  join passages c on c.words @@ q.q,
  lateral (select sum(t.idf * cardinality(u.positions) * 2.2 / (cardinality(u.positions) + 1.2 * (0.25 + 0.75 * c.terms / 120.0))) s
             from unnest(c.words) u join question t on t.term = u.lexeme) s
 order by 2 desc limit 200) x;
\echo GIN, then ts_rank per word, whose value for one word depends on its count only: all candidates
select count(*), max(s) from (select c.chunk_id, s.s
  from (select string_agg(term, ' | ')::tsquery q from question) q
  join passages c on c.words @@ q.q,
  lateral (select sum(t.idf * t.tf * 2.2 / (t.tf + 1.2 * (0.25 + 0.75 * c.terms / 120.0))) s
             from (select idf, ts_rank('{1,1,1,1}', c.words, t.term::tsquery) tf from question t) t) s
 order by 2 desc limit 200) x;
\echo the same, candidates that have one of the five rarest words
select count(*), max(s) from (select c.chunk_id, s.s
  from (select string_agg(term, ' | ')::tsquery q from (select term from question order by idf desc limit 5) r) q
  join passages c on c.words @@ q.q,
  lateral (select sum(t.idf * t.tf * 2.2 / (t.tf + 1.2 * (0.25 + 0.75 * c.terms / 120.0))) s
             from (select idf, ts_rank('{1,1,1,1}', c.words, t.term::tsquery) tf from question t) t) s
 order by 2 desc limit 200) x;
