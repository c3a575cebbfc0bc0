import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { ProviderPace } from '../../src/ingest/items/pacing.ts';
import type { GuardedFetch } from '../../src/kernel/fetch/guarded-fetch.ts';
import {
  type ProductCall,
  type ProductReply,
  type ProviderLine,
  productOf,
  type RuledProvider,
  startRuledProvider,
} from '../chaos/items-provider.ts';
import { type ItemServer, installationEnv, startServer } from '../chaos/items-stage.ts';
import { seededRandom } from '../chaos/seeded-random.ts';
import { useCommandLine } from '../command-line.ts';
import { newTenant, useDatabase } from '../database.ts';
import { eventually } from '../kernel.ts';

// The built server with its worker, against a provider over real HTTP. All that is compared are ratios.
const sluice = useCommandLine();
const database = useDatabase();
let server: ItemServer | undefined;
afterEach(() => {
  server?.running.child.kill('SIGKILL');
});

test('the calls of one process to one provider keep to its pace together, however many wait for it', async () => {
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
  // One more for each round that went well.
  expect(mostOpen).toBeLessThanOrEqual(allowed + 2);
});

// That they settle at the rate itself is shown by the controller's own tests, on a clock that no busy machine disturbs.
test('a provider that bears a quarter of the calls refuses fewer of them soon, and that costs no row an attempt', {
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
  expect(await endsOf(jobId)).toEqual([{ status: 'DONE', code: null, attempts: 1, rows }]);
});

test('bursts of throttling with Retry-After are waited out: no call starts before the time that was asked for', {
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
  expect(await endsOf(jobId)).toEqual([{ status: 'DONE', code: null, attempts: 1, rows: 120 }]);
});

test('a row stays with its living worker while its call, or the wait for it, takes longer than its lock', {
  timeout: 120_000,
}, async () => {
  let calls = 0;
  const skus = [...skusOf('ok', 30), ...skusOf('slow', 6)];
  const { provider, jobId } = await askProvider(
    skus,
    ({ sku }) => {
      calls += 1;
      if (calls === 3) return { status: 429, headers: { 'retry-after': '3' } };
      return { status: 200, body: productOf(sku), delayMs: sku.startsWith('slow') ? 2_500 : 20 };
    },
    { timeoutMs: 20_000, env: { LOCK_FLOOR_MS: '1000' } },
  );
  await untilDone(jobId, 100_000);
  const good = provider.log.filter(({ status }) => status === 200).map(({ sku }) => sku);
  expect(good.toSorted()).toEqual(skus.toSorted());
  expect(await endsOf(jobId)).toEqual([{ status: 'DONE', code: null, attempts: 1, rows: 36 }]);
});

test('refusals are called once, failures and silence up to the limit, not-founds in the next way', {
  timeout: 180_000,
}, async () => {
  const kinds = ['refused', 'unprocessable', 'failing', 'hanging', 'garbled', 'missing', 'second', 'flaky'];
  const skus = kinds.flatMap((kind) => skusOf(kind, 2));
  const { provider, jobId } = await askProvider(skus, replyByKind, {
    timeoutMs: 400,
    strategies: ['first', 'second'],
  });
  await untilDone(jobId, 150_000);
  const variantsOf = (kind: string): string[] => {
    const perSku = skusOf(kind, 2).map((sku) =>
      provider.log
        .filter((line) => line.sku === sku)
        .map(({ variant }) => variant)
        .join(' '),
    );
    return [...new Set(perSku)];
  };
  expect(Object.fromEntries(kinds.map((kind) => [kind, variantsOf(kind)]))).toEqual({
    refused: ['first'],
    unprocessable: ['first'],
    failing: ['first second first'],
    hanging: ['first second first'],
    garbled: ['first second first'],
    missing: ['first second'],
    second: ['first second'],
    flaky: ['first second'],
  });
  expect(await endsOf(jobId)).toEqual([
    { status: 'DONE', code: null, attempts: 2, rows: 4 },
    { status: 'ERROR', code: 'fetch_timeout', attempts: 3, rows: 2 },
    { status: 'ERROR', code: 'provider_failed', attempts: 3, rows: 2 },
    { status: 'ERROR', code: 'provider_garbage', attempts: 3, rows: 2 },
    { status: 'ERROR', code: 'provider_refused', attempts: 1, rows: 4 },
    { status: 'NOT_FOUND', code: 'not_found', attempts: 2, rows: 2 },
  ]);
});

