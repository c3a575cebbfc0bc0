import type { FastifyReply } from 'fastify';
import type { SluiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/timing/clock.ts';

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

const maxBuckets = 10_000;

export interface RateLimiterOptions {
  perMinute: number;
  clock: Clock;
  refuse(perMinute: number, extras: { retryAfterSeconds: number }): SluiceError;
}

export interface RateLimiter {
  /** Takes one request from the client's bucket and writes the RateLimit headers; throws when it is empty. */
  take(client: string, reply: FastifyReply): void;
}

/**
 * A token bucket per client, in this process: a minute's worth at once, then the steady rate. Beyond ten thousand
 * clients the one that was silent longest is forgotten, which only gives it a full bucket again.
 */
export function createRateLimiter({ perMinute, clock, refuse }: RateLimiterOptions): RateLimiter {
  const buckets = new Map<string, Bucket>();

  function refill(client: string): Bucket {
    const nowMs = clock.nowMs();
    const known = buckets.get(client);
    const gained = known ? (Math.max(0, nowMs - known.filledAtMs) * perMinute) / 60_000 : 0;
    const bucket = {
      tokens: known ? Math.min(perMinute, known.tokens + gained) : perMinute,
      filledAtMs: nowMs,
    };
    buckets.delete(client);
    const oldest = buckets.size >= maxBuckets ? buckets.keys().next().value : undefined;
    if (oldest !== undefined) buckets.delete(oldest);
    buckets.set(client, bucket);
    return bucket;
  }

  return {
    take(client, reply) {
      const bucket = refill(client);
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= 1;
      const secondsToFull = Math.ceil(((perMinute - bucket.tokens) * 60) / perMinute);
      // A request counts for several limits: the headers describe the one that is nearest to refusing.
      const before = Number(reply.getHeader('ratelimit-remaining') ?? Number.POSITIVE_INFINITY);
      if (bucket.tokens < before)
        reply.headers({
          'ratelimit-limit': String(perMinute),
          'ratelimit-remaining': String(Math.floor(bucket.tokens)),
          'ratelimit-reset': String(secondsToFull),
        });
      if (allowed) return;
      throw refuse(perMinute, { retryAfterSeconds: ((1 - bucket.tokens) * 60) / perMinute });
    },
  };
}
