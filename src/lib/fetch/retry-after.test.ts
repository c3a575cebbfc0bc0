import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from './retry-after.ts';

describe('Retry-After', () => {
  test('in seconds is read as seconds', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000 }), fc.constantFrom('', ' ', '\t'), (value, space) => {
        expect(parseRetryAfter(`${space}${value}${space}`)).toBe(value * 1000);
      }),
    );
    expect(parseRetryAfter('9'.repeat(400))).toBe(Number.POSITIVE_INFINITY);
  });

  test('as a date counts from the Date header of the response, not from our clock', () => {
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
    'that is garbage (%j) counts as absent',
    (header) => {
      expect(parseRetryAfter(header, 'Sun, 06 Nov 1994 08:49:07 GMT')).toBeUndefined();
    },
  );

  test('never throws and never returns a negative or broken number', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.option(fc.string()), (header, date) => {
        const delayMs = parseRetryAfter(header, date);
        if (delayMs !== undefined) expect(delayMs).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
