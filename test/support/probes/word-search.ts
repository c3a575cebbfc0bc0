import type { Embedder, EmbedderSettings } from '../../../src/ingest/knowledge/embedders/embedder.ts';
import type { VectorSpace } from '../../../src/ingest/knowledge/index/vector/engine.ts';
import { vectorBytes } from '../../../src/ingest/knowledge/index/vector/vector-bytes.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Tx } from '../../../src/lib/postgres/db.ts';
import { sql } from '../../../src/lib/postgres/sql.ts';
import type { VectorDatabase } from './vector-spaces.ts';

/** Each of these words is a direction of its own, and `car` is nearly that of `automobile`. */
const directions: Record<string, number[]> = {
  automobile: [1, 0, 0, 0],
  car: [0.95, 0.3, 0, 0],
  bread: [0, 0, 1, 0],
  weather: [0, 0, 0, 1],
};

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(4);
  for (const [word, coordinates] of Object.entries(directions)) {
    if (new RegExp(`\\b${word}`, 'i').test(text)) {
      coordinates.forEach((value, place) => {
        vector[place] = (vector[place] ?? 0) + value;
      });
    }
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** An embedder that knows a few words and records the settings of each call. */
export function wordEmbedders(options: { beforeEmbedding?: (signal: AbortSignal) => Promise<void> } = {}) {
  const asked: EmbedderSettings[] = [];
  const embedder: Embedder = {
    provider: 'custom',
    model: 'words',
    dimensions: 4,
    limits: { textsPerCall: 1, tokensPerCall: 1_000, tokensPerText: 1_000, callsInFlight: 1 },
    pricePerMillionTokens: 0,
    embed: async (texts, { signal }) => {
      await options.beforeEmbedding?.(signal);
      return texts.map(vectorOf);
    },
    close: async () => {},
  };
  const embedders = {
    get: (_tenantId: string, settings: EmbedderSettings) => {
      asked.push(settings);
      return embedder;
    },
  };
  return { asked, embedders };
}

export interface NewChunk {
  text: string;
  headingPath?: string[];
  start?: number;
  vector?: Float32Array;
}

export interface NewDocument {
  title: string;
  state?: string;
  revision?: number;
  /** Revision of its links. */
  linked?: number;
}

/** Writes documents as a run does. The same text twice is one chunk with two links. */
export async function writeDocument(
  database: VectorDatabase,
  space: VectorSpace,
  { document, chunks }: { document: NewDocument; chunks: NewChunk[] },
): Promise<string> {
  const documentId = newId();
  const { tenantId, kbId, generation } = space;
  const revision = document.revision ?? 1;
  await database.tenant(tenantId, async (tx) => {
    await tx.run(sql`
      insert into knowledge_documents (tenant_id, kb_id, document_id, generation, source_id, uri, uri_key, title,
                                       state, revision, created_by_job, last_job)
      values (${tenantId}, ${kbId}, ${documentId}, ${generation}, ${newId()}, ${`file:${document.title}`},
              ${Buffer.from(documentId)}, ${document.title}, ${document.state ?? 'indexed'}, ${revision},
              ${newId()}, ${newId()})`);
    for (const [ordinal, chunk] of chunks.entries()) {
      const chunkId = await addChunk(tx, space, chunk);
      await tx.run(sql`
        insert into knowledge_links (tenant_id, kb_id, document_id, revision, ordinal, chunk_id, heading_path,
                                     start_at, end_at, job_id)
        values (${tenantId}, ${kbId}, ${documentId}, ${document.linked ?? revision}, ${ordinal}, ${chunkId},
                ${chunk.headingPath ?? []}, ${chunk.start ?? 0}, ${(chunk.start ?? 0) + chunk.text.length},
                ${newId()})`);
    }
    await tx.run(sql`
      update knowledge_generations
         set index_version = index_version + 1
       where tenant_id = ${tenantId}
         and kb_id = ${kbId}
         and generation = ${generation}`);
  });
  return documentId;
}

async function addChunk(tx: Tx, space: VectorSpace, { text, vector }: NewChunk): Promise<number | undefined> {
  const row = await tx.find<{ chunkId: number }>(sql`
    insert into embeddings_index (tenant_id, kb_id, generation, content_hash, text, tokens, vector, created_by_job)
    values (${space.tenantId}, ${space.kbId}, ${space.generation}, md5(${text}) || md5(${text}), ${text}, 3,
            ${vectorBytes(vector ?? vectorOf(text))}, gen_random_uuid())
    on conflict (tenant_id, kb_id, generation, content_hash) do update
       set tokens = excluded.tokens
    returning chunk_id as "chunkId"`);
  return row?.chunkId;
}
