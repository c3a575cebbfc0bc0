import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ProviderPace } from '../../src/ingest/items/processing/pacing.ts';
import type { GuardedFetch } from '../../src/lib/fetch/guarded-fetch.ts';
import {
  type ProductCall,
  type ProductReply,
  type ProviderLine,
  productOf,
} from '../chaos/items-provider.ts';
import { seededRandom } from '../chaos/seeded-random.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { skusOf, useProviderJobs } from '../support/worlds/provider-jobs.ts';

// Only ratios are compared.
const database = useDatabase();
const { askProvider, untilDone, endsOf, call } = useProviderJobs(database);

test('all calls of one process to one provider share its pace, however many wait', async () => {
  let open = 0;
  let mostOpen = 0;
  const answer = async () => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    await pause(10);
    open -= 1;
    return { status: 200, headers: {} };
  };
  const pace = new ProviderPace(() => {});
  const paced = pace.pace(answer as unknown as GuardedFetch);
  const allowed = pace.concurrency;
  await Promise.all(Array.from({ length: 3 * allowed }, () => paced('http://provider.test/')));
  // One more for each successful round.
  expect(mostOpen).toBeLessThanOrEqual(allowed + 2);
});

// That they settle at the rate itself is shown by the controller's own tests, on a clock that no busy machine disturbs.
test('a provider that can take a quarter of the calls soon refuses fewer, and every row is done', {
  timeout: 330_000,
}, async () => {
  const freeCalls = 150;
  const retryAfter = [undefined, '0'];
  const freeAt: number[] = [];
  const limited: Limited[] = [];
  let bucket: { take(): boolean } | undefined;
  const rows = 400;
  const { jobId } = await askProvider(skusOf('ok', rows), ({ sku }) => {
    const at = performance.now();
    // Without a limit at first: the provider's mind changes when the calls have become fast.
    if (freeAt.length < freeCalls) {
      freeAt.push(at);
      return { status: 200, body: productOf(sku), delayMs: 20 };
    }
    // Not below what a slow machine calls anyway: it would only wait longer.
    bucket ??= openBucket({ perSecond: Math.max(20, rateOf(freeAt.slice(-50)) / 4), burst: 5 });
    // The first ones are refused in any case, as if the free calls had used up what comes next.
    const passed = limited.length >= surelyRefused && bucket.take();
    limited.push({ at, passed });
    if (passed) return { status: 200, body: productOf(sku), delayMs: 20 };
    const header = retryAfter[limited.length % retryAfter.length];
    return { status: 429, ...(header === undefined ? {} : { headers: { 'retry-after': header } }) };
  });
  await untilDone(jobId, 300_000);
  const { start, second } = sharesOf(limited);
  console.log(
    `refused: ${percent(start)} of the first 20 calls, ${percent(second)} of those in the second half`,
  );
  expect(start).toBeGreaterThanOrEqual(surelyRefused / 20);
  expect(second).toBeLessThan(start);
  expect(await doneOf(jobId)).toBe(rows);
});

test('no call starts before the time in Retry-After, through bursts of throttling', {
  timeout: 180_000,
}, async () => {
  let calls = 0;
  const { provider, jobId } = await askProvider(skusOf('ok', 120), ({ sku }) => {
    calls += 1;
    if (calls % 50 === 0) return { status: 429, headers: { 'retry-after': '1' } };
    return { status: 200, body: productOf(sku), delayMs: 20 };
  });
  await untilDone(jobId, 150_000);
  const throttled = provider.log.filter(({ status }) => status === 429);
  expect(throttled.length).toBeGreaterThan(0);
  // What had been sent before the answer was read still arrives, however late: as many as may be under way at a time,
  // and those that took their place just before. Unheard, the second would bring ten times as much.
  const most = Math.max(...provider.log.map(({ open }) => open));
  for (const { at } of throttled) {
    const early = provider.log.filter((line) => line.at > at && line.at < at + 900);
    expect(early.length).toBeLessThanOrEqual(2 * most);
  }
  expect(await doneOf(jobId)).toBe(120);
});

