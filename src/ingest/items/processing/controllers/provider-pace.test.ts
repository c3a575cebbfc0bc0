import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CallEnd,
  callEnded,
  callStarted,
  defaultPaceBounds,
  initialPace,
  waitBeforeCall,
} from './provider-pace.ts';

const bounds = defaultPaceBounds;

interface Simulation {
  seconds: number;
  latencyMs: (random: () => number) => number;
  answer: (nowMs: number, random: () => number) => CallEnd;
  seed: number;
}

interface Call {
  endsAtMs: number;
  end: CallEnd;
}

interface SimulatedRun {
  ends: { atMs: number; outcome: CallEnd['outcome'] }[];
}

/** Demand without end against a simulated provider, on a simulated clock. */
function simulate({ seconds, latencyMs, answer, seed }: Simulation): SimulatedRun {
  const random = seededRandom(seed);
  const run: SimulatedRun = { ends: [] };
  let state = initialPace(0, bounds);
  let running: Call[] = [];
  let nowMs = 0;
  while (nowMs < seconds * 1000) {
    const waitMs = waitBeforeCall(state, nowMs);
    const nextEndMs = Math.min(...running.map((call) => call.endsAtMs));
    if (waitMs === 0) {
      state = callStarted(state, nowMs);
      running.push({ endsAtMs: nowMs + latencyMs(random), end: answer(nowMs, random) });
      continue;
    }
    nowMs = Math.min(nowMs + waitMs, nextEndMs);
    for (const call of running.filter(({ endsAtMs }) => endsAtMs <= nowMs)) {
      state = callEnded(state, call.end, nowMs, bounds, random);
      run.ends.push({ atMs: nowMs, outcome: call.end.outcome });
    }
    running = running.filter(({ endsAtMs }) => endsAtMs > nowMs);
  }
  return run;
}

