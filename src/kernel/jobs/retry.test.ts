import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideRetry, parseRetryAfter, type RetryPolicy, retryPolicies } from './retry.ts';

const { connectors, uploads, knowledge, scrapes, unexpected } = retryPolicies;

/** The delays of a policy until it gives up, with the jitter's coin showing `random` every time. */
function delaysOf(policy: RetryPolicy, random = 0.5): number[] {
  const delays: number[] = [];
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const decision = decideRetry(policy, attempt, {}, () => random);
    if (!decision.retry) return delays;
    expect(decision.fromRetryAfter).toBe(false);
    delays.push(decision.delayMs);
  }
  throw new Error('The policy did not give up within 100 attempts');
}

const seconds = (...values: number[]) => values.map((value) => value * 1000);
/** Math.random's range: 1 is never reached. */
const coin = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('connectors', () => {
  test('retry server errors and rate limits after 60, 120, 240, 480 and 960 s, then give up', () => {
    expect(delaysOf(connectors.server)).toEqual(seconds(60, 120, 240, 480, 960));
    expect(delaysOf(connectors.rate_limit)).toEqual(seconds(60, 120, 240, 480, 960));
  });

  test('shift each delay by up to a quarter, both ways, and reach both ends', () => {
    expect(delaysOf(connectors.server, 0)).toEqual(seconds(45, 90, 180, 360, 720));
    expect(delaysOf(connectors.server, 1 - Number.EPSILON)).toEqual(seconds(75, 150, 300, 600, 1200));
    fc.assert(
      fc.property(fc.nat({ max: 4 }), coin, (attempt, random) => {
        const decision = decideRetry(connectors.server, attempt, {}, () => random);
        const exact = 60_000 * 2 ** attempt;
        expect(decision).toEqual({ retry: true, fromRetryAfter: false, delayMs: expect.any(Number) });
        const { delayMs } = decision as { delayMs: number };
        expect(Math.abs(delayMs - exact)).toBeLessThanOrEqual(exact / 4);
        expect(delayMs).toBe(Math.round(exact * (0.75 + random / 2)));
      }),
    );
  });

  test('never wait more than 3600 s, jitter included, whatever the attempt', () => {
    const patient: RetryPolicy = { ...connectors.server, maxRetries: 1_000 };
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999 }), coin, (attempt, random) => {
        const { delayMs } = decideRetry(patient, attempt, {}, () => random) as { delayMs: number };
        expect(delayMs).toBeLessThanOrEqual(3_600_000);
        if (attempt >= 7) expect(delayMs).toBe(3_600_000);
      }),
    );
    expect(decideRetry(patient, 6, {}, () => 0)).toMatchObject({ delayMs: 2_880_000 });
    expect(decideRetry(patient, 6, {}, () => 0.9)).toMatchObject({ delayMs: 3_600_000 });
  });

  test('never retry a refused login, whatever the upstream says', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 }), fc.nat(), (attempt, retryAfterMs) => {
        expect(decideRetry(connectors.auth, attempt, { retryAfterMs })).toEqual({ retry: false });
      }),
    );
  });
});

describe('uploads', () => {
  test('wait 1, 2 and 4 s for connections', () => {
    expect(delaysOf(uploads.connection)).toEqual(seconds(1, 2, 4));
  });
  test('wait 100, 200 and 400 ms after deadlocks and for parents in flight', () => {
    expect(delaysOf(uploads.deadlock)).toEqual([100, 200, 400]);
    expect(delaysOf(uploads.parent_in_flight)).toEqual([100, 200, 400]);
  });
  test('wait 60 s five times at rate limits, and an hour-long Retry-After changes nothing', () => {
    expect(delaysOf(uploads.rate_limit)).toEqual(seconds(60, 60, 60, 60, 60));
    expect(decideRetry(uploads.rate_limit, 0, { retryAfterMs: 3_600_000 })).toMatchObject({
      delayMs: 60_000,
      fromRetryAfter: false,
    });
  });
  test('have no jitter: whatever the coin shows, the delay is the same', () => {
    fc.assert(
      fc.property(coin, (random) => {
        for (const policy of Object.values(uploads)) {
          expect(delaysOf(policy, random)).toEqual(delaysOf(policy));
        }
      }),
    );
  });
});

