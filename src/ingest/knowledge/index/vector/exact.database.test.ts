import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../../test/chaos/seeded-random.ts';
import { engineContract } from '../../../../../test/support/probes/vector-engine-contract.ts';
import {
  addSpace,
  addVectors,
  direction,
  nearestByForce,
  newSpace,
  randomDirection,
  removeVectors,
} from '../../../../../test/support/probes/vector-spaces.ts';
import { useDatabase } from '../../../../../test/support/worlds/database.ts';
import type { Tx } from '../../../../lib/postgres/db.ts';
import type { Sql } from '../../../../lib/postgres/sql.ts';
import { ExactEngine } from './exact.ts';
import { openVectorEngine } from './open-engine.ts';
import { preparePgvector } from './prepare-pgvector.ts';
import { rowsPerSegment } from './segments.ts';
import type { VectorHit, VectorSpace } from './types.ts';

const clone = useDatabase();
const database = {
  tenant: <T>(tenantId: string, work: (tx: Tx) => Promise<T>) => clone.db.tenant(tenantId, work),
  owner: clone.owner,
};
const mebibyte = 1024 * 1024;
const { signal } = new AbortController();
const random = seededRandom(5);

describe('on PostgreSQL', () => {
  const engine = new ExactEngine({ cacheBytes: 64 * mebibyte });
  engineContract('exact', () => ({ engine, database, recall: 1, dimensions: 13, crowd: 2_000 }));
});

test('a server with pgvector is prepared for it, and one without is scanned', async () => {
  const [found] = await clone.owner<{ count: number }>(
    `select count(*)::int as count from pg_available_extensions where name = 'vector'`,
  );
  const isReady = await preparePgvector(clone.ownerUrl);
  expect(isReady).toBe(found?.count === 1);
  const opened = await openVectorEngine({ db: clone.db, logger: pino({ level: 'silent' }), cacheBytes: 0 });
  expect(opened.name).toBe(isReady ? 'pgvector' : 'exact');
});

describe('without any memory to keep vectors in', () => {
  const engine = new ExactEngine({ cacheBytes: 0 });
  engineContract('exact', () => ({ engine, database, recall: 1, dimensions: 1_023, crowd: 600 }));
});