function seededRandom(seed: number): () => number {
  let value = seed >>> 0;
  return () => {
    value = (value + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(value ^ (value >>> 15), value | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function tokenBucket(options: { perSecond: number; burst: number; saysWhen: boolean }): Simulation['answer'] {
  let tokens = options.burst;
  let atMs = 0;
  return (nowMs) => {
    tokens = Math.min(options.burst, tokens + ((nowMs - atMs) * options.perSecond) / 1000);
    atMs = nowMs;
    if (tokens >= 1) {
      tokens -= 1;
      return { outcome: 'success' };
    }
    const retryAfterMs = ((1 - tokens) * 1000) / options.perSecond;
    return { outcome: 'throttled', ...(options.saysWhen ? { retryAfterMs } : {}) };
  };
}

function measure(run: SimulatedRun, { fromS, toS }: { fromS: number; toS: number }) {
  const ends = run.ends.filter(({ atMs }) => atMs >= fromS * 1000 && atMs < toS * 1000);
  const count = (outcome: CallEnd['outcome']) => ends.filter((end) => end.outcome === outcome).length;
  return {
    perSecond: count('success') / (toS - fromS),
    throttledShare: count('throttled') / Math.max(1, ends.length),
  };
}

describe('against a provider that allows a fixed rate', () => {
  test('throughput converges to at least 80 % of it, with at most 15 % of the calls throttled', () => {
    fc.assert(
      fc.property(
        fc.record({
          perSecond: fc.integer({ min: 1, max: 100 }),
          burst: fc.integer({ min: 2, max: 20 }),
          latencyMs: fc.integer({ min: 5, max: 300 }),
          saysWhen: fc.boolean(),
          seed: fc.integer(),
        }),
        ({ latencyMs, seed, ...bucket }) => {
          const run = simulate({
            seconds: 180,
            latencyMs: (random) => latencyMs * (0.7 + 0.6 * random()),
            answer: tokenBucket(bucket),
            seed,
          });
          const steady = measure(run, { fromS: 60, toS: 180 });
          expect(steady.perSecond).toBeGreaterThanOrEqual(bucket.perSecond * 0.8);
          expect(steady.throttledShare).toBeLessThanOrEqual(0.15);
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each([1, 2, 3, 4, 5])(
    'a limit that comes up while the calls are fast is settled at (seed %i)',
    (seed) => {
      const perSecond = 25;
      const bucket = tokenBucket({ perSecond, burst: 5, saysWhen: false });
      let calls = 0;
      let changedAtMs = 0;
      const run = simulate({
        seconds: 30,
        latencyMs: () => 20,
        answer: (nowMs, random) => {
          calls += 1;
          if (calls <= 150) {
            changedAtMs = nowMs;
            return { outcome: 'success' };
          }
          const end = bucket(nowMs, random);
          // Some say that one may come again at once, which is not true.
          return end.outcome === 'throttled' && calls % 2 === 0 ? { ...end, retryAfterMs: 0 } : end;
        },
        seed,
      });
      // Four hundred calls later, as a file of 550 rows would end.
      const fromS = changedAtMs / 1000;
      const start = measure(run, { fromS, toS: fromS + 0.5 });
      const second = measure(run, { fromS: fromS + 7, toS: fromS + 14 });
      expect(start.throttledShare).toBeGreaterThan(0.1);
      expect(second.throttledShare).toBeLessThan(start.throttledShare);
      expect(second.perSecond / perSecond).toBeGreaterThanOrEqual(0.6);
    },
  );

  test('a rate that is raised later is found', () => {
    const slow = tokenBucket({ perSecond: 5, burst: 5, saysWhen: false });
    const fast = tokenBucket({ perSecond: 40, burst: 5, saysWhen: false });
    const run = simulate({
      seconds: 180,
      latencyMs: () => 100,
      answer: (nowMs, random) => (nowMs < 60_000 ? slow : fast)(nowMs, random),
      seed: 1,
    });
    expect(measure(run, { fromS: 30, toS: 60 }).perSecond).toBeLessThanOrEqual(5.5);
    expect(measure(run, { fromS: 120, toS: 180 }).perSecond).toBeGreaterThanOrEqual(32);
  });
});

describe('after an outage of 30 seconds', () => {
  test.each([
    ['failed', 'errors at once', 20],
    ['failed', 'times out', 5_000],
    ['throttled', 'throttles everything', 20],
  ] as const)(
    'calls that %s (%s) lead to a pause, and the throughput is back soon after',
    (outcome, _, outageMs) => {
      const bucket = tokenBucket({ perSecond: 20, burst: 10, saysWhen: false });
      let isOut = false;
      const run = simulate({
        seconds: 150,
        latencyMs: (random) => (isOut ? outageMs : 80 + 40 * random()),
        answer: (nowMs, random) => {
          isOut = nowMs >= 60_000 && nowMs < 90_000;
          return isOut ? { outcome } : bucket(nowMs, random);
        },
        seed: 7,
      });
      const duringOutage = run.ends.filter(({ atMs }) => atMs >= 65_000 && atMs < 90_000);
      expect(duringOutage.length).toBeLessThan(40);
      expect(measure(run, { fromS: 110, toS: 150 }).perSecond).toBeGreaterThanOrEqual(16);
    },
  );
});

describe('a provider that throttles at random', () => {
  test.each([1, 2, 3, 4, 5])('the pace falls, does not collapse, and recovers (seed %i)', (seed) => {
    const run = simulate({
      seconds: 200,
      latencyMs: () => 300,
      answer: (nowMs, random) => {
        const isBad = nowMs >= 30_000 && nowMs < 120_000;
        return { outcome: isBad && random() < 0.3 ? 'throttled' : 'success' };
      },
      seed,
    });
    const before = measure(run, { fromS: 20, toS: 30 }).perSecond;
    const during = measure(run, { fromS: 60, toS: 120 }).perSecond;
    expect(during).toBeLessThan(before * 0.7);
    expect(during).toBeGreaterThan(before * 0.1);
    expect(measure(run, { fromS: 180, toS: 200 }).perSecond).toBeGreaterThanOrEqual(before * 0.9);
  });
});

test('concurrency, delay and pauses stay inside their bounds whatever the provider returns', () => {
  const end = fc.record({
    outcome: fc.constantFrom('success', 'throttled', 'failed'),
    retryAfterMs: fc.option(fc.integer({ min: -1_000, max: 10_000_000 }), { nil: undefined }),
  }) satisfies fc.Arbitrary<CallEnd>;
  fc.assert(
    fc.property(fc.array(fc.tuple(end, fc.nat(2_000)), { maxLength: 300 }), (ends) => {
      let state = initialPace(0, bounds);
      let nowMs = 0;
      for (const [answer, tookMs] of ends) {
        const started = callStarted(state, nowMs);
        nowMs += tookMs;
        state = callEnded(started, answer, nowMs, bounds);
        expect(state.concurrency).toBeGreaterThanOrEqual(1);
        expect(state.concurrency).toBeLessThanOrEqual(bounds.maxConcurrency);
        expect(state.delayMs).toBeGreaterThanOrEqual(0);
        expect(state.delayMs).toBeLessThanOrEqual(60_000);
        expect(state.resumeAtMs - nowMs).toBeLessThanOrEqual(bounds.maxRetryAfterMs);
        expect(state.inFlight).toBe(0);
      }
    }),
  );
});

test('Retry-After holds back every call until it has passed', () => {
  const state = callEnded(
    callStarted(initialPace(0, bounds), 0),
    { outcome: 'throttled', retryAfterMs: 4_000 },
    100,
    bounds,
  );
  expect(waitBeforeCall(state, 100)).toBe(4_000);
  expect(waitBeforeCall(state, 4_100)).toBe(0);
});

describe('failures', () => {
  test('single failures change neither the rate nor how many calls run at once', () => {
    const run = simulate({
      seconds: 60,
      latencyMs: () => 60,
      answer: (_, random) => ({ outcome: random() < 0.2 ? 'failed' : 'success' }),
      seed: 3,
    });
    const { perSecond } = measure(run, { fromS: 20, toS: 60 });
    expect(perSecond).toBeGreaterThan(0.75 * (bounds.maxConcurrency / 0.06));
  });

  test('after a run of failures one call at a time finds out whether the provider is back', () => {
    let state = initialPace(0, bounds);
    for (let call = 0; call < 8; call += 1) state = callStarted(state, 0);
    for (let call = 0; call < 8; call += 1)
      state = callEnded(state, { outcome: 'failed' }, 50, bounds, () => 1);
    expect(waitBeforeCall(state, 50)).toBe(500);
    const probing = callStarted(state, 550);
    expect(waitBeforeCall(probing, 550)).toBe(Number.POSITIVE_INFINITY);
    expect(waitBeforeCall(callEnded(probing, { outcome: 'success' }, 600, bounds), 600)).toBe(0);
  });
});

describe('a provider that allows 50 calls a second, saves up 50, and breaks 20 % of what it takes', () => {
  const allowed = 50;
  /** The share of it that is used, from 20 s to 140 s. */
  const usedWith = (retryAfterS: number, seed: number) => {
    const bucket = tokenBucket({ perSecond: allowed, burst: 50, saysWhen: false });
    const run = simulate({
      seconds: 140,
      latencyMs: (random) => 40 + 40 * random(),
      answer: (nowMs, random) => {
        const end = bucket(nowMs, random);
        if (end.outcome === 'throttled') return { ...end, retryAfterMs: retryAfterS * 1000 };
        return { outcome: random() < 0.2 ? 'failed' : 'success' };
      },
      seed,
    });
    const taken = run.ends.filter(({ atMs, outcome }) => outcome !== 'throttled' && atMs >= 20_000).length;
    return taken / 120 / allowed;
  };

  // Each look above the limit costs a whole Retry-After: the longer it is, the longer the next look is left.
  test.each([
    [0, 0.95],
    [1, 0.95],
    [2, 0.9],
    [3, 0.9],
    [5, 0.8],
  ])('with Retry-After: %i is used at %f of that or more', (seconds, least) => {
    for (const seed of [11, 12, 13]) expect(usedWith(seconds, seed)).toBeGreaterThanOrEqual(least);
  });
});

test.each([
  [50, 5],
  [20, 2],
  [10, 10],
])(
  'a provider that allows %i calls a second, saves up %i and says Retry-After: 1 is used at 70 percent or more',
  (perSecond, burst) => {
    for (const seed of [1, 2, 3]) {
      const bucket = tokenBucket({ perSecond, burst, saysWhen: false });
      const run = simulate({
        seconds: 100,
        latencyMs: (random) => 40 + 40 * random(),
        answer: (nowMs, random) => {
          const end = bucket(nowMs, random);
          return end.outcome === 'throttled' ? { ...end, retryAfterMs: 1_000 } : end;
        },
        seed,
      });
      const { perSecond: used, throttledShare } = measure(run, { fromS: 20, toS: 100 });
      expect(used).toBeGreaterThanOrEqual(perSecond * 0.7);
      expect(throttledShare).toBeLessThanOrEqual(0.05);
    }
  },
);

test('one call in eleven throttled at random, with Retry-After: 1, slows nothing down but the pauses', () => {
  const run = simulate({
    seconds: 60,
    latencyMs: () => 60,
    answer: (_, random) => {
      const drawn = random();
      if (drawn < 0.09) return { outcome: 'throttled', retryAfterMs: 1_000 };
      return { outcome: drawn < 0.23 ? 'failed' : 'success' };
    },
    seed: 5,
  });
  // A hundred and twenty rows in under twenty seconds are six a second.
  expect(measure(run, { fromS: 0, toS: 20 }).perSecond).toBeGreaterThan(9);
  expect(measure(run, { fromS: 20, toS: 60 }).perSecond).toBeGreaterThan(9);
});
