import { clamp, ewma } from '../../../../lib/numbers.ts';
import type { ItemBounds } from '../../types.ts';

/**
 * How many rows the next insert carries. Starts small and doubles until an insert takes longer than DB_P50_MS; from
 * then on it steers the latency towards DB_P50_MS, which has to be well above one round trip to the database. Above
 * DB_P95_MS the size is cut without waiting for more samples. The reader is given the limit of bytes too, because a
 * row may be larger than those before it. Pure: state in, state out.
 */
export type IngestBounds = Pick<
  ItemBounds,
  'ingestMinRows' | 'ingestMaxRows' | 'ingestMaxBatchBytes' | 'dbP50Ms' | 'dbP95Ms'
>;

/** What one insert showed. */
export interface IngestSignal {
  rows: number;
  bytes: number;
  latencyMs: number;
  /** How long the insert waited for a connection; anything above 0 means that we crowd others out. */
  poolWaitMs: number;
  failed?: boolean;
}

export interface IngestState {
  /** Size of the next batch. */
  rows: number;
  /** How long to wait before the next batch; above 0 only after an error. */
  delayMs: number;
  /** Why the size is what it is, for the log and the console. */
  reason: string;
  isDoubling: boolean;
  /** Of the inserts since the size last changed. */
  latencyEwmaMs: number | null;
  samples: number;
  bytesPerRow: number | null;
  consecutiveErrors: number;
}

const startRows = 64;
const latencyWeight = 0.3;
const bytesWeight = 0.2;
/** Within this band around p50 nothing changes: chasing noise is what makes sizes swing. */
const calmBand = { min: 0.75, max: 1.3 };
/** A change may at most halve or double. */
const stepBand = { min: 0.5, max: 2 };
const poolWaitFactor = 0.75;
const errorFactor = 0.25;
const backoff = { baseMs: 100, capMs: 10_000 };

export function initialIngestState(bounds: IngestBounds): IngestState {
  return {
    rows: clamp(startRows, rowLimits(bounds, null)),
    delayMs: 0,
    reason: 'start',
    isDoubling: true,
    latencyEwmaMs: null,
    samples: 0,
    bytesPerRow: null,
    consecutiveErrors: 0,
  };
}

export function nextIngestState(
  state: IngestState,
  signal: IngestSignal,
  bounds: IngestBounds,
  random: () => number = Math.random,
): IngestState {
  if (signal.failed) return afterError(state, bounds, random);
  const seen: IngestState = {
    ...state,
    delayMs: 0,
    consecutiveErrors: 0,
    latencyEwmaMs: ewma(state.latencyEwmaMs, signal.latencyMs, latencyWeight),
    samples: state.samples + 1,
    bytesPerRow:
      signal.rows > 0 ? ewma(state.bytesPerRow, signal.bytes / signal.rows, bytesWeight) : state.bytesPerRow,
  };
  if (signal.poolWaitMs > 0) {
    const reason = `waited ${Math.round(signal.poolWaitMs)} ms for a connection`;
    return resize({ ...seen, isDoubling: false }, state.rows * poolWaitFactor, reason, bounds);
  }
  return steerByLatency(seen, signal, bounds);
}

function afterError(state: IngestState, bounds: IngestBounds, random: () => number): IngestState {
  const consecutiveErrors = state.consecutiveErrors + 1;
  const fullMs = Math.min(backoff.baseMs * 2 ** (consecutiveErrors - 1), backoff.capMs);
  // Half fixed, half random: writers that failed together must not come back together.
  const delayMs = Math.round(fullMs * (0.5 + 0.5 * random()));
  const reason = `insert failed ${consecutiveErrors} time${consecutiveErrors === 1 ? '' : 's'} in a row`;
  const next = resize({ ...state, isDoubling: false }, state.rows * errorFactor, reason, bounds);
  return { ...next, delayMs, consecutiveErrors };
}