describe('kept vectors', () => {
  test('are read once, and after that only those that are new', async () => {
    const engine = new ExactEngine({ cacheBytes: mebibyte });
    const { space, ids } = await filled(engine, { dimensions: 8, count: 50 });
    const first = await search(engine, space);
    expect(first.read).toBe(50);
    expect((await search(engine, space)).read).toBe(0);
    const added = await database.tenant(space.tenantId, (tx) =>
      addVectors(tx, { engine, space }, [direction(8, 1), direction(8, 0, 1)]),
    );
    const second = await search(engine, space);
    expect(second.read).toBe(2);
    expect(chunksOf(second.hits)).toEqual([...ids, ...added]);
    await database.tenant(space.tenantId, (tx) =>
      removeVectors(tx, space, [Number(ids[3]), Number(added[0])]),
    );
    const third = await search(engine, space);
    expect(third.read).toBe(0);
    const left = [...ids, ...added].filter((id) => id !== ids[3] && id !== added[0]);
    expect(chunksOf(third.hits)).toEqual(left);
  });

  test('are read once for all searches at the same time', async () => {
    const engine = new ExactEngine({ cacheBytes: mebibyte });
    const { space } = await filled(engine, { dimensions: 8, count: 40 });
    const reading = signalled();
    const goOn = signalled();
    const first = search(engine, space, {
      beforeVectors: () => {
        reading.give();
        return goOn.given;
      },
    });
    await reading.given;
    const asking = Array.from({ length: 5 }, () => signalled());
    const others = asking.map(({ give }) => search(engine, space, { onState: give }));
    await Promise.all(asking.map(({ given }) => given));
    goOn.give();
    const searches = await Promise.all([first, ...others]);
    expect(searches.map(({ read }) => read)).toEqual([40, 0, 0, 0, 0, 0]);
    for (const { hits } of searches) expect(hits).toEqual(searches[0]?.hits);
    expect(searches[0]?.hits).toHaveLength(40);
  });

  test('are read by the next search if the first one fails', async () => {
    const engine = new ExactEngine({ cacheBytes: mebibyte });
    const { space } = await filled(engine, { dimensions: 8, count: 10 });
    const reading = signalled();
    const goOn = signalled();
    const failing = database.tenant(space.tenantId, (tx) => {
      const rows = async () => {
        reading.give();
        await goOn.given;
        throw new Error('cut off');
      };
      const broken = Object.assign(Object.create(tx) as Tx, { rows });
      return engine.search(broken, space, { vector: direction(8, 1), limit: 10, signal });
    });
    await reading.given;
    const waiting = search(engine, space);
    goOn.give();
    await expect(failing).rejects.toThrow('cut off');
    expect((await waiting).hits).toHaveLength(10);
  });

  test('kept vectors of many segments stay right through additions and removals', async () => {
    const dimensions = 4_096;
    const engine = new ExactEngine({ cacheBytes: 16 * mebibyte });
    const count = Math.floor(2.5 * rowsPerSegment(dimensions));
    const { space, ids, vectors } = await filled(engine, { dimensions, count });
    await search(engine, space);
    const gone = ids.filter((_, place) => place % 50 === 7);
    await database.tenant(space.tenantId, (tx) => removeVectors(tx, space, gone));
    const more = Array.from({ length: 30 }, () => randomDirection(random, dimensions));
    const added = await database.tenant(space.tenantId, (tx) => addVectors(tx, { engine, space }, more));
    const byId = new Map(
      [...ids, ...added].map((id, place) => [id, [...vectors, ...more][place] as Float32Array]),
    );
    for (const id of gone) byId.delete(id);
    const query = randomDirection(random, dimensions);
    const { hits, read } = await search(engine, space, { vector: query });
    expect(read).toBe(30);
    expect(hits.map(({ chunkId }) => chunkId)).toEqual(nearestByForce(byId, query, 1_000));
  });

  test('kept vectors of a deleted knowledge base are not used for a new one with the same id', async () => {
    const engine = new ExactEngine({ cacheBytes: mebibyte });
    const { space } = await filled(engine, { dimensions: 8, count: 3 });
    expect((await search(engine, space)).hits).toHaveLength(3);
    await database.owner('delete from embeddings_index where tenant_id = $1', [space.tenantId]);
    await database.owner('delete from knowledge_bases where tenant_id = $1', [space.tenantId]);
    await addSpace(database, space);
    const ids = await database.tenant(space.tenantId, (tx) =>
      addVectors(tx, { engine, space }, [direction(8, 1)]),
    );
    expect(chunksOf((await search(engine, space)).hits)).toEqual(ids);
  });

  test('respect the memory limit: those not used for longest are dropped', async () => {
    const bytes = 20 * (8 * 100 + 8 * 4 * 100);
    const engine = new ExactEngine({ cacheBytes: bytes });
    const spaces: VectorSpace[] = [];
    for (let n = 0; n < 12; n += 1) {
      const { space } = await filled(engine, { dimensions: 8, count: 200 });
      spaces.push(space);
      await search(engine, space);
      expect(engine.cachedBytes).toBeLessThanOrEqual(bytes);
      expect((await search(engine, spaces[0] as VectorSpace)).read).toBe(0);
    }
    expect((await search(engine, spaces[1] as VectorSpace)).read).toBe(200);
    expect((await search(engine, spaces[11] as VectorSpace)).read).toBe(0);
  });

  test('are not kept for a space that is larger than the memory limit', async () => {
    const engine = new ExactEngine({ cacheBytes: 10_000 });
    const { space } = await filled(engine, { dimensions: 512, count: 5 });
    for (let n = 0; n < 2; n += 1) {
      const { hits, read } = await search(engine, space);
      expect(hits).toHaveLength(5);
      expect(read).toBe(5);
    }
    expect(engine.cachedBytes).toBeLessThan(10_000);
  });
});

async function filled(engine: ExactEngine, { dimensions, count }: { dimensions: number; count: number }) {
  const space = await newSpace(database, dimensions);
  const vectors = Array.from({ length: count }, () => randomDirection(random, dimensions));
  const ids = await database.tenant(space.tenantId, (tx) => addVectors(tx, { engine, space }, vectors));
  return { space, ids, vectors };
}

interface SearchOptions {
  vector?: Float32Array;
  beforeVectors?: () => Promise<void>;
  /** Once it knows the version of the space. */
  onState?: () => void;
}

/** A search for all there is, and how many vectors it has read from the database. */
async function search(
  engine: ExactEngine,
  space: VectorSpace,
  { vector = direction(space.dimensions, 1), beforeVectors, onState }: SearchOptions = {},
): Promise<{ hits: VectorHit[]; read: number }> {
  let read = 0;
  const hits = await database.tenant(space.tenantId, (tx) => {
    const rows = async <Row extends object>(statement: Sql): Promise<Row[]> => {
      await beforeVectors?.();
      const found = await tx.rows<Row>(statement);
      read += found.filter((row) => 'bytes' in row).length;
      return found;
    };
    const find = async <Row extends object>(statement: Sql): Promise<Row | null> => {
      const row = await tx.find<Row>(statement);
      onState?.();
      return row;
    };
    const watched = Object.assign(Object.create(tx) as Tx, { rows, find });
    return engine.search(watched, space, { vector, limit: 1_000, signal });
  });
  return { hits, read };
}

/** In the order in which they were made. */
function chunksOf(hits: readonly VectorHit[]): number[] {
  return hits.map(({ chunkId }) => chunkId).sort((a, b) => a - b);
}

function signalled(): { given: Promise<void>; give: () => void } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
