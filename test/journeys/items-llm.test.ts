import { expect, onTestFinished, test } from 'vitest';
import { bearer, installationEnv, startServer } from '../chaos/items-stage.ts';
import { type ChatRequest, startChatServer } from '../support/fakes/chat-server.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const database = useDatabase();
const sluice = useCommandLine();
const schema = {
  type: 'object',
  properties: { colour: { type: 'string' }, year: { type: 'integer' } },
  required: ['colour', 'year'],
  additionalProperties: false,
};

async function open(answer: (request: ChatRequest, before: number) => string | { status: number }) {
  const model = await startChatServer(answer);
  onTestFinished(() => model.close());
  const env = { ...installationEnv(database, { leaseMs: 30_000 }), MAX_ATTEMPTS_ERROR: '2' };
  const server = await startServer(sluice, { ...env, SLUICE_WORKER: 'true' });
  onTestFinished(() => void server.running.child.kill('SIGKILL'));
  const tenantId = await newTenant(database);
  const stored = await fetch(`${server.url}/api/secrets/model_key`, {
    method: 'PUT',
    headers: { ...(await bearer(tenantId)), 'content-type': 'application/json' },
    body: JSON.stringify({ value: 'sk-very-secret', hosts: [new URL(model.url).host] }),
  });
  expect(stored.ok, await stored.text()).toBe(true);
  const ask = async (options: object, rows: number) => {
    const names = Array.from({ length: rows }, (_, n) => `car ${n}`);
    const { status, body } = await server.upload(tenantId, {
      name: 'cars',
      processor: 'llm',
      options: { url: model.url, model: 'small', secret: 'model_key', ...options },
      csv: `name\n${names.join('\n')}\n`,
    });
    return { status, body, jobId: String(body.jobId) };
  };
  const statusOf = async (jobId: string) =>
    (
      await database.owner<{ status: string }>('select status from ingestion_jobs where job_id = $1', [jobId])
    )[0]?.status;
  return { model, server, tenantId, ask, statusOf };
}

test('a model is asked about each row, and answers that fit the schema become columns, with tokens and cost', {
  timeout: 120_000,
}, async () => {
  const world = await open(({ messages }, before) => {
    if (before === 0) return { status: 500 };
    const name = messages.at(-1)?.content ?? '';
    if (name.endsWith('car 3')) return 'I am only a model.';
    return name.endsWith('car 2')
      ? '```json\n{"colour": "red", "year": 1999}\n```'
      : '{"colour": "blue", "year": 2001}';
  });
  const price = { input: 1, output: 2 };
  const { jobId } = await world.ask({ prompt: 'What is {{name}}', system: 'Be short.', schema, price }, 4);
  await eventually(async () => (await world.statusOf(jobId)) === 'success', 'the rows are done', 60_000);
  const { body } = await world.server.call(world.tenantId, 'GET', `/api/jobs/${jobId}/items?pageSize=10`);
  const rows = body.data as { rowNo: number; status: string; result: object; errorCode: string | null }[];
  const byRow = rows.toSorted((a, b) => a.rowNo - b.rowNo);
  expect(byRow.map(({ status }) => status)).toEqual(['DONE', 'DONE', 'DONE', 'ERROR']);
  expect(byRow[2]?.result).toEqual({ colour: 'red', year: 1999, tokens: 150, cost: 0.0002 });
  expect(byRow[3]).toMatchObject({ errorCode: 'answer_unfit' });
  const [call] = world.model.calls;
  expect(call?.authorization).toBe('Bearer sk-very-secret');
  expect(call?.request.messages[0]).toEqual({ role: 'system', content: 'Be short.' });
  expect(call?.request.response_format?.json_schema.schema).toEqual(schema);
  const [sums] = await database.owner<{ tokens: string; cost: number }>(
    'select sum(tokens)::text as tokens, sum(cost) as cost from search_events where job_id = $1',
    [jobId],
  );
  expect(sums?.tokens).toBe(String(150 * (world.model.calls.length - 1)));
  const listed = (await world.server.call(world.tenantId, 'GET', '/api/providers')).body.data as {
    cost_today: number;
  }[];
  expect(listed[0]?.cost_today).toBeCloseTo(sums?.cost ?? -1, 9);
});

test('a job that has spent its budget is paused, and resumed it may spend as much again', {
  timeout: 120_000,
}, async () => {
  const world = await open(() => 'yes');
  const refused = await world.ask({ prompt: 'Is {{name}} red?', budget: 1 }, 1);
  expect(refused.status).toBe(422);
  const price = { input: 1_000, output: 2_000 };
  // Each answer costs 0.2.
  const { jobId } = await world.ask({ prompt: 'Is {{name}} red?', price, budget: 2 }, 3_000);
  await eventually(async () => (await world.statusOf(jobId)) === 'paused', 'the job is paused', 60_000);
  const first = world.model.calls.length;
  expect(first).toBeGreaterThanOrEqual(10);
  expect(first).toBeLessThan(1_500);
  const resumed = await world.server.call(world.tenantId, 'POST', `/api/jobs/${jobId}/resume`);
  expect(resumed.status).toBe(200);
  await eventually(async () => world.model.calls.length >= first + 5, 'it goes on', 60_000);
});