test('a row stays with its living worker while its call, or the wait for it, outlasts its lock', {
  timeout: 120_000,
}, async () => {
  let calls = 0;
  const skus = [...skusOf('ok', 30), ...skusOf('slow', 6)];
  const { provider, jobId } = await askProvider(
    skus,
    ({ sku }) => {
      calls += 1;
      if (calls === 3) return { status: 429, headers: { 'retry-after': '8' } };
      return { status: 200, body: productOf(sku), delayMs: sku.startsWith('slow') ? 8_000 : 20 };
    },
    // Long enough that a starved worker is not mistaken for a dead one.
    { env: { LOCK_FLOOR_MS: '4000' } },
  );
  await untilDone(jobId, 100_000);
  const good = provider.log.filter(({ status }) => status === 200).map(({ sku }) => sku);
  expect(good.toSorted()).toEqual(skus.toSorted());
  expect(await doneOf(jobId)).toBe(36);
});

async function doneOf(jobId: string): Promise<number> {
  return (await database.owner(`select from job_items where job_id = $1 and status = 'DONE'`, [jobId]))
    .length;
}

/** The ways in which the two rows of a kind were asked for. */
function variantsOf(kind: string, log: readonly ProviderLine[]): string[] {
  const perSku = skusOf(kind, 2).map((sku) =>
    log
      .filter((line) => line.sku === sku)
      .map(({ variant }) => variant)
      .join(' '),
  );
  return [...new Set(perSku)];
}

const strategies = ['first', 'second'];

test('a provider that stays silent is called up to the limit', { timeout: 180_000 }, async () => {
  const silent = () => ({ type: 'hang' }) as const;
  const asked = { timeoutMs: 1_000, strategies };
  const { provider, jobId } = await askProvider(skusOf('hanging', 2), silent, asked);
  await untilDone(jobId, 150_000);
  expect(variantsOf('hanging', provider.log)).toEqual(['first second first']);
  expect(await endsOf(jobId)).toEqual([{ status: 'ERROR', code: 'fetch_timeout', attempts: 3, rows: 2 }]);
});

test('a refused row is called once, a failed one up to the limit, and one not found in the next way', {
  timeout: 180_000,
}, async () => {
  const kinds = ['refused', 'unprocessable', 'failing', 'garbled', 'missing', 'second', 'flaky'];
  const skus = kinds.flatMap((kind) => skusOf(kind, 2));
  const { provider, jobId } = await askProvider(skus, replyByKind, { strategies });
  await untilDone(jobId, 150_000);
  expect(Object.fromEntries(kinds.map((kind) => [kind, variantsOf(kind, provider.log)]))).toEqual({
    refused: ['first'],
    unprocessable: ['first'],
    failing: ['first second first'],
    garbled: ['first second first'],
    missing: ['first second'],
    second: ['first second'],
    flaky: ['first second'],
  });
  expect(await endsOf(jobId)).toEqual([
    { status: 'DONE', code: null, attempts: 2, rows: 4 },
    { status: 'ERROR', code: 'provider_failed', attempts: 3, rows: 2 },
    { status: 'ERROR', code: 'provider_garbage', attempts: 3, rows: 2 },
    { status: 'ERROR', code: 'provider_refused', attempts: 1, rows: 4 },
    { status: 'NOT_FOUND', code: 'not_found', attempts: 2, rows: 2 },
  ]);
});

