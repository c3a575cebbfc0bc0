import { expect, onTestFinished, test } from 'vitest';
import { installationEnv, startServer, startWorker } from '../chaos/items-stage.ts';
import {
  type BucketProvider,
  type BucketRules,
  startBucketProvider,
} from '../support/fakes/bucket-provider.ts';
import { startChatServer } from '../support/fakes/chat-server.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { skusOf } from '../support/worlds/provider-jobs.ts';

// Steps of a chain call real local providers, whose ledgers are the judges.
const database = useDatabase();
const sluice = useCommandLine();

async function open(rules: BucketRules[], env: Record<string, string> = {}) {
  const providers = await Promise.all(rules.map((rule) => startBucketProvider(rule)));
  for (const provider of providers) onTestFinished(() => provider.close());
  const all = { ...installationEnv(database, { leaseMs: 30_000 }), ...env };
  const server = await startServer(sluice, all);
  onTestFinished(() => void server.running.child.kill('SIGKILL'));
  const tenantId = await newTenant(database);
  const work = async () => {
    const worker = startWorker(sluice, all);
    onTestFinished(() => void worker.running.child.kill('SIGKILL'));
    await eventually(async () => worker.workerId !== null, 'the worker runs', 60_000);
    return worker;
  };
  const send = (options: object, skus: string[]) =>
    server.upload(tenantId, {
      name: 'products',
      processor: 'chain',
      options,
      csv: `sku\n${skus.join('\n')}\n`,
    });
  const start = async (options: object, skus: string[]): Promise<string> => {
    const { status, body } = await send(options, skus);
    expect(status, JSON.stringify(body)).toBe(201);
    return String(body.jobId);
  };
  const rowsOf = async (jobId: string) =>
    (
      (await server.call(tenantId, 'GET', `/api/jobs/${jobId}/items?pageSize=500&sort=rowNo`)).body.data as {
        rowNo: number;
        status: string;
        attempts: number;
        result: Record<string, unknown> | null;
        lastError: string | null;
        waitingFor: string | null;
      }[]
    ).toSorted((a, b) => a.rowNo - b.rowNo);
  const untilDone = (jobId: string) => eventually(() => isDone(jobId), 'the rows are done', 120_000);
  return { providers, server, tenantId, work, send, start, rowsOf, untilDone };
}

async function isDone(jobId: string): Promise<boolean> {
  const rows = await database.owner<{ status: string }>(
    'select status from ingestion_jobs where job_id = $1',
    [jobId],
  );
  return rows[0]?.status === 'success';
}

const ask = ({ url }: BucketProvider, column: string) => ({
  processor: 'http',
  options: { request: { url: `${url}/items/{{${column}}}` } },
});

/** How often each product was asked for. */
function countsOf({ calls }: BucketProvider): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { sku } of calls) counts.set(sku, (counts.get(sku) ?? 0) + 1);
  return counts;
}

test('a later step that fails is retried alone, with what the earlier step found', {
  timeout: 180_000,
}, async () => {
  const world = await open([{ latencyMs: 5 }, { latencyMs: 5, failures: { status: 0.2, throttle: 0.05 } }]);
  const [first, second] = world.providers as [BucketProvider, BucketProvider];
  await world.work();
  const skus = skusOf('ok', 40);
  const steps = [
    { name: 'find', ...ask(first, 'sku') },
    { name: 'detail', ...ask(second, 'find.title') },
  ];
  const jobId = await world.start({ steps }, skus);
  await world.untilDone(jobId);
  for (const { status, result, rowNo } of await world.rowsOf(jobId)) {
    const title = `Title of ${skus[rowNo - 1]}`;
    expect({ status, result }).toEqual({
      status: 'DONE',
      result: {
        'find.sku': skus[rowNo - 1],
        sku: title,
        'find.title': title,
        title: `Title of ${title}`,
        answered_by: 'find, detail',
      },
    });
  }
  expect([...countsOf(first).values()]).toEqual(skus.map(() => 1));
  const bad = second.calls.filter(({ answer }) => answer !== 200).length;
  expect(bad).toBeGreaterThan(0);
  expect(second.calls).toHaveLength(skus.length + bad);
  const events = await database.owner<{ strategy: string; calls: number }>(
    'select strategy, count(*)::int as calls from search_events where job_id = $1 group by 1 order by 1',
    [jobId],
  );
  expect(events).toEqual([
    { strategy: 'detail/default', calls: second.calls.length },
    { strategy: 'find/default', calls: first.calls.length },
  ]);
  const { body } = await world.server.call(world.tenantId, 'GET', '/api/providers');
  const listed = body.data as { host: string; calls_today: number }[];
  const callsOf = ({ url }: BucketProvider) =>
    listed.find(({ host }) => host === new URL(url).host)?.calls_today;
  expect([callsOf(first), callsOf(second)]).toEqual([first.calls.length, second.calls.length]);
});

