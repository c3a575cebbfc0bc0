import type { FastifyReply } from 'fastify';
import { describe, expect, test } from 'vitest';
import { apiErrors } from '../errors.ts';
import { createRateLimiter } from './rate-limit.ts';

/** Only what the limiter writes to. */
function replyDouble(): { reply: FastifyReply; headers: Record<string, string> } {
  const headers: Record<string, string> = {};
  const reply = {
    getHeader: (name: string) => headers[name],
    headers: (values: Record<string, string>) => Object.assign(headers, values),
  };
  return { reply: reply as unknown as FastifyReply, headers };
}

function setUp(perMinute: number) {
  const time = { nowMs: 0 };
  const limiter = createRateLimiter({
    perMinute,
    clock: { nowMs: () => time.nowMs },
    refuse: (most, extras) => apiErrors.raise.rate_limited(`${most} per minute`, extras),
  });
  const take = (client: string) => {
    const { reply, headers } = replyDouble();
    try {
      limiter.take(client, reply);
      return { allowed: true, headers };
    } catch (error) {
      return { allowed: false, headers, error };
    }
  };
  return { time, take };
}

describe('the rate limit', () => {
  test('lets a minute’s worth through at once and then the steady rate', () => {
    const { time, take } = setUp(60);
    const burst = Array.from({ length: 61 }, () => take('a').allowed);
    expect(burst.filter(Boolean)).toHaveLength(60);
    expect(take('a')).toMatchObject({
      allowed: false,
      error: { code: 'rate_limited', retryAfterSeconds: 1 },
    });
    time.nowMs += 1000;
    expect(take('a').allowed).toBe(true);
    expect(take('a').allowed).toBe(false);
    time.nowMs += 3_600_000;
    expect(Array.from({ length: 61 }, () => take('a').allowed).filter(Boolean)).toHaveLength(60);
  });

  test('counts every client for itself', () => {
    const { take } = setUp(1);
    expect([take('a').allowed, take('a').allowed, take('b').allowed]).toEqual([true, false, true]);
  });

  test('tells the client where it stands', () => {
    const { take } = setUp(2);
    expect(take('a').headers).toEqual({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '30',
    });
  });

  test('remembers at most ten thousand clients and forgets the one that was silent longest', () => {
    const { take } = setUp(1);
    take('first');
    take('second');
    for (let index = 0; index < 9_998; index += 1) take(`client-${index}`);
    expect(take('first').allowed).toBe(false);
    take('one more');
    expect(take('first').allowed).toBe(false);
    expect(take('second').allowed).toBe(true);
  });

  test('tolerates a clock that goes back', () => {
    const { time, take } = setUp(1);
    take('a');
    time.nowMs -= 60_000;
    expect(take('a').allowed).toBe(false);
  });
});
