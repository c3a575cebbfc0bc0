import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { itemBounds } from '../../../../../test/support/worlds/item-bounds.ts';
import {
  type ClaimSignal,
  type ClaimState,
  initialClaimState,
  itemsToClaim,
  lockMsFor,
  nextClaimState,
} from './claim-size.ts';

const bounds = itemBounds;

function slice(items: number, itemMs: number, more: Partial<ClaimSignal> = {}): ClaimSignal {
  return { items, elapsedMs: items * itemMs, failures: 0, cpu: 0.3, memory: 0.4, eventLoopLagMs: 2, ...more };
}

/** Runs slices in which each item takes `itemMs`, until the size has had time to settle. */
function settle(from: ClaimState, itemMs: number, more: Partial<ClaimSignal> = {}, slices = 40): ClaimState {
  let state = from;
  for (let count = 0; count < slices; count += 1) {
    state = nextClaimState(state, slice(state.items, itemMs, more), bounds);
  }
  return state;
}

describe('claim size', () => {
  test('is the target slice over the item time, times the safety factor, inside the bounds', () => {
    expect(itemsToClaim(10, bounds)).toBe(350);
    expect(itemsToClaim(0.01, bounds)).toBe(1_000);
    expect(itemsToClaim(60_000, bounds)).toBe(1);
    expect(itemsToClaim(0, bounds)).toBe(1_000);
  });

  test('converges to the target slice, however long items take', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.05, max: 20_000, noNaN: true }), (itemMs) => {
        const state = settle(initialClaimState(bounds), itemMs);
        expect(Math.abs(state.items - itemsToClaim(itemMs, bounds))).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('follows items that become slow within two slices of many items', () => {
    let state = settle(initialClaimState(bounds), 1);
    expect(state.items).toBe(1_000);
    state = nextClaimState(state, slice(1_000, 100), bounds);
    expect(state.items).toBeLessThanOrEqual(40);
  });

  test('grows at most fourfold from one slice to the next', () => {
    const sizes = [1, 2, 3, 4].map((slices) => settle(initialClaimState(bounds), 0.1, {}, slices).items);
    expect(sizes).toEqual([32, 128, 512, 1_000]);
  });

  test.each([
    ['cpu', { cpu: 0.97 }, 'cpu 97 % above 90 %'],
    ['memory', { memory: 0.9 }, 'memory 90 % above 85 %'],
    ['a late event loop', { eventLoopLagMs: 180 }, 'event loop 180 ms late, limit 100 ms'],
  ])('shrinks under pressure of %s, gives the reason, and recovers', (_, pressure, reason) => {
    const calm = settle(initialClaimState(bounds), 10);
    const pressed = nextClaimState(calm, slice(calm.items, 10, pressure), bounds);
    expect(pressed.items).toBe(175);
    expect(pressed.reason).toBe(reason);
    expect(settle(pressed, 10, pressure).items).toBe(21);
    expect(settle(pressed, 10).items).toBe(calm.items);
  });

  test('shrinks while many items fail, with longer spacing, and recovers', () => {
    const calm = settle(initialClaimState(bounds), 10);
    const failing = settle(calm, 10, { failures: 200 }, 4);
    expect(failing.items).toBeLessThan(calm.items / 4);
    expect(failing.spacingMs).toBeGreaterThanOrEqual(1_000);
    expect(failing.reason).toMatch(/^\d+ % of the items fail, limit 30 %$/);
    const recovered = settle(failing, 10);
    expect(recovered.items).toBe(calm.items);
    expect(recovered.spacingMs).toBe(0);
  });
});

describe('lock expiry', () => {
  test('is at least the floor, at most the cap, and twice what the claimed items take in between', () => {
    expect(lockMsFor({ items: 10, avgItemMs: 1 }, bounds)).toBe(10_000);
    expect(lockMsFor({ items: 1, avgItemMs: 30_000 }, bounds)).toBe(60_000);
    expect(lockMsFor({ items: 1, avgItemMs: 400_000 }, bounds)).toBe(300_000);
  });

  test('is never below what the claimed items need, as long as that is below the cap', () => {
    const signals = fc.record({
      items: fc.nat(2_000),
      elapsedMs: fc.double({ min: 0, max: 1_000_000, noNaN: true }),
      failures: fc.nat(100),
      cpu: fc.double({ min: 0, max: 1, noNaN: true }),
      memory: fc.double({ min: 0, max: 1, noNaN: true }),
      eventLoopLagMs: fc.nat(1_000),
    });
    fc.assert(
      fc.property(fc.array(signals, { maxLength: 100 }), (list) => {
        let state = initialClaimState(bounds);
        for (const signal of list) {
          state = nextClaimState(state, signal, bounds);
          const neededMs = (state.avgItemMs ?? 0) * state.items;
          expect(state.lockMs).toBeGreaterThanOrEqual(Math.min(neededMs, bounds.lockCapMs));
          expect(state.lockMs).toBeGreaterThanOrEqual(bounds.lockFloorMs);
          expect(state.lockMs).toBeLessThanOrEqual(bounds.lockCapMs);
          expect(state.items).toBeGreaterThanOrEqual(bounds.claimMin);
          expect(state.items).toBeLessThanOrEqual(bounds.claimMax);
          expect(state.spacingMs).toBeLessThanOrEqual(30_000);
        }
      }),
    );
  });
});
