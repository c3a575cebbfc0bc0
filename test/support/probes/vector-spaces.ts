import type { VectorEngine, VectorSpace } from '../../../src/ingest/knowledge/index/vector/engine.ts';
import { vectorBytes } from '../../../src/ingest/knowledge/index/vector/vector-bytes.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Tx } from '../../../src/lib/postgres/db.ts';
import { sql } from '../../../src/lib/postgres/sql.ts';
import type { SeededRandom } from '../../chaos/seeded-random.ts';

/** What arranging vectors needs of a database, whichever it is. */
export interface VectorDatabase {
  tenant<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  owner<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** A tenant with a knowledge base whose first generation serves. */
export async function newSpace(database: VectorDatabase, dimensions: number): Promise<VectorSpace> {
  const tenantId = `tenant-${newId()}`;
  await database.owner('insert into tenants (tenant_id, name) values ($1, $1)', [tenantId]);
  return addSpace(database, { tenantId, kbId: 'kb', generation: 1, dimensions });
}

/** Another knowledge base, or another generation of one. */
export async function addSpace(database: VectorDatabase, space: VectorSpace): Promise<VectorSpace> {
  const { tenantId, kbId, generation, dimensions } = space;
  await database.owner(
    `insert into knowledge_bases (tenant_id, kb_id, name, chunker, embedder, generation, created_by)
     values ($1, $2, $2, '{}', '{}', $3, 'test')
     on conflict (tenant_id, kb_id) do nothing`,
    [tenantId, kbId, generation],
  );
  await database.owner(
    `insert into knowledge_generations (tenant_id, kb_id, generation, fingerprint, dimensions, embedder, state,
                                        built_by_job)
     values ($1, $2, $3, 'test', $4, '{"provider": "local"}', 'retired', gen_random_uuid())`,
    [tenantId, kbId, generation, dimensions],
  );
  return space;
}

/** Writes chunks as a run does, and returns their ids. */
export async function addVectors(
  tx: Tx,
  { engine, space }: { engine: VectorEngine; space: VectorSpace },
  vectors: readonly Float32Array[],
): Promise<number[]> {
  const hashes = vectors.map(() => newId().replaceAll('-', '').repeat(2));
  const rows = await tx.rows<{ chunkId: number; hash: string }>(sql`
    insert into embeddings_index (tenant_id, kb_id, generation, content_hash, text, tokens, vector, created_by_job)
    select ${space.tenantId}, ${space.kbId}, ${space.generation}, c.hash, 'a text', 2, decode(c.hex, 'hex'),
           gen_random_uuid()
      from unnest(${hashes}::text[],
                  ${vectors.map((vector) => vectorBytes(vector).toString('hex'))}::text[]) as c (hash, hex)
    returning chunk_id as "chunkId", content_hash as hash`);
  const idOf = new Map(rows.map(({ chunkId, hash }) => [hash, Number(chunkId)]));
  const chunks = vectors.map((vector, place) => ({ chunkId: idOf.get(hashes[place] ?? '') ?? 0, vector }));
  await engine.add(tx, space, chunks);
  await bump(tx, space);
  return chunks.map(({ chunkId }) => chunkId);
}

export async function removeVectors(tx: Tx, space: VectorSpace, chunkIds: readonly number[]): Promise<void> {
  await tx.run(sql`
    delete from embeddings_index
     where tenant_id = ${space.tenantId}
       and chunk_id = any(${chunkIds}::bigint[])`);
  await bump(tx, space);
}

async function bump(tx: Tx, space: VectorSpace): Promise<void> {
  await tx.run(sql`
    update knowledge_generations
       set index_version = index_version + 1
     where tenant_id = ${space.tenantId}
       and kb_id = ${space.kbId}
       and generation = ${space.generation}`);
}

/** A direction, given by its first coordinates; the others are 0. */
export function direction(dimensions: number, ...coordinates: number[]): Float32Array {
  const length = Math.hypot(...coordinates);
  const vector = new Float32Array(dimensions);
  vector.set(coordinates.map((coordinate) => coordinate / length));
  return vector;
}

/** Any direction, all equally likely. */
export function randomDirection(random: SeededRandom, dimensions: number): Float32Array {
  const coordinates = Array.from({ length: dimensions }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
    return radius * Math.cos(2 * Math.PI * random.next());
  });
  return direction(dimensions, ...coordinates);
}

/** The ids of the nearest, by brute force. */
export function nearestByForce(
  vectors: ReadonlyMap<number, Float32Array>,
  query: Float32Array,
  limit: number,
): number[] {
  const cosine = (vector: Float32Array) =>
    vector.reduce((sum, value, place) => sum + value * (query[place] ?? 0), 0);
  return [...vectors]
    .map(([chunkId, vector]) => ({ chunkId, score: cosine(vector) }))
    .sort((a, b) => b.score - a.score || a.chunkId - b.chunkId)
    .slice(0, limit)
    .map(({ chunkId }) => chunkId);
}
