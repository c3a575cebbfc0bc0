import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { itemBounds } from '../../../../../test/support/worlds/item-bounds.ts';
import {
  type IngestBounds,
  type IngestSignal,
  type IngestState,
  initialIngestState,
  nextIngestState,
} from './ingest-batch.ts';

const bounds = itemBounds;

/** Insert latency is `base + perRow * rows`, give or take `noise` (a share of it). */
interface SimulatedDatabase {
  baseMs: number;
  perRowMs: number;
  noise: number;
}

const databases = fc.record({
  baseMs: fc.double({ min: 0.5, max: 15, noNaN: true }),
  perRowMs: fc.double({ min: 0.002, max: 0.4, noNaN: true }),
  noise: fc.double({ min: 0, max: 0.2, noNaN: true }),
});

const noises = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 400, maxLength: 400 });

function insertInto(database: SimulatedDatabase, rows: number, noise: number): IngestSignal {
  const exactMs = database.baseMs + database.perRowMs * rows;
  return { rows, bytes: rows * 200, latencyMs: exactMs * (1 + database.noise * noise), poolWaitMs: 0 };
}

function ingest(options: {
  from: IngestState;
  database: SimulatedDatabase;
  noise: readonly number[];
}): IngestState[] {
  const states: IngestState[] = [];
  let state = options.from;
  for (const noise of options.noise) {
    state = nextIngestState(state, insertInto(options.database, state.rows, noise), bounds);
    states.push(state);
  }
  return states;
}

function exactLatencyMs({ baseMs, perRowMs }: SimulatedDatabase, rows: number): number {
  return baseMs + perRowMs * rows;
}

describe('against a steady database', () => {
  test('the first batch has 64 rows and each that follows twice as many until the latency reaches p50', () => {
    const database = { baseMs: 1, perRowMs: 0.05, noise: 0 };
    const states = ingest({ from: initialIngestState(bounds), database, noise: [0, 0, 0, 0] });
    expect(initialIngestState(bounds).rows).toBe(64);
    expect(states.map(({ rows }) => rows)).toEqual([128, 256, 512, 1024]);
  });

  test('the size converges to a latency around p50, or to a bound', () => {
    fc.assert(
      fc.property(databases, noises, (database, noise) => {
        const settled = ingest({ from: initialIngestState(bounds), database, noise }).slice(-100);
        for (const { rows } of settled) {
          const latencyMs = exactLatencyMs(database, rows);
          if (rows < bounds.ingestMaxRows) expect(latencyMs).toBeGreaterThan(bounds.dbP50Ms * 0.55);
          if (rows > bounds.ingestMinRows) expect(latencyMs).toBeLessThan(bounds.dbP50Ms * 1.7);
        }
      }),
    );
  });

  test('the size does not oscillate once it has converged', () => {
    fc.assert(
      fc.property(databases, noises, (database, noise) => {
        const sizes = ingest({ from: initialIngestState(bounds), database, noise })
          .slice(-200)
          .map(({ rows }) => rows);
        const changes = sizes.filter((rows, index) => index > 0 && rows !== sizes[index - 1]).length;
        expect(Math.max(...sizes) / Math.min(...sizes)).toBeLessThanOrEqual(2);
        expect(changes).toBeLessThanOrEqual(20);
      }),
    );
  });
});

test('the size falls when every insert takes 200 ms more, and recovers afterwards', () => {
  fc.assert(
    fc.property(databases, noises, (database, noise) => {
      const calm = ingest({ from: initialIngestState(bounds), database, noise }).at(-1);
      if (calm === undefined || calm.rows < bounds.ingestMinRows * 2) return;
      const slow = { ...database, baseMs: database.baseMs + 200 };
      const pressed = ingest({ from: calm, database: slow, noise: noise.slice(0, 60) });
      expect(pressed.at(-1)?.rows).toBeLessThanOrEqual(calm.rows / 2);
      const recovered = ingest({ from: pressed.at(-1) ?? calm, database, noise: noise.slice(0, 200) });
      expect(recovered.at(-1)?.rows).toBeGreaterThanOrEqual(calm.rows * 0.5);
    }),
  );
});

const signals: fc.Arbitrary<IngestSignal> = fc.record({
  rows: fc.nat(10_000),
  bytes: fc.nat(100_000_000),
  latencyMs: fc.double({ min: 0, max: 100_000, noNaN: true }),
  poolWaitMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1_000, noNaN: true })),
  failed: fc.boolean(),
});

