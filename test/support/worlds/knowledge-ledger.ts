import type { Chunk, ChunkerSettings } from '../../../src/ingest/knowledge/chunkers/chunker.ts';
import { createChunker } from '../../../src/ingest/knowledge/chunkers/create-chunker.ts';
import { loadTokenCounter } from '../../../src/ingest/knowledge/embedders/local-assets.ts';
import { readDocument } from '../../../src/ingest/knowledge/formats/read-document.ts';

/** A document as its client knows it. */
export interface GivenDocument {
  uri: string;
  /** Of a file; texts that stand in their source have none. */
  name: string | null;
  content: string;
}

/** What must be in the index, computed by the reader and the chunker without a run. */
export interface ExpectedIndex {
  documents: { uri: string; state: string; chunks: number }[];
  links: { uri: string; ordinal: number; hash: string; headings: string[]; start: number; end: number }[];
  /** Each text once, by its hash. */
  chunks: { hash: string; text: string; tokens: number }[];
  counters: Record<string, number>;
}

/** Its vocabulary is read once. */
let counter: ReturnType<typeof loadTokenCounter> | undefined;

/** After a first run over these documents. */
export async function expectIndex(
  given: readonly GivenDocument[],
  settings: ChunkerSettings,
): Promise<ExpectedIndex> {
  counter ??= loadTokenCounter();
  const countTokens = await counter;
  const chunker = createChunker(settings, { countTokens });
  const expected: ExpectedIndex = { documents: [], links: [], chunks: [], counters: {} };
  const texts = new Map<string, Chunk>();
  for (const { uri, name, content } of given.toSorted((one, other) => (one.uri < other.uri ? -1 : 1))) {
    const chunks = [...chunker.chunks(await textOf({ name, content }))];
    expected.documents.push({ uri, state: 'indexed', chunks: chunks.length });
    for (const [ordinal, chunk] of chunks.entries()) {
      const { contentHash: hash, headingPath: headings, start, end } = chunk;
      expected.links.push({ uri, ordinal, hash, headings, start, end });
      texts.set(hash, chunk);
    }
  }
  for (const { contentHash: hash, text, tokens } of texts.values())
    expected.chunks.push({ hash, text, tokens });
  expected.chunks.sort((one, other) => (one.hash < other.hash ? -1 : 1));
  expected.counters = countersOf(expected);
  return expected;
}

async function textOf({ name, content }: Pick<GivenDocument, 'name' | 'content'>): Promise<string> {
  const bytes = Buffer.from(content);
  const input = name === null ? { bytes, name: 'Untitled', kind: 'markdown' as const } : { bytes, name };
  const result = await readDocument(input, { signal: new AbortController().signal });
  if (result.kind !== 'text') throw new Error(`The document ${name} has no text: ${JSON.stringify(result)}`);
  return result.text;
}

/** Every text is embedded once; repeating it costs nothing. */
function countersOf({ documents, links, chunks }: ExpectedIndex): Record<string, number> {
  return {
    docs_seen: documents.length,
    docs_unchanged: 0,
    docs_empty: 0,
    docs_error: 0,
    docs_gone: 0,
    chunks_seen: links.length,
    chunks_processed: chunks.length,
    chunks_skipped: links.length - chunks.length,
    chunks_error: 0,
    tokens_embedded: chunks.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

export interface IndexRows {
  documents: ExpectedIndex['documents'];
  links: ExpectedIndex['links'];
  chunks: (ExpectedIndex['chunks'][number] & { vector: string })[];
  /** Rows and bytes that nothing refers to: all counts must be zero. */
  leftovers: Record<string, number>;
}

/** What is in the index of one knowledge base ($1 tenant, $2 kb_id), in the shape of what is expected. */
export const indexRowsQuery = `
  select
    (select coalesce(json_agg(json_build_object('uri', d.uri, 'state', d.state, 'chunks', d.chunk_count)
              order by d.uri collate "C"), '[]')
       from knowledge_documents d where d.tenant_id = $1 and d.kb_id = $2) as documents,
    (select coalesce(json_agg(json_build_object('uri', d.uri, 'ordinal', l.ordinal, 'hash', e.content_hash,
              'headings', l.heading_path, 'start', l.start_at, 'end', l.end_at)
              order by d.uri collate "C", l.ordinal), '[]')
       from knowledge_links l
       join knowledge_documents d using (tenant_id, kb_id, document_id, revision)
       left join embeddings_index e on e.tenant_id = l.tenant_id and e.chunk_id = l.chunk_id
      where l.tenant_id = $1 and l.kb_id = $2) as links,
    (select coalesce(json_agg(json_build_object('hash', e.content_hash, 'text', e.text, 'tokens', e.tokens,
              'vector', encode(e.vector, 'hex')) order by e.content_hash collate "C"), '[]')
       from embeddings_index e where e.tenant_id = $1 and e.kb_id = $2) as chunks,
    json_build_object(
      'linksOfNoDocument', (
        select count(*) from knowledge_links l
         where l.tenant_id = $1 and l.kb_id = $2
           and not exists (select from knowledge_documents d
                            where d.tenant_id = l.tenant_id and d.document_id = l.document_id
                              and d.revision = l.revision)),
      'chunksOfNoLink', (
        select count(*) from embeddings_index e
         where e.tenant_id = $1 and e.kb_id = $2
           and not exists (select from knowledge_links l
                            where l.tenant_id = e.tenant_id and l.chunk_id = e.chunk_id)),
      'documentsWithAWayBack', (
        select count(*) from knowledge_documents where tenant_id = $1 and kb_id = $2 and previous is not null),
      'otherGenerations', (
        select count(*) from knowledge_generations where tenant_id = $1 and kb_id = $2 and state <> 'serving'),
      'rowsOfOtherGenerations', (
        select count(*) from embeddings_index e
          join knowledge_bases b using (tenant_id, kb_id)
         where e.tenant_id = $1 and e.kb_id = $2 and e.generation <> b.generation),
      'wrongWordCounts', (
        select count(*)
          from (select e.generation, u.word, count(*) as n
                  from embeddings_index e,
                       unnest(tsvector_to_array(
                         words_of('english', concat_ws(E'\\n', nullif(e.context, ''), e.text)))) as u (word)
                 where e.tenant_id = $1 and e.kb_id = $2
                 group by 1, 2) f
          full join (select generation, word, sum(n) as n
                       from (select generation, word, passages as n
                               from knowledge_words where tenant_id = $1 and kb_id = $2
                             union all
                             select c.generation, w.key, w.value::integer
                               from knowledge_word_changes c, jsonb_each_text(c.words) w
                              where c.tenant_id = $1 and c.kb_id = $2) a
                      group by 1, 2
                     having sum(n) <> 0) k using (generation, word)
         where f.n is distinct from k.n),
      'wrongPassageCounts', (
        select count(*)
          from knowledge_generations g,
               lateral (select count(*) as passages, coalesce(sum(e.word_count), 0) as words
                          from embeddings_index e
                         where e.tenant_id = g.tenant_id and e.kb_id = g.kb_id
                           and e.generation = g.generation) f
         where g.tenant_id = $1 and g.kb_id = $2
           and (g.passages <> f.passages or g.passage_words <> f.words)),
      'frontier', (select count(*) from crawl_frontier where tenant_id = $1)) as leftovers`;

export const noLeftovers = {
  linksOfNoDocument: 0,
  chunksOfNoLink: 0,
  documentsWithAWayBack: 0,
  otherGenerations: 0,
  rowsOfOtherGenerations: 0,
  wrongWordCounts: 0,
  wrongPassageCounts: 0,
  frontier: 0,
};