describe('knowledge, scrapes, items and what nobody foresaw', () => {
  test('a chunk is tried three times, 4 s and 8 s apart, and never more than 60 s apart', () => {
    expect(delaysOf(knowledge.chunk)).toEqual(seconds(4, 8));
    // The rule behind the two numbers is min(2^attempt * 2, 60) s with attempts from 1.
    const patient: RetryPolicy = { ...knowledge.chunk, maxRetries: 10 };
    expect(delaysOf(patient)).toEqual(
      Array.from({ length: 10 }, (_, n) => Math.min(2 ** (n + 1) * 2, 60) * 1000),
    );
  });

  test('a scrape is tried three times at once, or after base * 2^(attempt-1) when a base is set', () => {
    expect(delaysOf(scrapes.transient)).toEqual([0, 0]);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), (baseMs) => {
        const policy: RetryPolicy = {
          ...scrapes.transient,
          delay: { ...scrapes.transient.delay, baseMs },
        };
        expect(delaysOf(policy)).toEqual([baseMs, baseMs * 2]);
      }),
    );
  });

  test('an unforeseen error is retried three times', () => {
    expect(delaysOf(unexpected.bug)).toEqual(seconds(1, 2, 4));
  });
});

describe('Retry-After', () => {
  test('replaces the backoff exactly, without jitter, up to the cap, and uses an attempt', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), fc.nat({ max: 4 }), coin, (retryAfterMs, attempt, random) => {
        expect(decideRetry(connectors.rate_limit, attempt, { retryAfterMs }, () => random)).toEqual({
          retry: true,
          delayMs: Math.min(retryAfterMs, 3_600_000),
          fromRetryAfter: true,
        });
      }),
    );
    expect(decideRetry(connectors.rate_limit, 5, { retryAfterMs: 1 })).toEqual({ retry: false });
    expect(decideRetry(connectors.rate_limit, 0, { retryAfterMs: -5 })).toMatchObject({ delayMs: 0 });
  });

  test('does not touch classes that do not honour it', () => {
    expect(decideRetry(connectors.server, 0, { retryAfterMs: 1 }, () => 0.5)).toMatchObject({
      delayMs: 60_000,
      fromRetryAfter: false,
    });
  });

  test('in seconds is read as seconds', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000 }), fc.constantFrom('', ' ', '\t'), (value, space) => {
        expect(parseRetryAfter(`${space}${value}${space}`)).toBe(value * 1000);
      }),
    );
    const endless = parseRetryAfter('9'.repeat(400));
    expect(decideRetry(connectors.rate_limit, 0, { retryAfterMs: endless ?? 0 })).toMatchObject({
      delayMs: 3_600_000,
    });
  });

  test('as a date counts from the Date header of the answer, not from our clock', () => {
    const moment = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true });
    fc.assert(
      fc.property(moment, fc.integer({ min: -100_000, max: 100_000 }), (sent, offset) => {
        const sentAt = Math.floor(sent.getTime() / 1000) * 1000;
        const until = new Date(sentAt + offset * 1000).toUTCString();
        expect(parseRetryAfter(until, new Date(sentAt).toUTCString())).toBe(Math.max(0, offset * 1000));
      }),
    );
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:07 GMT')).toBe(30_000);
    expect(parseRetryAfter('Sunday, 06-Nov-94 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:07 GMT')).toBe(30_000);
  });

  test('as a date without a usable Date header counts from our clock', () => {
    for (const sent of [undefined, null, '', 'yesterday-ish']) {
      const inAMinute = new Date(Date.now() + 60_000).toUTCString();
      const delayMs = parseRetryAfter(inAMinute, sent);
      expect(delayMs).toBeGreaterThan(50_000);
      expect(delayMs).toBeLessThanOrEqual(60_000);
    }
  });

  // V8 reads "-5", "1.5" and "soon 7" as days of the year 2001: taken as dates they would mean "at once".
  test.each([null, undefined, '', '   ', 'soon', '-5', '1.5', 'soon 7', '1e3', '0x10', '10s', '٣'])(
    'that is garbage (%j) is as good as none, so the backoff stands',
    (header) => {
      expect(parseRetryAfter(header, 'Sun, 06 Nov 1994 08:49:07 GMT')).toBeUndefined();
    },
  );

  test('never throws and never answers a negative or broken number', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.option(fc.string()), (header, date) => {
        const delayMs = parseRetryAfter(header, date);
        if (delayMs !== undefined) expect(delayMs).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
