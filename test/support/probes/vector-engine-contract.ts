import { describe, expect, test } from 'vitest';
import type { VectorEngine, VectorSpace } from '../../../src/ingest/knowledge/index/vector/engine.ts';
import { seededRandom } from '../../chaos/seeded-random.ts';
import {
  addSpace,
  addVectors,
  direction,
  nearestByForce,
  newSpace,
  randomDirection,
  removeVectors,
  type VectorDatabase,
} from './vector-spaces.ts';

export interface EngineUnderTest {
  engine: VectorEngine;
  database: VectorDatabase;
  /** How much of what is nearest it has to find. */
  recall: number;
  dimensions: number;
  /** How many vectors the comparison with brute force has. */
  crowd: number;
}

/** What every vector engine keeps, on whichever database. `open` is called once the database is there. */
export function engineContract(name: string, open: () => EngineUnderTest): void {
  describe(`the ${name} engine`, () => {
    answers(open);
    heedsFilters(open);
    keepsApart(open);
    follows(open);
    refuses(open);
  });
}

const signal = new AbortController().signal;

function use({ engine, database, dimensions }: EngineUnderTest) {
  const searchIn = (space: VectorSpace, vector: Float32Array, limit = 10) =>
    database.tenant(space.tenantId, (tx) => engine.search(tx, space, { vector, limit, signal }));
  const add = (space: VectorSpace, ...vectors: Float32Array[]) =>
    database.tenant(space.tenantId, (tx) => addVectors(tx, { engine, space }, vectors));
  const remove = (space: VectorSpace, ids: number[]) =>
    database.tenant(space.tenantId, (tx) => removeVectors(tx, space, ids));
  const toward = (...coordinates: number[]) => direction(dimensions, ...coordinates);
  return { searchIn, add, remove, toward };
}

function heedsFilters(open: () => EngineUnderTest): void {
  test('finds the nearest of the chunks that a filter leaves, as brute force does, however few they are', async () => {
    const { engine, database, dimensions, crowd } = open();
    const { add } = use(open());
    const space = await newSpace(database, dimensions);
    const random = seededRandom(11);
    const vectors = Array.from({ length: crowd }, () => randomDirection(random, dimensions));
    const ids = await add(space, ...vectors);
    const stored = ids.map((chunkId, at) => ({
      chunkId: Number(chunkId),
      vector: vectors[at] as Float32Array,
    }));
    for (const share of [0, 0.004, 0.05, 0.5, 1]) {
      const left = stored.filter((_, at) => share === 1 || random.next() < share || (share > 0 && at === 7));
      const eligible = new Set(left.map(({ chunkId }) => chunkId));
      const vector = randomDirection(random, dimensions);
      const hits = await database.tenant(space.tenantId, (tx) =>
        engine.search(tx, space, { vector, limit: 10, eligible, signal }),
      );
      const expected = left
        .map((one) => ({ chunkId: one.chunkId, score: dot(one.vector, vector) }))
        .toSorted((one, other) => other.score - one.score)
        .slice(0, 10);
      expect(
        hits.map(({ chunkId }) => chunkId),
        `share ${share}`,
      ).toEqual(expected.map(({ chunkId }) => chunkId));
    }
  });

  test('finds nothing among chunks of another space, although a filter names them', async () => {
    const { engine, database, dimensions } = open();
    const { add, toward } = use(open());
    const space = await newSpace(database, dimensions);
    const other = await newSpace(database, dimensions);
    const [own] = await add(space, toward(0, 1));
    const [foreign] = await add(other, toward(1));
    const eligible = new Set([Number(own), Number(foreign)]);
    const hits = await database.tenant(space.tenantId, (tx) =>
      engine.search(tx, space, { vector: toward(1), limit: 10, eligible, signal }),
    );
    expect(hits.map(({ chunkId }) => chunkId)).toEqual([own]);
  });
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}

function answers(open: () => EngineUnderTest): void {
  test('returns the nearest first, with their cosines, and no more than requested', async () => {
    const { database, dimensions } = open();
    const { searchIn, add, toward } = use(open());
    const space = await newSpace(database, dimensions);
    const [far, near, middle, opposite] = await add(
      space,
      toward(0, 1),
      toward(1, 0),
      toward(1, 1),
      toward(-1, 0),
    );
    const hits = await searchIn(space, toward(1, 0), 3);
    expect(hits.map(({ chunkId }) => chunkId)).toEqual([near, middle, far]);
    expect(hits.map(({ score }) => score)).toEqual(
      [1, Math.SQRT1_2, 0].map((score) => expect.closeTo(score, 5)),
    );
    expect((await searchIn(space, toward(1, 0), 1)).map(({ chunkId }) => chunkId)).toEqual([near]);
    const all = await searchIn(space, toward(1, 0), 100);
    expect(all).toHaveLength(4);
    expect(all.at(-1)).toEqual({ chunkId: opposite, score: expect.closeTo(-1, 5) });
  });

  test('returns nothing from an empty or a missing space', async () => {
    const { database, dimensions } = open();
    const { searchIn, toward } = use(open());
    const space = await newSpace(database, dimensions);
    expect(await searchIn(space, toward(1))).toEqual([]);
    expect(await searchIn({ ...space, generation: 7 }, toward(1))).toEqual([]);
  });

  test('finds what brute force finds', async () => {
    const { database, dimensions, crowd, recall } = open();
    const { searchIn, add } = use(open());
    const random = seededRandom(11);
    const space = await newSpace(database, dimensions);
    const vectors = Array.from({ length: crowd }, () => randomDirection(random, dimensions));
    const ids = await add(space, ...vectors);
    const byId = new Map(ids.map((id, place) => [id, vectors[place] as Float32Array]));
    let found = 0;
    let wanted = 0;
    for (let round = 0; round < 10; round += 1) {
      const query = randomDirection(random, dimensions);
      const nearest = nearestByForce(byId, query, 20);
      const hits = await searchIn(space, query, 20);
      expect(hits).toHaveLength(20);
      expect(hits).toEqual(hits.toSorted((a, b) => b.score - a.score));
      found += hits.filter(({ chunkId }) => nearest.includes(chunkId)).length;
      wanted += nearest.length;
    }
    expect(found / wanted).toBeGreaterThanOrEqual(recall);
  });
}

