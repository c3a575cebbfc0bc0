import pino from 'pino';
import { expect, test } from 'vitest';
import { startEmbeddingServer } from '../../../../../test/support/fakes/embedding-server.ts';
import { useDatabase } from '../../../../../test/support/worlds/database.ts';
import { Shelf, TestEmbedder, useKnowledgeRuns } from '../../../../../test/support/worlds/knowledge-runs.ts';
import { noSecrets } from '../../../../../test/support/worlds/secrets.ts';
import { createGuardedFetch } from '../../../../lib/fetch/guarded-fetch.ts';
import { embedderErrors } from '../../embedders/errors.ts';
import { openEmbedders } from '../../embedders/open-embedder.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;

const many = (count: number) => Array.from({ length: count }, (_, n) => `Text ${n + 1}.`).join('\n\n');
const forgetBreakers = () => database.owner('delete from circuit_breakers');
const openBreakers = async () =>
  (await database.owner(`select from circuit_breakers where state <> 'closed'`)).length;

test.each([
  ['refuses', () => embedderErrors.raise.embedder_refused('No such words here')],
  ['fails on', () => new Error('It broke')],
])(
  'one chunk that the embedder %s is left out with a reason, and its neighbours are in',
  async (_name, failure) => {
    const kb = await runs.newKb(new Shelf({ a: `${many(5)}\n\nPoison.\n\nLast.`, b: 'Poison.\n\nFine.' }));
    const embedder = new TestEmbedder({ textsPerCall: 8 });
    embedder.onCall = (texts) => {
      if (texts.includes('Poison.')) throw failure();
    };
    const { kernel } = await runs.start({ embedder });
    const job = await runs.run(kb);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(await runs.job(job)).toMatchObject({
      status: 'success',
      counters: { docs_seen: 2, docs_error: 2, chunks_seen: 9, chunks_processed: 7, chunks_error: 2 },
    });
    const { documents } = await runs.contents(kb);
    expect(documents.map(({ state }) => state)).toEqual(['error', 'error']);
    expect(documents[0]?.chunks).toEqual([1, 2, 3, 4, 5].map((n) => `Text ${n}.`).concat('Last.'));
    expect(documents[1]?.chunks).toEqual(['Fine.']);
    const [row] = await database.owner<{ error_text: string; content_hash: null }>(
      `select error_text, content_hash from knowledge_documents where tenant_id = $1 and uri = 'a'`,
      [kb.tenantId],
    );
    expect(row?.error_text).toContain('1 of 7 chunks could not be embedded. First reason: ');
    expect(row?.error_text).toContain(failure().message);

    // The next run tries again what is missing, and only that.
    embedder.onCall = () => {};
    embedder.calls.length = 0;
    await runs.run(kb);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(embedder.texts).toEqual(['Poison.']);
    expect((await runs.contents(kb)).documents.map(({ state }) => state)).toEqual(['indexed', 'indexed']);
  },
);

test('a chunk has three attempts, four and eight seconds apart', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: 'Only.' }));
  const embedder = new TestEmbedder();
  let tries = 0;
  embedder.onCall = (texts) => {
    if (!texts.includes('Only.')) return;
    tries += 1;
    throw embedderErrors.raise.embedder_failed('Internal error');
  };
  const { kernel, delays } = await runs.start({ embedder });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(tries).toBe(3);
  expect(delays.reduce((sum, delayMs) => sum + delayMs, 0)).toBe(12_000);
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { chunks_seen: 1, chunks_error: 1 },
  });
});

test('a failure that passes costs no chunk', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: many(6) }));
  const embedder = new TestEmbedder({ callsInFlight: 1 });
  let tries = 0;
  embedder.onCall = () => {
    tries += 1;
    if (tries <= 2) throw embedderErrors.raise.embedder_unreachable('Connection reset');
  };
  const { kernel } = await runs.start({ embedder });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { chunks_seen: 6, chunks_processed: 6, chunks_error: 0 },
  });
  expect(embedder.texts.length).toBe(6);
});

test('a provider that asks to slow down is waited for, and no attempt is used', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: many(8) }));
  const embedder = new TestEmbedder({ callsInFlight: 1 });
  let isThrottled = false;
  embedder.onCall = (texts) => {
    if (!texts.includes('Text 5.') || isThrottled) return;
    isThrottled = true;
    throw embedderErrors.raise.embedder_rate_limited('Slow down', { details: { retryInMs: 60_000 } });
  };
  const { kernel, delays } = await runs.start({ embedder });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const waiting = await runs.job(job);
  expect(waiting).toMatchObject({ status: 'running', retry_count: 0, counters: { chunks_processed: 4 } });
  expect(waiting.run_at.getTime() - Date.now()).toBeGreaterThan(30_000);
  await runs.bringForward(job);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'success', counters: { chunks_processed: 8 } });
  expect(embedder.texts.length).toBe(8);
  expect(delays).toEqual([]);
});

