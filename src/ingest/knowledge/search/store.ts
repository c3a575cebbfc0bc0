import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { Metadata } from '../labels/types.ts';
import type { GenerationKey, KbKey } from '../types.ts';
import type { Question } from './types.ts';

export interface ServingIndex {
  /** Null before the first run has ended. */
  generation: number | null;
  dimensions: number | null;
  /** The embedder that built it, even if the knowledge base has another one now. */
  embedder: unknown;
  /** Whether the words of all its passages are counted. */
  isCounted: boolean;
  /** What orders its results anew; null: nothing. */
  reranker: unknown;
}

export interface TextMatch {
  chunkId: number;
  /** By BM25. Null if the passage contains a word that the question excludes. */
  score: number | null;
  /** What a passage of average length would get that contains each word of the question once. */
  whole: number;
}

export interface FoundChunk {
  chunkId: number;
  text: string;
  documentId: string;
  uri: string;
  title: string;
  metadata: Metadata;
  headingPath: string[];
  startAt: number;
  endAt: number;
  /** Its place among the chunks of the document. */
  ordinal: number;
  pageFrom: number | null;
  pageTo: number | null;
  mediaType: string | null;
  /** Other places with the same text, at most 20. */
  alsoIn: FoundPlace[];
}

/** As the API returns it. */
export interface FoundPlace {
  document: { document_id: string; uri: string; title: string };
  heading_path: string[];
  start: number;
  end: number;
  page?: number;
}

export function findServingIndex(tx: Tx, { tenantId, kbId }: KbKey): Promise<ServingIndex | null> {
  return tx.find<ServingIndex>(sql`
    select g.generation, g.dimensions, g.embedder, g.counted_to is null as "isCounted", k.reranker
      from knowledge_bases k
      left join knowledge_generations g
        on g.tenant_id = k.tenant_id
       and g.kb_id = k.kb_id
       and g.generation = k.generation
     where k.tenant_id = ${tenantId}
       and k.kb_id = ${kbId}
       and k.removed_at is null`);
}

/** The best passages by their words, best first, and then the scores of the chunks `also`. */
export function listTextMatches(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  { question, limit, also = [] }: { question: Question; limit: number; also?: readonly number[] },
): Promise<TextMatch[]> {
  const { words, phrases, excluded } = question;
  return tx.rows<TextMatch>(sql`
    select r.chunk_id as "chunkId", r.score, r.whole
      from rank_passages(
             ${tenantId}, ${kbId}, ${generation}, ${words}, ${phrases}::text[], ${excluded}::text[], ${limit},
             ${also}::bigint[]) r`);
}

/** The same for an index of an older version, until its words are counted: all words weigh the same. */
export function listUncountedMatches(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  { query, limit }: { query: string; limit: number },
): Promise<TextMatch[]> {
  return tx.rows<TextMatch>(sql`
    select f.chunk_id as "chunkId", f.rank as score, 1 as whole
      from search_chunk_texts(${tenantId}, ${kbId}, ${generation}, ${query}, ${limit}) f
     order by f.rank desc, f.chunk_id`);
}

/** A word of the question that a passage contains, and what it adds to the score of the passage. */
export interface WordMatch {
  chunkId: number;
  word: string;
  /** How many passages of the index contain it. */
  passages: number;
  /** Its inverse document frequency. */
  weight: number;
  /** How often the passage contains it. */
  occurrences: number;
  score: number;
  wordCount: number;
  averageWordCount: number;
}

export function listWordMatches(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  { question, chunkIds }: { question: Question; chunkIds: readonly number[] },
): Promise<WordMatch[]> {
  return tx.rows<WordMatch>(sql`
    select x.chunk_id as "chunkId", x.word, x.passages, x.weight, x.occurrences, x.score,
           x.word_count as "wordCount", x.average_word_count as "averageWordCount"
      from explain_passages(${tenantId}, ${kbId}, ${generation}, ${question.words}, ${chunkIds}::bigint[]) x`);
}

/**
 * The chunks with the first of their documents, in the order of the ids. Chunks that belong to no current document are
 * left out: their text is being added or removed.
 */
export function listFoundChunks(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  { chunkIds, filter }: { chunkIds: readonly number[]; filter: string | null },
): Promise<FoundChunk[]> {
  return tx.rows<FoundChunk>(sql`
    select w.chunk_id as "chunkId", c.text, f.document_id as "documentId", f.uri, f.title, f.metadata,
           f.heading_path as "headingPath", f.start_at as "startAt", f.end_at as "endAt", f.ordinal,
           f.page_from as "pageFrom", f.page_to as "pageTo", f.media_type as "mediaType", o.places as "alsoIn"
      from unnest(${chunkIds}::bigint[]) with ordinality as w (chunk_id, place)
     cross join lateral (
           select e.text
             from embeddings_index e
            where e.tenant_id = ${tenantId}
              and e.kb_id = ${kbId}
              and e.generation = ${generation}
              and e.chunk_id = w.chunk_id
            limit 1) c
     cross join lateral (
           select d.document_id, d.uri, d.title, d.metadata, d.media_type, l.heading_path, l.start_at, l.end_at,
                  l.ordinal, l.page_from, l.page_to
             from knowledge_links l
             join knowledge_documents d
               on d.tenant_id = l.tenant_id
              and d.kb_id = l.kb_id
              and d.document_id = l.document_id
              and d.revision = l.revision
            where l.tenant_id = ${tenantId}
              and l.kb_id = ${kbId}
              and l.chunk_id = w.chunk_id
              and d.generation = ${generation}
              and d.state <> 'gone'
              and (${filter}::jsonpath is null or d.metadata @@ ${filter}::jsonpath)
            order by d.created_at, d.document_id, l.ordinal
            limit 1) f
     cross join lateral (
           select coalesce(jsonb_agg(jsonb_build_object(
                    'document', jsonb_build_object('document_id', p.document_id, 'uri', p.uri, 'title', p.title),
                    'heading_path', p.heading_path, 'start', p.start_at, 'end', p.end_at)
                    || case when p.page_from is null then '{}' else jsonb_build_object('page', p.page_from) end
                    order by p.created_at, p.document_id, p.ordinal), '[]') as places
             from (select d.document_id, d.uri, d.title, d.created_at, l.heading_path, l.start_at, l.end_at, l.ordinal,
                          l.page_from
                     from knowledge_links l
                     join knowledge_documents d
                       on d.tenant_id = l.tenant_id
                      and d.kb_id = l.kb_id
                      and d.document_id = l.document_id
                      and d.revision = l.revision
                    where l.tenant_id = ${tenantId}
                      and l.kb_id = ${kbId}
                      and l.chunk_id = w.chunk_id
                      and d.generation = ${generation}
                      and d.state <> 'gone'
                      and (${filter}::jsonpath is null or d.metadata @@ ${filter}::jsonpath)
                    order by d.created_at, d.document_id, l.ordinal
                   offset 1
                    limit 20) p) o
     order by w.place`);
}

/** The words of each text that the question also has, as the text writes them. */
export async function listMatchedWords(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  { words, texts }: { words: string; texts: readonly string[] },
): Promise<string[][]> {
  const rows = await tx.rows<{ place: number; words: string[] }>(sql`
    select m.place, m.words
      from matched_words(${tenantId}, ${kbId}, ${generation}, ${words}, ${texts}::text[]) m`);
  const byPlace = new Map(rows.map((row) => [row.place, row.words]));
  return texts.map((_, index) => byPlace.get(index + 1) ?? []);
}