function keepsApart(open: () => EngineUnderTest): void {
  test('keeps tenants, knowledge bases and generations apart, however near the others are', async () => {
    const { database, dimensions } = open();
    const { searchIn, add, toward } = use(open());
    const space = await newSpace(database, dimensions);
    const others = [
      await newSpace(database, dimensions),
      await addSpace(database, { ...space, kbId: 'another' }),
      await addSpace(database, { ...space, generation: 2 }),
    ];
    const [own] = await add(space, toward(0, 1));
    for (const other of others) await add(other, ...Array.from({ length: 150 }, () => toward(1, 0)));
    const hits = await searchIn(space, toward(1, 0), 50);
    expect(hits.map(({ chunkId }) => chunkId)).toEqual([own]);
    for (const other of others) expect(await searchIn(other, toward(1, 0), 400)).toHaveLength(150);
  });

  test('shows nothing of a tenant in a transaction of another one', async () => {
    const { database, engine, dimensions } = open();
    const { searchIn, add, toward } = use(open());
    const space = await newSpace(database, dimensions);
    const stranger = await newSpace(database, dimensions);
    await add(space, toward(1));
    expect(await searchIn(space, toward(1))).toHaveLength(1);
    const seen = await database.tenant(stranger.tenantId, (tx) =>
      engine.search(tx, space, { vector: toward(1), limit: 10, signal }),
    );
    expect(seen).toEqual([]);
  });
}

function follows(open: () => EngineUnderTest): void {
  test('finds added vectors and no removed ones', async () => {
    const { database, dimensions } = open();
    const { searchIn, add, remove, toward } = use(open());
    const space = await newSpace(database, dimensions);
    const [first] = await add(space, toward(1));
    expect(await searchIn(space, toward(1))).toHaveLength(1);
    const [second] = await add(space, toward(1, 1));
    expect((await searchIn(space, toward(1))).map(({ chunkId }) => chunkId)).toEqual([first, second]);
    await remove(space, [Number(first)]);
    expect((await searchIn(space, toward(1))).map(({ chunkId }) => chunkId)).toEqual([second]);
  });

  test('keeps nothing of a transaction that was rolled back, even if it was searched in', async () => {
    const { database, engine, dimensions } = open();
    const { searchIn, add, toward } = use(open());
    const space = await newSpace(database, dimensions);
    const [kept] = await add(space, toward(1));
    const seenInside: number[] = [];
    const undone = database.tenant(space.tenantId, async (tx) => {
      await removeVectors(tx, space, [Number(kept)]);
      await addVectors(tx, { engine, space }, [toward(1), toward(0, 1)]);
      const hits = await engine.search(tx, space, { vector: toward(1), limit: 10, signal });
      seenInside.push(...hits.map(({ chunkId }) => chunkId));
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(seenInside).toHaveLength(2);
    expect(seenInside).not.toContain(kept);
    expect((await searchIn(space, toward(1))).map(({ chunkId }) => chunkId)).toEqual([kept]);
    // Two transactions more reach the version that the undone one had seen.
    const [third] = await add(space, toward(0, 1));
    const [fourth] = await add(space, toward(0, 0, 1));
    const hits = await searchIn(space, toward(3, 2, 1));
    expect(hits.map(({ chunkId }) => chunkId)).toEqual([kept, third, fourth]);
  });
}

function refuses(open: () => EngineUnderTest): void {
  test('refuses vectors whose dimensions differ from the space', async () => {
    const { database, engine, dimensions } = open();
    const { searchIn, add } = use(open());
    const space = await newSpace(database, dimensions);
    const refusal = expect.objectContaining({ code: 'vector_dimensions_differ' });
    await expect(searchIn(space, direction(dimensions + 1, 1))).rejects.toEqual(refusal);
    await expect(add(space, direction(dimensions - 1, 1))).rejects.toEqual(refusal);
    const short = [{ chunkId: 1, vector: direction(dimensions - 4, 1) }];
    await expect(database.tenant(space.tenantId, (tx) => engine.add(tx, space, short))).rejects.toEqual(
      refusal,
    );
  });

  test('does not start a search that was canceled', async () => {
    const { database, engine, dimensions } = open();
    const { add, toward } = use(open());
    const space = await newSpace(database, dimensions);
    await add(space, toward(1));
    const query = { vector: toward(1), limit: 1, signal: AbortSignal.abort(new Error('gone home')) };
    await expect(database.tenant(space.tenantId, (tx) => engine.search(tx, space, query))).rejects.toThrow(
      'gone home',
    );
  });
}
