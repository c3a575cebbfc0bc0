import { clamp, ewma } from '../../../../lib/numbers.ts';
import type { ItemBounds } from '../../types.ts';

/**
 * How many items a worker claims for its next slice, for how long it locks them, and how long it waits before.
 * Pure: state in, state out. The safety factor is the share of the slice that is planned for, so that a slow item does
 * not overrun it.
 */
export type ClaimBounds = Pick<
  ItemBounds,
  'targetSliceMs' | 'claimMin' | 'claimMax' | 'safetyFactor' | 'lockFloorMs' | 'lockCapMs'
>;

/** What one slice showed. */
export interface ClaimSignal {
  /** Items that were worked on, and how long all of them took together. */
  items: number;
  elapsedMs: number;
  /** Items that failed and may succeed later. Invalid rows do not count, and throttling is for the provider's pace. */
  failures: number;
  /** Shares, from 0 to 1, of what the process may use. */
  cpu: number;
  memory: number;
  eventLoopLagMs: number;
  /** An earlier slice used the same reading: it must not shrink the size twice. */
  isOldReading?: boolean;
}

export interface ClaimState {
  /** Size of the next claim. */
  items: number;
  /** Lock expiry of the next claim. */
  lockMs: number;
  /** Pause before the next claim; above 0 only while many items fail. */
  spacingMs: number;
  /** Why the size is what it is, for the log and the console. */
  reason: string;
  avgItemMs: number | null;
  failureRate: number;
  /** The share of the size that pressure and failures leave, from 1 down to 1/16. */
  pressureFactor: number;
  failureFactor: number;
}

/** Nothing is known yet: enough to learn from, few enough if items turn out to take seconds. */
const firstClaim = 8;
/** One slice of easy items must not lead to a claim that is far too large for the next ones. */
const growthMax = 4;
/** The average looks back over about this many items. */
const averageItems = 100;
const pressureLimits = { cpu: 0.9, memory: 0.85, eventLoopLagMs: 100 };
const factorBand = { min: 1 / 16, max: 1 };
const failureSpike = 0.3;
const failureWeight = 0.5;
const spacing = { firstMs: 250, capMs: 30_000 };

export function initialClaimState(bounds: ClaimBounds): ClaimState {
  const items = clamp(firstClaim, { min: bounds.claimMin, max: bounds.claimMax });
  return {
    items,
    lockMs: clamp(2 * bounds.targetSliceMs, { min: bounds.lockFloorMs, max: bounds.lockCapMs }),
    spacingMs: 0,
    reason: 'start',
    avgItemMs: null,
    failureRate: 0,
    pressureFactor: 1,
    failureFactor: 1,
  };
}

/** The planned claim size, before pressure and failures reduce it. */
export function itemsToClaim(avgItemMs: number, bounds: ClaimBounds): number {
  const planned = (bounds.targetSliceMs / Math.max(avgItemMs, 0.001)) * bounds.safetyFactor;
  return clamp(Math.floor(planned), { min: bounds.claimMin, max: bounds.claimMax });
}

/** Twice what the claimed items should take, at least the floor (and so at least 2 × avgItemMs), at most the cap. */
export function lockMsFor(claim: { items: number; avgItemMs: number }, bounds: ClaimBounds): number {
  const neededMs = Math.ceil(2 * claim.avgItemMs * Math.max(claim.items, 1));
  return clamp(neededMs, { min: bounds.lockFloorMs, max: bounds.lockCapMs });
}

export function nextClaimState(state: ClaimState, signal: ClaimSignal, bounds: ClaimBounds): ClaimState {
  const avgItemMs = averageAfter(state.avgItemMs, signal);
  const failureRate =
    signal.items > 0
      ? ewma(state.failureRate, signal.failures / signal.items, failureWeight)
      : state.failureRate;
  const pressure = pressureOf(signal);
  const isSpike = failureRate > failureSpike;
  const isCounted = pressure !== null && signal.isOldReading === true;
  const pressureFactor = isCounted
    ? state.pressureFactor
    : nextFactor(state.pressureFactor, pressure !== null);
  const failureFactor = nextFactor(state.failureFactor, isSpike);

  const planned = avgItemMs === null ? state.items : itemsToClaim(avgItemMs, bounds);
  const pressed = Math.floor(planned * pressureFactor * failureFactor);
  const items = clamp(Math.min(pressed, state.items * growthMax), {
    min: bounds.claimMin,
    max: bounds.claimMax,
  });
  return {
    items,
    lockMs: avgItemMs === null ? state.lockMs : lockMsFor({ items, avgItemMs }, bounds),
    spacingMs: nextSpacing(state.spacingMs, isSpike),
    reason: pressure ?? reasonOf({ isSpike, failureRate, avgItemMs, items, planned }),
    avgItemMs,
    failureRate,
    pressureFactor,
    failureFactor,
  };
}

/** A slice of many items says more than one of few, so its weight grows with its items. */
function averageAfter(average: number | null, { items, elapsedMs }: ClaimSignal): number | null {
  if (items <= 0) return average;
  return ewma(average, elapsedMs / items, 1 - (1 - 1 / averageItems) ** Math.max(items, averageItems / 4));
}

function pressureOf({ cpu, memory, eventLoopLagMs }: ClaimSignal): string | null {
  if (memory > pressureLimits.memory)
    return `memory ${percent(memory)} above ${percent(pressureLimits.memory)}`;
  if (cpu > pressureLimits.cpu) return `cpu ${percent(cpu)} above ${percent(pressureLimits.cpu)}`;
  if (eventLoopLagMs > pressureLimits.eventLoopLagMs) {
    return `event loop ${Math.round(eventLoopLagMs)} ms late, limit ${pressureLimits.eventLoopLagMs} ms`;
  }
  return null;
}

/** Halves under strain and recovers more slowly, so that the strain does not return at once. */
function nextFactor(factor: number, isStrained: boolean): number {
  return clamp(isStrained ? factor / 2 : factor * 1.5, factorBand);
}

function nextSpacing(spacingMs: number, isSpike: boolean): number {
  if (isSpike) return clamp(spacingMs * 2, { min: spacing.firstMs, max: spacing.capMs });
  return spacingMs <= spacing.firstMs ? 0 : spacingMs / 2;
}

interface Reasons {
  isSpike: boolean;
  failureRate: number;
  avgItemMs: number | null;
  items: number;
  planned: number;
}

function reasonOf({ isSpike, failureRate, avgItemMs, items, planned }: Reasons): string {
  if (isSpike) return `${percent(failureRate)} of the items fail, limit ${percent(failureSpike)}`;
  if (avgItemMs === null) return 'start';
  const average = `${avgItemMs < 10 ? avgItemMs.toFixed(2) : Math.round(avgItemMs)} ms per item`;
  return items < planned ? `${average}, growing back` : average;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
