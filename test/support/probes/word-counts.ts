import type { TestDatabase } from '../worlds/database.ts';

export interface WordCounts {
  /** Words of which the kept count differs from a recount. */
  wrong: { word: string; kept: number; found: number }[];
  words: number;
  /** Generations whose number of passages or words differs. */
  wrongTotals: unknown[];
}

/** Counts the words of all passages again, from their texts, and compares with what was kept. */
export async function recountWords(
  { owner }: Pick<TestDatabase, 'owner'>,
  { tenantId }: { tenantId: string },
): Promise<WordCounts> {
  const rows = await owner<{ word: string; kept: string; found: string }>(
    `with found as (
       select e.kb_id, e.generation, u.word, count(*) as n
         from embeddings_index e
         join knowledge_generations g using (tenant_id, kb_id, generation),
              lateral unnest(tsvector_to_array(
                words_of(g.language::regconfig, concat_ws(E'\\n', nullif(e.context, ''), e.text)))) as u (word)
        where e.tenant_id = $1
        group by 1, 2, 3
     ), kept as (
       select kb_id, generation, word, sum(n) as n
         from (select kb_id, generation, word, passages as n from knowledge_words where tenant_id = $1
               union all
               select c.kb_id, c.generation, e.key, e.value::integer
                 from knowledge_word_changes c, jsonb_each_text(c.words) e
                where c.tenant_id = $1) k
        group by 1, 2, 3
       having sum(n) <> 0
     )
     select word, coalesce(k.n, 0) as kept, coalesce(f.n, 0) as found
       from found f
       full join kept k using (kb_id, generation, word)`,
    [tenantId],
  );
  const wrongTotals = await owner(
    `select g.kb_id, g.generation, g.passages, count(e.*) as found, g.passage_words, sum(e.word_count) as words
       from knowledge_generations g
       left join embeddings_index e using (tenant_id, kb_id, generation)
      where g.tenant_id = $1
      group by g.tenant_id, g.kb_id, g.generation
     having g.passages <> count(e.*) or g.passage_words <> coalesce(sum(e.word_count), 0)`,
    [tenantId],
  );
  const wrong = rows
    .map(({ word, kept, found }) => ({ word, kept: Number(kept), found: Number(found) }))
    .filter(({ kept, found }) => kept !== found);
  return { wrong, words: rows.length, wrongTotals };
}