test('a waterfall asks the next provider only for what the one before did not find', {
  timeout: 180_000,
}, async () => {
  const has = (kinds: string[]) => (sku: string) => (kinds.some((kind) => sku.startsWith(kind)) ? null : 404);
  const world = await open([{ always: has(['a']) }, { always: has(['a', 'b']) }]);
  const [cheap, dear] = world.providers as [BucketProvider, BucketProvider];
  await world.work();
  const [inCheap, inDear, nowhere] = [skusOf('a', 20), skusOf('b', 20), skusOf('c', 5)];
  const steps = [
    { name: 'cheap', ...ask(cheap, 'sku') },
    { name: 'dear', ...ask(dear, 'sku') },
  ];
  const jobId = await world.start({ mode: 'waterfall', steps }, [...inCheap, ...inDear, ...nowhere]);
  await world.untilDone(jobId);
  const ends = (await world.rowsOf(jobId)).map(({ status, result }) => [status, result?.answered_by ?? null]);
  expect(ends).toEqual([
    ...inCheap.map(() => ['DONE', 'cheap']),
    ...inDear.map(() => ['DONE', 'dear']),
    ...nowhere.map(() => ['NOT_FOUND', null]),
  ]);
  expect([...countsOf(cheap).keys()].toSorted()).toEqual([...inCheap, ...inDear, ...nowhere].toSorted());
  expect(cheap.calls).toHaveLength(45);
  expect([...countsOf(dear).keys()].toSorted()).toEqual([...inDear, ...nowhere].toSorted());
  expect(dear.calls).toHaveLength(25);
});

test('after kill -9 no step that answered is asked again, and a repeated call carries its first key', {
  timeout: 180_000,
}, async () => {
  const world = await open([{ latencyMs: 5 }, { latencyMs: 700 }]);
  const [first, second] = world.providers as [BucketProvider, BucketProvider];
  const worker = await world.work();
  const skus = skusOf('ok', 6);
  const steps = [
    { name: 'find', ...ask(first, 'sku') },
    { name: 'detail', ...ask(second, 'find.title') },
  ];
  const jobId = await world.start({ steps }, skus);
  await eventually(async () => second.calls.length >= 2, 'rows are at the second step', 60_000);
  worker.running.child.kill('SIGKILL');
  const killedAtMs = first.nowMs();
  const openAtKill = second.calls.filter(({ answeredAtMs }) => answeredAtMs === null);
  const begun = new Set(second.calls.map(({ sku }) => sku.replace('Title of ', '')));
  await world.work();
  await world.untilDone(jobId);
  const again = [...countsOf(first)].filter(([, count]) => count > 1).map(([sku]) => sku);
  expect(again.filter((sku) => begun.has(sku))).toEqual([]);
  // What the first provider had answered just before the kill may not have been stored.
  const fresh = first.calls.filter(
    ({ atMs, answeredAtMs }) => atMs <= killedAtMs && (answeredAtMs ?? Infinity) > killedAtMs - 250,
  );
  expect(again.length).toBeLessThanOrEqual(fresh.length);
  for (const { sku, key } of openAtKill) {
    const keys = second.calls.filter((call) => call.sku === sku).map((call) => call.key);
    expect(keys).toEqual([key, key]);
  }
  const keysOf = ({ calls }: BucketProvider) => new Set(calls.map(({ key }) => key));
  expect([...keysOf(first)].filter((key) => keysOf(second).has(key))).toEqual([]);
  expect((await world.rowsOf(jobId)).every(({ status }) => status === 'DONE')).toBe(true);
});