test.each([1, 2, 8])(
  'a provider that is down opens its breaker: the run waits, and none of %i chunks is given up',
  async (count) => {
    await forgetBreakers();
    const kb = await runs.newKb(new Shelf({ a: many(count) }));
    const embedder = new TestEmbedder({ callsInFlight: 1 });
    embedder.onCall = () => {
      throw embedderErrors.raise.embedder_unreachable('Connection refused');
    };
    const { kernel } = await runs.start({ embedder });
    const job = await runs.run(kb);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    // Few chunks are waited for before there are failures enough to open it.
    for (let waits = 0; waits < 3 && (await openBreakers()) === 0; waits += 1) {
      await runs.bringForward(job);
      await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    }
    expect(await openBreakers()).toBe(1);
    const waiting = await runs.job(job);
    expect(waiting).toMatchObject({ status: 'running', retry_count: 0 });
    expect(waiting.counters.chunks_error ?? 0).toBe(0);
    embedder.onCall = () => {};
    await forgetBreakers();
    await runs.bringForward(job);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(await runs.job(job)).toMatchObject({
      status: 'success',
      counters: { chunks_processed: count, chunks_error: 0 },
    });
  },
);

test('a chunk that makes the provider fail is found without counting against the provider', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: `Poison.\n\n${many(15)}` }));
  const embedder = new TestEmbedder({ textsPerCall: 16, callsInFlight: 1 });
  embedder.onCall = (texts) => {
    if (texts.includes('Poison.')) throw embedderErrors.raise.embedder_unreachable('500 at these words');
  };
  const { kernel } = await runs.start({ embedder });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { chunks_seen: 16, chunks_processed: 15, chunks_error: 1 },
  });
  expect(await openBreakers()).toBe(0);
});

test('an open breaker is probed with a harmless text, not with what may have opened it', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: `Poison.\n\n${many(3)}` }));
  const embedder = new TestEmbedder({ callsInFlight: 1 });
  embedder.onCall = (texts) => {
    if (texts.includes('Poison.')) throw embedderErrors.raise.embedder_unreachable('500 at these words');
  };
  const { kernel } = await runs.start({ embedder });
  await database.owner(
    `insert into circuit_breakers (dependency, state, failures, opened_count, probe_at)
     values ('embedder test', 'open', 5, 1, clock_timestamp())`,
  );
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(embedder.calls[0]).toEqual(['Hello.']);
  expect(await openBreakers()).toBe(0);
  expect(await runs.job(job)).toMatchObject({ status: 'success', counters: { chunks_processed: 3 } });
});

test('failures of earlier runs no longer count once a call has succeeded', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: many(2) }));
  const embedder = new TestEmbedder({ callsInFlight: 1 });
  const { kernel } = await runs.start({ embedder });
  await database.owner(
    `insert into circuit_breakers (dependency, state, failures) values ('embedder test', 'closed', 4)`,
  );
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await database.owner('select from circuit_breakers where failures > 0')).toEqual([]);
});

test('a provider that goes away, comes back ill and gets well costs a run of one chunk nothing', async () => {
  await forgetBreakers();
  const back = await startEmbeddingServer();
  // Nobody listens at the first: a port that was closed only now could be another test's by then.
  const gone = await openAiAt('http://127.0.0.1:2/v1');
  const here = await openAiAt(back.url);
  let { real } = gone;
  const kb = await runs.newKb(new Shelf({ a: 'Only.' }));
  const embedder = new TestEmbedder();
  embedder.onCall = async (texts, signal) => void (await real.embed(texts, { signal }));
  const { kernel } = await runs.start({ embedder });
  const job = await runs.run(kb);
  const goOn = async () => {
    await forgetBreakers();
    await runs.bringForward(job);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    return runs.job(job);
  };
  const waiting = { status: 'running', retry_count: 0, error_code: null };
  try {
    expect(await goOn(), 'connections are refused').toMatchObject({
      ...waiting,
      checkpoint: { waiting: expect.stringContaining('is down') },
    });
    expect(back.calls).toEqual([]);
    real = here.real;
    back.onCall = () => 503;
    expect(await goOn(), 'it answers 503').toMatchObject(waiting);
    back.onCall = () => null;
    expect(await goOn()).toMatchObject({
      status: 'success',
      counters: { chunks_seen: 1, chunks_processed: 1, chunks_error: 0 },
    });
  } finally {
    await Promise.all([gone.embedders.close(), here.embedders.close()]);
    await back.close();
  }
});