test('fewer calls run at once while 30 % are throttled, and nearly as many as before afterwards', {
  timeout: 400_000,
}, async () => {
  const random = seededRandom(7);
  let isThrottling = false;
  // It is the provider, and not the machine, that decides how many run at once: a call takes long, and the claims stay
  // large, which a process under pressure would make smaller.
  const { tenantId, jobId, provider } = await askProvider(
    skusOf('ok', 10_000),
    ({ sku }) =>
      isThrottling && random.next() < 0.3
        ? { status: 429, delayMs: 100 }
        : { status: 200, body: productOf(sku), delayMs: 100 },
    { env: { CLAIM_MIN: '200' } },
  );
  const series: string[] = [];
  const look = async (): Promise<number> => {
    const { concurrency, delayMs } = await readPace(tenantId, jobId);
    const told = `${concurrency}/${delayMs}`;
    if (told !== series.at(-1)) series.push(told);
    return concurrency;
  };
  const calm = 8;
  await eventually(
    async () => (await look()) >= calm && mostOpen(provider.log) >= calm,
    'eight calls run at once',
    90_000,
  );
  isThrottling = true;
  const from = provider.log.length;
  await eventually(async () => (await look()) <= calm * 0.75, 'a quarter fewer run at once', 90_000);
  const lower = provider.log.length;
  await eventually(async () => provider.log.length >= lower + 30, 'some calls at the lower pace', 90_000);
  isThrottling = false;
  const turn = provider.log.length;
  await eventually(async () => (await look()) >= calm * 0.8, 'nearly as many as before', 120_000);
  console.log(`calls at once / ms between two: ${series.join(' → ')}; ${turn - from} calls while throttling`);
  // The provider saw it too: the last calls before the throttling ended were fewer at a time.
  expect(mostOpen(provider.log.slice(turn - 10, turn))).toBeLessThan(calm);
  await call(tenantId, 'POST', `/api/jobs/${jobId}/cancel`);
});

function replyByKind({ sku, variant, before }: ProductCall): ProductReply {
  const well = { status: 200, body: productOf(sku) };
  switch (sku.split('-', 1)[0]) {
    case 'refused':
      return { status: 400 };
    case 'unprocessable':
      return { status: 422 };
    case 'failing':
      return { status: 502 };
    case 'garbled':
      return { type: 'garbage' };
    case 'missing':
      return { status: 404 };
    case 'second':
      return variant === 'second' ? well : { status: 404 };
    default:
      return before === 0 ? { status: 500 } : well;
  }
}

/** Limits calls like a provider: so many a second, and a few at once. */
function openBucket({ perSecond, burst }: { perSecond: number; burst: number }): { take(): boolean } {
  let tokens = burst;
  let filledAt = performance.now();
  return {
    take() {
      const now = performance.now();
      tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * perSecond);
      filledAt = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

interface Limited {
  at: number;
  passed: boolean;
}

/** Enough for the pace to be judged at once. */
const surelyRefused = 8;

/**
 * The share that was refused of the first calls, made before anything was known of the limit, and in the second half of
 * the time in which there was enough to do: at the end only rows that wait for their turn are left.
 */
function sharesOf(limited: readonly Limited[]): { start: number; second: number } {
  const good = limited.filter(({ passed }) => passed);
  const endAt = good[Math.floor(good.length * 0.9)]?.at ?? 0;
  const middleAt = ((limited[0]?.at ?? 0) + endAt) / 2;
  return {
    start: refusedShare(limited.slice(0, 20)),
    second: refusedShare(limited.filter(({ at }) => at >= middleAt && at <= endAt)),
  };
}

function refusedShare(calls: readonly Limited[]): number {
  return calls.filter(({ passed }) => !passed).length / calls.length;
}

function rateOf(times: readonly number[]): number {
  return ((times.length - 1) * 1000) / Math.max(1, (times.at(-1) ?? 0) - (times[0] ?? 0));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** As the job shows it while it runs. */
async function readPace(tenantId: string, jobId: string): Promise<{ concurrency: number; delayMs: number }> {
  const { body } = await call(tenantId, 'GET', `/api/jobs/${jobId}`);
  const { providers = [] } = body.controllers as { providers?: { concurrency: number; delayMs: number }[] };
  return providers[0] ?? { concurrency: 0, delayMs: 0 };
}

function mostOpen(log: readonly ProviderLine[]): number {
  return Math.max(...log.slice(-50).map(({ open }) => open));
}