test('when 30 % of the calls are throttled, fewer run at once, and nearly as many as before when that is over', {
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

test('a cancel breaks off calls that nobody answers, and their rows are skipped like the others', {
  timeout: 120_000,
}, async () => {
  const rows = 40;
  const silent = () => ({ type: 'hang' }) as const;
  const { provider, tenantId, jobId } = await askProvider(skusOf('hanging', rows), silent, {
    timeoutMs: 120_000,
  });
  await eventually(async () => provider.log.length > 0, 'the provider is asked', 60_000);
  await call(tenantId, 'POST', `/api/jobs/${jobId}/cancel`);
  const skipped = async () =>
    (await database.owner(`select from job_items where job_id = $1 and status = 'SKIPPED'`, [jobId])).length;
  await eventually(async () => (await skipped()) === rows, 'all rows are skipped', 60_000);
});

test('of a paused job no further call begins, those that were begun are kept, and the others give their attempt back', {
  timeout: 180_000,
}, async () => {
  const rows = 200;
  let delayMs = 1_500;
  const answer = ({ sku }: ProductCall) => ({ status: 200, body: productOf(sku), delayMs });
  const { provider, tenantId, jobId } = await askProvider(skusOf('ok', rows), answer);
  await eventually(async () => provider.log.length > 0, 'the provider is asked', 60_000);
  await call(tenantId, 'POST', `/api/jobs/${jobId}/pause`);
  const processing = async () =>
    (await database.owner(`select from job_items where job_id = $1 and status = 'PROCESSING'`, [jobId]))
      .length;
  await eventually(async () => (await processing()) === 0, 'nothing is under way', 60_000);
  const asked = provider.log.length;
  // A look at the job's state takes a second at most, and so does what had begun by then.
  expect(asked).toBeLessThan(rows / 2);
  const done = await database.owner(`select from job_items where job_id = $1 and status = 'DONE'`, [jobId]);
  expect(done.length).toBe(asked);
  expect(
    await database.owner(`select from job_items where job_id = $1 and status = 'PENDING' and attempts > 0`, [
      jobId,
    ]),
  ).toEqual([]);
  delayMs = 10;
  await call(tenantId, 'POST', `/api/jobs/${jobId}/resume`);
  await untilDone(jobId, 150_000);
  expect(await endsOf(jobId)).toEqual([{ status: 'DONE', code: null, attempts: 1, rows }]);
  expect(provider.log.length).toBe(rows);
});

test('a kickoff begins no call after its time, however slow the provider is', {
  timeout: 120_000,
}, async () => {
  const rows = 200;
  const slow = ({ sku }: ProductCall) => ({ status: 200, body: productOf(sku), delayMs: 1_000 });
  const { provider, tenantId, jobId } = await askProvider(skusOf('ok', rows), slow, {
    env: { SLUICE_WORKER: 'false' },
  });
  await call(tenantId, 'POST', `/api/jobs/${jobId}/kickoff?durationMs=1500`);
  const asked = provider.log.length;
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(rows / 2);
  const left = await database.owner(`select from job_items where job_id = $1 and status = 'PROCESSING'`, [
    jobId,
  ]);
  expect(left).toEqual([]);
});

function journeyEnv(more: Record<string, string> = {}): Record<string, string> {
  return {
    ...installationEnv(database, { leaseMs: 5_000 }),
    SLUICE_WORKER: 'true',
    MAX_ATTEMPTS_ERROR: '3',
    MAX_ATTEMPTS_NOT_FOUND: '2',
    ...more,
  };
}

interface Asked {
  provider: RuledProvider;
  tenantId: string;
  jobId: string;
}

/** A job of a new tenant that asks a new provider for these products. */
async function askProvider(
  skus: string[],
  rule: (call: ProductCall) => ProductReply,
  { timeoutMs = 5_000, strategies = [] as string[], env = {} } = {},
): Promise<Asked> {
  const provider = await startRuledProvider(rule);
  onTestFinished(() => provider.close());
  server = await startServer(sluice, journeyEnv(env));
  const tenantId = await newTenant(database);
  const urlOf = (variant: string) => `${provider.url}/${variant}/{{sku}}`;
  const { status, body } = await server.upload(tenantId, {
    name: 'products',
    processor: 'http',
    options: {
      request: { url: urlOf('only') },
      strategies: strategies.map((name) => ({ name, url: urlOf(name) })),
      timeoutMs,
    },
    csv: `sku\n${skus.join('\n')}\n`,
  });
  expect(status).toBe(201);
  return { provider, tenantId, jobId: String(body.jobId) };
}

function skusOf(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${kind}-${n}`);
}

function replyByKind({ sku, variant, before }: ProductCall): ProductReply {
  const well = { status: 200, body: productOf(sku) };
  switch (sku.split('-', 1)[0]) {
    case 'refused':
      return { status: 400 };
    case 'unprocessable':
      return { status: 422 };
    case 'failing':
      return { status: 502 };
    case 'hanging':
      return { type: 'hang' };
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

/** Lets through what a provider allows: so many calls a second, and a few at once. */
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

/** As many as make the pace judge at once. */
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

/** Not-founds wait for minutes: they are brought forward, so that the test does not. */
async function untilDone(jobId: string, deadlineMs: number): Promise<void> {
  await eventually(
    async () => {
      await database.owner(
        `update job_items set due_at = '-infinity'
          where job_id = $1 and status = 'PENDING' and due_at > clock_timestamp() + interval '60 s'`,
        [jobId],
      );
      await pause(100);
      const rows = await database.owner<{ status: string }>(
        'select status from ingestion_jobs where job_id = $1',
        [jobId],
      );
      return rows[0]?.status === 'success';
    },
    `job ${jobId} is DONE`,
    deadlineMs,
  );
}

function endsOf(jobId: string): Promise<object[]> {
  return database.owner(
    `select status, error_code as code, attempts, count(*)::int as rows
       from job_items
      where job_id = $1
      group by status, error_code, attempts
      order by status, error_code, attempts`,
    [jobId],
  );
}

async function call(tenantId: string, method: string, path: string) {
  if (!server) throw new Error('There is no server before a test has started one');
  return server.call(tenantId, method, path);
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