async function openAiAt(baseUrl: string) {
  const embedders = openEmbedders({
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    secrets: noSecrets,
    countTokens: (text) => text.length,
    custom: [],
  });
  const settings = { baseUrl, model: 'test', dimensions: 16, apiKeySecret: null, pricePerMillionTokens: 0 };
  return { embedders, real: await embedders.get('nobody', { provider: 'openai', ...settings }) };
}

test('a key that is refused ends the run at once, with the reason', async () => {
  const kb = await runs.newKb(new Shelf({ a: many(2) }));
  const embedder = new TestEmbedder();
  embedder.onCall = () => {
    throw embedderErrors.raise.embedder_unauthorized('The key is wrong');
  };
  const { kernel } = await runs.start({ embedder });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'dead_letter',
    error_code: 'embedder_unauthorized',
    error_message: 'The key is wrong',
  });
});

test('a run that has used up its budget pauses with the reason, and resuming grants the budget again', async () => {
  const kb = await runs.newKb(new Shelf({ a: many(10) }));
  const embedder = new TestEmbedder({ textsPerCall: 2, price: 1_000_000 });
  const { kernel } = await runs.start({ embedder });
  // Two tokens in each text, at a price of one per token.
  const job = await runs.run(kb, { budget: { maxTokens: 1_000, maxCost: 9 } });
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const resting = await runs.job(job);
  expect(resting).toMatchObject({ status: 'paused', error_code: 'budget_exhausted' });
  expect(resting.error_message).toContain('The budget of 9 tokens is used up: 8 tokens were embedded');
  expect(embedder.texts.length).toBe(4);
  await runs.resume(job);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'paused', counters: { tokens_embedded: 16 } });
  await runs.resume(job);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    error_code: null,
    counters: { tokens_embedded: 20, chunks_processed: 10 },
  });
  expect(embedder.texts.length).toBe(10);
});

test('a text that is there many times counts once against the budget', async () => {
  const same = Array.from({ length: 12 }, () => 'The same.').join('\n\n');
  const kb = await runs.newKb(new Shelf({ a: same, b: `${same}\n\nAnother one.` }));
  const { kernel, embedder } = await runs.start({ embedder: new TestEmbedder({ textsPerCall: 2 }) });
  const job = await runs.run(kb, { budget: { maxTokens: 4 } });
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { chunks_seen: 25, chunks_processed: 2, chunks_skipped: 23, tokens_embedded: 4 },
  });
  expect(embedder.texts).toEqual(['The same.', 'Another one.']);
});

test('as many calls are in flight as the embedder takes, and the next batch is loaded meanwhile', async () => {
  const shelf = new Shelf(Object.fromEntries([...'abcdefgh'].map((name) => [name, `Text of ${name}.`])));
  shelf.batchSize = 1;
  const kb = await runs.newKb(shelf);
  const embedder = new TestEmbedder({ callsInFlight: 3 });
  const loadedAtFirstCall: string[] = [];
  embedder.onCall = async () => {
    const deadline = performance.now() + 10_000;
    const isWaiting = () => embedder.mostInFlight < 3 || shelf.loaded.length < 4;
    while (isWaiting() && performance.now() < deadline) await new Promise((resolve) => setImmediate(resolve));
    if (loadedAtFirstCall.length === 0) loadedAtFirstCall.push(...shelf.loaded);
  };
  const { kernel } = await runs.start({ embedder });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(embedder.mostInFlight).toBe(3);
  expect(loadedAtFirstCall.length).toBeGreaterThanOrEqual(4);
  expect(await runs.job(job)).toMatchObject({ status: 'success', checkpoint: { last_batch_id: 8 } });
});

test('every line of the log says which job, knowledge base, step, batch and chunk it is about', async () => {
  await forgetBreakers();
  const kb = await runs.newKb(new Shelf({ a: 'Fine.', b: 'Also.', c: 'Poison.' }));
  const embedder = new TestEmbedder();
  embedder.onCall = (texts) => {
    if (texts.includes('Poison.')) throw embedderErrors.raise.embedder_refused('No');
  };
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { kernel } = await runs.start({ embedder, logger });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const own = lines.filter(({ job_id }) => job_id === job.jobId);
  for (const line of own) expect(line).toMatchObject({ kb_id: kb.kbId, step: expect.any(String) });
  const left = own.find(({ msg }) => msg === 'a chunk is left out');
  expect(left).toMatchObject({ step: 'embed', batch: 2, chunk: 0, correlation_id: job.correlationId });
  expect(own.filter(({ msg }) => msg === 'a group is committed')).toHaveLength(2);
});
