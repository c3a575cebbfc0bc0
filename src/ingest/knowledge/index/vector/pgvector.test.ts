import pino from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../../test/chaos/seeded-random.ts';
import { usePglite } from '../../../../../test/support/fakes/pglite-database.ts';
import { engineContract } from '../../../../../test/support/probes/vector-engine-contract.ts';
import {
  addVectors,
  direction,
  newSpace,
  randomDirection,
} from '../../../../../test/support/probes/vector-spaces.ts';
import type { Tx } from '../../../../lib/postgres/db.ts';
import type { Sql } from '../../../../lib/postgres/sql.ts';
import { ExactEngine } from './exact.ts';
import { openVectorEngine } from './open-engine.ts';
import { PgvectorEngine } from './pgvector.ts';
import { findVectorTable } from './pgvector-store.ts';
import { isAtLeast, prepareVectorTable } from './prepare-pgvector.ts';
import type { VectorTable } from './types.ts';

const database = usePglite();
const logger = pino({ level: 'silent' });
const { signal } = new AbortController();
const prepare = () => prepareVectorTable({ query: (text) => database.owner(text) });
const open = () => openVectorEngine({ db: database, logger, cacheBytes: 1024 * 1024 });
let table: VectorTable;

describe('a database in which pgvector comes later', () => {
  // One after the other: each goes on where the one before has left the database.
  test('is scanned until it is prepared', async () => {
    expect((await open()).name).toBe('exact');
  });

  test('is left alone when its owner may not create extensions, and says so', async () => {
    const notices: string[] = [];
    await database.owner('set role sluice_tenant');
    const session = { query: <Row extends object>(text: string) => database.owner<Row>(text) };
    const isReady = await prepareVectorTable(session, { onNotice: (text) => void notices.push(text) });
    await database.owner('reset role');
    expect(isReady).toBe(false);
    expect(notices).toEqual([expect.stringContaining('permission denied')]);
    expect((await open()).name).toBe('exact');
  });

  test('is prepared once, however often preparation is requested', async () => {
    const engine = new ExactEngine({ cacheBytes: 0 });
    const space = await newSpace(database, 4);
    const toward = (...coordinates: number[]) => direction(4, ...coordinates);
    const early = await database.tenant(space.tenantId, (tx) =>
      addVectors(tx, { engine, space }, [toward(1), toward(0, 1)]),
    );
    expect(await prepare()).toBe(true);
    expect(await prepare()).toBe(true);
    const opened = await open();
    expect(opened.name).toBe('pgvector');
    // A process that found no pgvector when it started goes on with its own engine.
    const late = await database.tenant(space.tenantId, (tx) =>
      addVectors(tx, { engine, space }, [toward(0, 0, 1)]),
    );
    const query = { vector: toward(3, 2, 1), limit: 10, signal };
    const hits = await database.tenant(space.tenantId, (tx) => opened.search(tx, space, query));
    expect(hits.map(({ chunkId }) => chunkId)).toEqual([...early, ...late]);
  });

  test('is scanned until all older vectors are in the table', async () => {
    await database.owner('delete from embeddings_vectors');
    const inNoTime = openVectorEngine({ db: database, logger, cacheBytes: 0, fillMs: -1 });
    // One batch has room for all of them, so that the second look finds nothing to wait for.
    expect((await inNoTime).name).toBe('pgvector');
    const space = await newSpace(database, 1);
    const engine = new ExactEngine({ cacheBytes: 0 });
    await database.tenant(space.tenantId, (tx) =>
      addVectors(
        tx,
        { engine, space },
        Array.from({ length: 501 }, () => direction(1, 1)),
      ),
    );
    await database.owner('delete from embeddings_vectors');
    const tooLate = await openVectorEngine({ db: database, logger, cacheBytes: 0, fillMs: -1 });
    expect(tooLate.name).toBe('exact');
    expect((await open()).name).toBe('pgvector');
  });
});