test('the size stays inside its bounds whatever the database does', () => {
  const anyBounds: fc.Arbitrary<IngestBounds> = fc
    .record({
      ingestMinRows: fc.integer({ min: 1, max: 500 }),
      more: fc.nat(5_000),
      ingestMaxBatchBytes: fc.integer({ min: 1 }),
    })
    .map(({ ingestMinRows, more, ingestMaxBatchBytes }) => ({
      ...bounds,
      ingestMinRows,
      ingestMaxRows: ingestMinRows + more,
      ingestMaxBatchBytes,
    }));
  fc.assert(
    fc.property(anyBounds, fc.array(signals, { maxLength: 200 }), (limits, list) => {
      let state = initialIngestState(limits);
      for (const signal of list) {
        state = nextIngestState(state, signal, limits);
        expect(Number.isInteger(state.rows)).toBe(true);
        expect(state.rows).toBeGreaterThanOrEqual(limits.ingestMinRows);
        expect(state.rows).toBeLessThanOrEqual(limits.ingestMaxRows);
        expect(state.delayMs).toBeLessThanOrEqual(10_000);
      }
    }),
  );
});

describe('single signals', () => {
  const large: IngestState = { ...initialIngestState(bounds), rows: 4_000, isDoubling: false };
  const good: IngestSignal = { rows: 4_000, bytes: 400_000, latencyMs: 50, poolWaitMs: 0 };

  test('an error at least halves the size and asks for a jittered delay that grows from error to error', () => {
    let state = large;
    const delays: number[] = [];
    for (let error = 0; error < 4; error += 1) {
      const before = state.rows;
      state = nextIngestState(state, { ...good, failed: true }, bounds, () => 0.5);
      expect(state.rows).toBeLessThanOrEqual(Math.max(bounds.ingestMinRows, before / 2));
      delays.push(state.delayMs);
    }
    expect(delays).toEqual([75, 150, 300, 600]);
    expect(nextIngestState(large, { ...good, failed: true }, bounds, () => 0).delayMs).toBe(50);
    expect(state.reason).toBe('insert failed 4 times in a row');
    expect(nextIngestState(state, { ...good, rows: state.rows }, bounds).delayMs).toBe(0);
  });

  test('waiting for a connection shrinks the size even when inserts are fast', () => {
    const state = nextIngestState(large, { ...good, latencyMs: 5, poolWaitMs: 12 }, bounds);
    expect(state.rows).toBe(3_000);
    expect(state.reason).toBe('waited 12 ms for a connection');
  });

  test('a latency above p95 cuts the size after two inserts and says why', () => {
    const once = nextIngestState(large, { ...good, latencyMs: 310 }, bounds);
    const twice = nextIngestState(once, { ...good, latencyMs: 310 }, bounds);
    expect(once.rows).toBe(4_000);
    expect(twice.rows).toBeLessThanOrEqual(2_000);
    expect(twice.reason).toBe('latency 310 ms above p95 250 ms');
  });

  test('latencies of an earlier size do not count for the next one', () => {
    const slow = { ...good, latencyMs: 310 };
    const cut = nextIngestState(nextIngestState(large, slow, bounds), slow, bounds);
    const after = nextIngestState(cut, { ...good, rows: cut.rows }, bounds);
    expect(after.rows).toBe(cut.rows);
    expect(nextIngestState(after, { ...good, rows: cut.rows }, bounds).rows).toBe(cut.rows);
  });

  test('large rows limit the size by bytes, down to the minimum', () => {
    const wide = nextIngestState(large, { ...good, rows: 400, bytes: 400 * 8_192 }, bounds);
    expect(wide.rows).toBe(512);
    expect(wide.reason).toBe('rows of 8192 bytes fill 4194304 bytes per batch');
    const huge = nextIngestState(large, { ...good, rows: 4, bytes: 4 * 1_000_000 }, bounds);
    expect(huge.rows).toBe(bounds.ingestMinRows);
  });

  test('a short batch is no reason to grow', () => {
    const start = initialIngestState(bounds);
    expect(nextIngestState(start, { rows: 3, bytes: 300, latencyMs: 1, poolWaitMs: 0 }, bounds).rows).toBe(
      64,
    );
  });
});