function steerByLatency(state: IngestState, signal: IngestSignal, bounds: IngestBounds): IngestState {
  const { latencyEwmaMs, samples } = state;
  const latencyMs = latencyEwmaMs ?? signal.latencyMs;
  const ratio = bounds.dbP50Ms / Math.max(latencyMs, 0.001);
  if (latencyMs > bounds.dbP95Ms && samples >= 2) {
    return resize(
      { ...state, isDoubling: false },
      state.rows * Math.min(ratio, 0.5),
      above('p95', latencyMs, bounds),
      bounds,
    );
  }
  if (latencyMs > bounds.dbP50Ms && state.isDoubling) {
    return steer({ ...state, isDoubling: false }, ratio, bounds);
  }
  // A batch that was cut short (by bytes, or by the end of the file) says nothing about larger ones.
  const isFull = signal.rows >= state.rows * 0.9;
  if (state.isDoubling) {
    return isFull ? resize(state, state.rows * 2, below(latencyMs, bounds), bounds) : hold(state, bounds);
  }
  // The further from the target, the fewer samples it takes to be sure.
  const samplesNeeded = ratio >= stepBand.max || ratio <= stepBand.min ? 2 : 5;
  if (samples < samplesNeeded || (ratio > 1 && !isFull)) return hold(state, bounds);
  return steer(state, ratio, bounds);
}

/**
 * Moves in proportion to the distance. With a latency of `base + perRow * rows` this approaches the target from one
 * side and never steps over it, whatever the base is.
 */
function steer(state: IngestState, ratio: number, bounds: IngestBounds): IngestState {
  const latencyMs = state.latencyEwmaMs ?? 0;
  if (ratio >= 1 / calmBand.max && ratio <= 1 / calmBand.min) return hold(state, bounds);
  const reason = ratio < 1 ? above('p50', latencyMs, bounds) : below(latencyMs, bounds);
  return resize(state, state.rows * clamp(ratio, stepBand), reason, bounds);
}

function hold(state: IngestState, bounds: IngestBounds): IngestState {
  return resize(state, state.rows, state.reason, bounds);
}

function resize(state: IngestState, wanted: number, reason: string, bounds: IngestBounds): IngestState {
  const limits = rowLimits(bounds, state.bytesPerRow);
  const rows = Math.floor(clamp(wanted, limits));
  const limited = wanted > limits.max && limits.max < bounds.ingestMaxRows;
  const because = limited
    ? `rows of ${Math.round(state.bytesPerRow ?? 0)} bytes fill ${bounds.ingestMaxBatchBytes} bytes per batch`
    : reason;
  if (rows === state.rows) return { ...state, reason: because };
  // Latencies of the old size say nothing about the new one; mixing them is what overshoots.
  return { ...state, rows, reason: because, latencyEwmaMs: null, samples: 0 };
}

/** Large rows lower the maximum, but never below the minimum: the reader's byte limit takes over there. */
function rowLimits(bounds: IngestBounds, bytesPerRow: number | null): { min: number; max: number } {
  const byBytes =
    bytesPerRow === null ? bounds.ingestMaxRows : bounds.ingestMaxBatchBytes / Math.max(bytesPerRow, 1);
  const max = Math.max(
    1,
    Math.floor(Math.min(bounds.ingestMaxRows, Math.max(byBytes, bounds.ingestMinRows))),
  );
  return { min: Math.min(bounds.ingestMinRows, max), max };
}

function above(name: 'p50' | 'p95', latencyMs: number, bounds: IngestBounds): string {
  const limitMs = name === 'p50' ? bounds.dbP50Ms : bounds.dbP95Ms;
  return `latency ${Math.round(latencyMs)} ms above ${name} ${limitMs} ms`;
}

function below(latencyMs: number, bounds: IngestBounds): string {
  return `latency ${Math.round(latencyMs)} ms below p50 ${bounds.dbP50Ms} ms`;
}