test('a row that ran out of attempts at a later step goes on there when it is reprocessed', {
  timeout: 180_000,
}, async () => {
  const world = await open([{}, {}], { MAX_ATTEMPTS_ERROR: '2' });
  const [first, second] = world.providers as [BucketProvider, BucketProvider];
  second.setOutage(500);
  await world.work();
  const steps = [
    { name: 'find', ...ask(first, 'sku') },
    { name: 'detail', ...ask(second, 'title') },
  ];
  const jobId = await world.start({ steps }, skusOf('ok', 3));
  await world.untilDone(jobId);
  for (const { status, lastError } of await world.rowsOf(jobId)) {
    expect(status).toBe('ERROR');
    expect(lastError).toMatch(/^Step detail: .* returned 500/);
  }
  second.setOutage(null);
  const path = `/api/jobs/${jobId}/reprocess`;
  const { body } = await world.server.call(world.tenantId, 'POST', path, { resetAttempts: true });
  expect(body.reset).toBe(3);
  await world.untilDone(jobId);
  expect((await world.rowsOf(jobId)).map(({ status }) => status)).toEqual(['DONE', 'DONE', 'DONE']);
  expect(first.calls).toHaveLength(3);
});

test('rows wait for the budget of a later provider, say so, and use no attempt', {
  timeout: 180_000,
}, async () => {
  const world = await open([{ latencyMs: 5 }, { latencyMs: 5 }]);
  const [first, second] = world.providers as [BucketProvider, BucketProvider];
  const host = encodeURIComponent(new URL(second.url).host);
  await world.server.call(world.tenantId, 'PUT', `/api/providers/${host}`, { daily_budget: 4 });
  await world.work();
  const steps = [
    { name: 'find', ...ask(first, 'sku') },
    { name: 'detail', ...ask(second, 'title') },
  ];
  const jobId = await world.start({ steps }, skusOf('ok', 10));
  await eventually(
    async () =>
      (await world.rowsOf(jobId)).filter(
        ({ waitingFor, attempts }) => waitingFor === 'budget' && attempts === 0,
      ).length === 6,
    'six rows wait for the budget',
    60_000,
  );
  expect([first.calls.length, second.calls.length]).toEqual([10, 4]);
});

test('a chain of a search and a model keeps to the budget of the job and to the hosts of its secrets', {
  timeout: 180_000,
}, async () => {
  const model = await startChatServer(() => 'red');
  onTestFinished(() => model.close());
  const world = await open([{}]);
  const [first] = world.providers as [BucketProvider];
  const put = (uses: string[]) =>
    world.server.call(world.tenantId, 'PUT', '/api/secrets/model_key', {
      value: 'sk-very-secret',
      hosts: [new URL(model.url).host],
      uses,
    });
  const llm = {
    url: model.url,
    model: 'small',
    secret: 'model_key',
    prompt: 'Which colour has {{title}}?',
    price: { input: 1_000, output: 2_000 },
  };
  const options = {
    steps: [
      { name: 'find', ...ask(first, 'sku') },
      { name: 'colour', processor: 'llm', options: llm },
    ],
    budget: 2,
  };
  await put(['processor:http']);
  const refused = await world.send(options, ['a']);
  expect(refused).toMatchObject({
    status: 422,
    body: {
      code: 'secret_use_not_allowed',
      errors: [{ pointer: '/options/steps/1/options/secret' }],
    },
  });
  await put(['processor:llm']);
  await world.work();
  const small = await world.start(options, skusOf('ok', 3));
  await world.untilDone(small);
  expect((await world.rowsOf(small))[0]?.result).toMatchObject({
    title: 'Title of ok-0',
    answer: 'red',
    cost: 0.2,
    answered_by: 'find, colour',
  });
  expect(model.calls[0]).toMatchObject({ authorization: 'Bearer sk-very-secret' });
  const large = await world.start(options, skusOf('ok', 2_000));
  await eventually(
    async () =>
      (await world.server.call(world.tenantId, 'GET', `/api/jobs/${large}`)).body.queueState === 'PAUSED',
    'the job is paused',
    60_000,
  );
  expect(model.calls.length).toBeLessThan(1_000);
});

test('an address that is refused is refused with its step', { timeout: 120_000 }, async () => {
  const world = await open([{}], { SLUICE_BLOCK_PRIVATE_ADDRESSES: 'true' });
  const steps = [{ processor: 'noop' }, ask(world.providers[0] as BucketProvider, 'sku')];
  expect(await world.send({ steps }, ['a'])).toMatchObject({
    status: 422,
    body: { code: 'address_blocked', errors: [{ pointer: '/options/steps/1/options/request/url' }] },
  });
});
