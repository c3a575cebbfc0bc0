import { beforeAll, expect, test } from 'vitest';
import { usePglite } from '../../../../../test/support/fakes/pglite-database.ts';
import { newSpace } from '../../../../../test/support/probes/vector-spaces.ts';
import { wordEmbedders, writeDocument } from '../../../../../test/support/probes/word-search.ts';
import type { Database } from '../../../../lib/postgres/db.ts';
import { createSearchTurns, searchKnowledge } from '../../search/search.ts';
import { PgvectorEngine } from './pgvector.ts';
import { findVectorTable } from './pgvector-store.ts';
import { prepareVectorTable } from './prepare-pgvector.ts';
import type { VectorTable } from './types.ts';
import { readVector } from './vector-bytes.ts';

const database = usePglite();
let engine: PgvectorEngine;

beforeAll(async () => {
  await prepareVectorTable({ query: (text) => database.owner(text) });
  const table = (await database.kernel(findVectorTable)) as VectorTable;
  engine = new PgvectorEngine({ table, exactUpTo: 0 });
});

/** What a search needs of a database: the tenant, and the groups of a member. */
const db = {
  tenant: (view: string | { tenantId: string; groups?: readonly string[] }, work: never) =>
    database.member(typeof view === 'string' ? { tenantId: view } : view, work),
} as unknown as Database;

const cases = [
  ['everything', {}, ['first', 'second', 'third']],
  ['a filter', { filter: { year: { gte: 2024 } } }, ['second', 'third']],
  ['a group', { groups: ['hr'] }, ['first', 'second']],
  ['no group', { groups: [] }, ['first']],
  ['a filter and a group', { filter: { year: { gte: 2024 } }, groups: ['hr'] }, ['second']],
  ['a filter that nothing matches', { filter: { year: 1999 } }, []],
] as const;

test.each(cases)('with pgvector a search finds by %s only what it may', async (_name, asked, expected) => {
  const space = await newSpace(database, 4);
  const documents = [
    { title: 'first', year: 2023, allow: null },
    { title: 'second', year: 2024, allow: ['hr'] },
    { title: 'third', year: 2025, allow: ['sales'] },
  ];
  for (const { title, year, allow } of documents) {
    const chunks = [{ text: `The car of the ${title} floor.` }];
    const documentId = await writeDocument(database, space, { document: { title }, chunks });
    await database.owner(`update knowledge_documents set metadata = $2, allow = $3 where document_id = $1`, [
      documentId,
      JSON.stringify({ year }),
      allow,
    ]);
  }
  const stored = await database.owner<{ id: number; vector: Uint8Array }>(
    'select chunk_id::int as id, vector from embeddings_index where tenant_id = $1 and kb_id = $2',
    [space.tenantId, space.kbId],
  );
  const vectors = stored.map(({ id, vector }) => ({ chunkId: id, vector: readVector(Buffer.from(vector)) }));
  await database.tenant(space.tenantId, (tx) => engine.add(tx, space, vectors));
  const { embedders } = wordEmbedders();
  for (const mode of ['vector', 'hybrid', 'text'] as const) {
    const request = { ...space, query: 'car', mode, ...asked };
    const deps = { db, engine, embedders, turns: createSearchTurns() };
    const { results } = await searchKnowledge(deps, request as Parameters<typeof searchKnowledge>[1]);
    expect(results.map(({ document }) => document.title).toSorted(), mode).toEqual(expected);
  }
});