describe('a prepared database', () => {
  beforeAll(async () => {
    await prepare();
    table = (await database.kernel(findVectorTable)) as VectorTable;
  });

  engineContract('pgvector', () => ({
    engine: new PgvectorEngine({ table }),
    database,
    recall: 1,
    dimensions: 16,
    crowd: 300,
  }));

  describe('with graphs for small spaces too', () => {
    engineContract('pgvector', () => ({
      engine: new PgvectorEngine({ table, exactUpTo: 50 }),
      database,
      recall: 0.95,
      dimensions: 384,
      crowd: 300,
    }));
  });

  test.each([
    [384, 'vector'],
    [3_072, 'halfvec'],
  ])('asks the graph of %i dimensions in a large space only', async (dimensions) => {
    const random = seededRandom(3);
    const vectors = Array.from({ length: 40 }, () => randomDirection(random, dimensions));
    const space = await newSpace(database, dimensions);
    const engine = new PgvectorEngine({ table });
    await database.tenant(space.tenantId, (tx) => addVectors(tx, { engine, space }, vectors));
    const plansOf = (exactUpTo: number) =>
      database.tenant(space.tenantId, async (tx) => {
        const { spied, plans } = explaining(tx);
        const query = { vector: vectors[7] as Float32Array, limit: 5, signal };
        const hits = await new PgvectorEngine({ table, exactUpTo }).search(spied, space, query);
        expect(hits[0]?.score).toBeCloseTo(1, 5);
        return plans.join('\n');
      });
    expect(await plansOf(39)).toContain(`embeddings_vectors_hnsw_${dimensions}`);
    expect(await plansOf(40)).not.toContain('hnsw');
  });

  test('is compared in full if everything that the graph finds belongs to other tenants', async () => {
    const dimensions = 384;
    const space = await newSpace(database, dimensions);
    const crowd = await newSpace(database, dimensions);
    // Before 0.8 a graph does not go on when what it found is filtered away.
    const engine = new PgvectorEngine({ table: { ...table, version: '0.7.4' }, exactUpTo: 10 });
    const near = Array.from({ length: 150 }, (_, place) => direction(dimensions, 100, place));
    const far = Array.from({ length: 20 }, (_, place) => direction(dimensions, -100, place));
    await database.tenant(crowd.tenantId, (tx) => addVectors(tx, { engine, space: crowd }, near));
    await database.tenant(space.tenantId, (tx) => addVectors(tx, { engine, space }, far));
    const query = { vector: direction(dimensions, 1), limit: 15, signal };
    const hits = await database.tenant(space.tenantId, (tx) => engine.search(tx, space, query));
    expect(hits).toHaveLength(15);
    expect(hits.every(({ score }) => score < 0)).toBe(true);
  });

  test('is planned as usual after a search in the graph', async () => {
    const space = await newSpace(database, 384);
    const engine = new PgvectorEngine({ table, exactUpTo: 0 });
    await database.tenant(space.tenantId, async (tx) => {
      await addVectors(tx, { engine, space }, [direction(384, 1)]);
      await engine.search(tx, space, { vector: direction(384, 1), limit: 1, signal });
      expect(await tx.rows({ text: 'show enable_sort', values: [] })).toEqual([{ enable_sort: 'on' }]);
    });
  });

  test('lets no tenant write or read vectors of another one', async () => {
    const space = await newSpace(database, 4);
    const stranger = await newSpace(database, 4);
    const engine = new PgvectorEngine({ table });
    const [chunkId] = await database.tenant(space.tenantId, (tx) =>
      addVectors(tx, { engine, space }, [direction(4, 1)]),
    );
    const forged = [{ chunkId: Number(chunkId) + 1_000, vector: direction(4, 1) }];
    await expect(database.tenant(stranger.tenantId, (tx) => engine.add(tx, space, forged))).rejects.toThrow(
      'row-level security',
    );
    const count = { text: 'select count(*)::int as count from embeddings_vectors', values: [] };
    expect(await database.tenant(stranger.tenantId, (tx) => tx.rows(count))).toEqual([{ count: 0 }]);
    expect(await database.tenant(space.tenantId, (tx) => tx.rows(count))).toEqual([{ count: 1 }]);
  });
});

test('versions of the extension are compared by their numbers', () => {
  expect(isAtLeast('0.8.1', '0.8')).toBe(true);
  expect(isAtLeast('0.10.0', '0.8')).toBe(true);
  expect(isAtLeast('1.0', '0.8')).toBe(true);
  expect(isAtLeast('0.8', '0.8.0')).toBe(true);
  expect(isAtLeast('0.7.4', '0.8')).toBe(false);
});

/** The plans of what is asked for in rows. */
function explaining(tx: Tx): { spied: Tx; plans: string[] } {
  const plans: string[] = [];
  const rows = async <Row extends object>(statement: Sql): Promise<Row[]> => {
    const plan = await tx.rows<{ 'QUERY PLAN': string }>({ ...statement, text: `explain ${statement.text}` });
    plans.push(...plan.map((line) => line['QUERY PLAN']));
    return tx.rows<Row>(statement);
  };
  return { spied: Object.assign(Object.create(tx) as Tx, { rows }), plans };
}
