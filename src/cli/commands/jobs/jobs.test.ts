import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, expect, test, vi } from 'vitest';
import { listenApart } from '../../../../test/support/fakes/ports.ts';
import {
  type CommandLine,
  type CommandResult,
  type Running,
  useCommandLine,
} from '../../../../test/support/servers/command-line.ts';
import { testTokens, useServer } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { useKernel } from '../../../../test/support/worlds/kernel.ts';
import type { ProbePayload } from '../../../../test/support/worlds/probe-pipeline.ts';
import { SseStreams } from '../../../api/sse.ts';
import { eventRoutes } from '../../../kernel/events/routes.ts';
import type { RouteModule } from '../../../kernel/http/route.ts';
import { dispatch } from '../../../kernel/jobs/dispatch/service.ts';
import { jobRoutes } from '../../../kernel/jobs/routes.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import { statsRoutes } from '../../../kernel/stats/routes.ts';
import { createAuthenticator } from '../../../kernel/tenancy/service.ts';
import { systemClock } from '../../../lib/timing/clock.ts';

// Some of the commands run as separate processes.
vi.setConfig({ testTimeout: 60_000 });

const database = useDatabase();
const held = useKernel(database);
const jobs: RouteModule = (app, deps) => jobRoutes(held.kernel)(app, deps);
const events: RouteModule = (app, deps) => {
  const authenticator = createAuthenticator({ db: database.db, clock: systemClock, tokens: testTokens });
  eventRoutes({ wake: held.kernel.wake, streams: new SseStreams({ authenticator }) })(app, deps);
};
const server = useServer(database, { routes: [jobs, statsRoutes, events] });
const sluice = useCommandLine();
const patience = { timeout: 20_000, interval: 20 };

function newJob(tenantId: string, subjectId: string, payload: ProbePayload = {}): Promise<Job> {
  const job = { pipeline: 'probe', subjectId, maxRetries: 5, createdBy: 'a-user', userId: 'a-user' };
  return dispatch(held.kernel, tenantId, { ...job, payload: { ...payload } });
}

async function as(tenantId: string, url = server.url): Promise<Record<string, string>> {
  return { SLUICE_URL: url, SLUICE_TOKEN: await server.token({ tenantId, role: 'operator' }) };
}

const run = (tenantId: string, ...args: string[]) => runBy(sluice.run, { tenantId, args });
const runHere = (tenantId: string, ...args: string[]) => runBy(sluice.runHere, { tenantId, args });

async function runBy(
  runCommand: CommandLine['run'],
  { tenantId, args }: { tenantId: string; args: string[] },
): Promise<CommandResult> {
  const env = await as(tenantId);
  const result = await runCommand(args, env);
  expect(result.stdout + result.stderr).not.toContain(env.SLUICE_TOKEN);
  return result;
}

const drive = (tenantId: string) => held.kernel.cycle({ budgetMs: 10_000, tenantId });

test('jobs are listed over all pages, filtered, as a table and as JSON', async () => {
  const tenantId = await newTenant(database);
  expect(await run(tenantId, 'jobs', 'list')).toEqual({ code: 0, stdout: '', stderr: 'No job matches.\n' });
  for (let n = 0; n < 3; n += 1) await newJob(tenantId, `evil \u001b[2J ${n}`);
  const asText = await runHere(tenantId, 'jobs', 'list', '--status', 'queued', '--limit', '2');
  expect(asText.stdout.trimEnd().split('\n')).toHaveLength(3);
  expect(asText.stdout).toMatch(/^JOB +PIPELINE +NAME/);
  expect(asText.stdout).not.toContain('\u001b');
  expect(asText.stderr).toContain('first 2');
  const asJson = await runHere(tenantId, 'jobs', 'list', '--json', '--pipeline', 'probe');
  expect(JSON.parse(asJson.stdout)).toMatchObject({ data: [{}, {}, {}], has_more: false });
  const none = await runHere(tenantId, 'jobs', 'list', '--status', 'success', '--json');
  expect(JSON.parse(none.stdout)).toEqual({ data: [], has_more: false });
});

test('a job that is never retried as a whole shows no tries', async () => {
  const tenantId = await newTenant(database);
  const job = { pipeline: 'probe', maxRetries: 0, createdBy: 'a-user', userId: 'a-user' };
  const { jobId } = await dispatch(held.kernel, tenantId, { ...job, subjectId: 'once' });
  await newJob(tenantId, 'five times');
  const [, five, once] = (await runHere(tenantId, 'jobs', 'list')).stdout.split('\n');
  expect(five).toMatch(/queued +0\/5 /);
  expect(once).toMatch(/queued +- /);
  expect((await runHere(tenantId, 'jobs', 'show', jobId)).stdout).not.toContain('tries');
});

test('a limit beyond one page of the server is read page by page', async () => {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, status, max_retries, correlation_id,
       created_by)
     select $1, gen_random_uuid(), 'probe', 's' || n, 'queued', 5, 'c', 'a-user' from generate_series(1, 501) n`,
    [tenantId],
  );
  const { stdout } = await runHere(tenantId, 'jobs', 'list', '--json', '--limit', '1000');
  const { data } = JSON.parse(stdout) as { data: { jobId: string }[] };
  expect(new Set(data.map((job) => job.jobId)).size).toBe(501);
});

test('a job is shown, paused, resumed and kicked off to its end, after which it cannot be paused', async () => {
  const tenantId = await newTenant(database);
  const { jobId } = await newJob(tenantId, 'one', {
    steps: [{ do: 'continue' }, { do: 'continue' }, { do: 'done' }],
  });
  expect((await runHere(tenantId, 'jobs', 'show', jobId)).stdout).toMatch(/^status +queued$/m);
  expect((await runHere(tenantId, 'jobs', 'pause', jobId)).stdout).toBe(`${jobId}  paused\n`);
  const resumed = await runHere(tenantId, 'jobs', 'resume', jobId, '--json');
  expect(JSON.parse(resumed.stdout)).toMatchObject({ jobId, status: 'queued' });
  const kickoff = await runHere(tenantId, 'jobs', 'kickoff', jobId, '--json', '--duration', '10000');
  expect(JSON.parse(kickoff.stdout)).toMatchObject({ processed: 3, remaining: 0, queueState: 'DONE' });
  expect(kickoff.stderr).toBe('');
  const refused = await runHere(tenantId, 'jobs', 'pause', jobId);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('(illegal_transition)');
  expect(refused.stderr).toContain('docs/state-machines.md');
});

test('a kickoff runs in steps for the given time', async () => {
  const tenantId = await newTenant(database);
  const steps = Array.from({ length: 8 }, () => ({ do: 'work', ms: 400 }) as const);
  const { jobId } = await newJob(tenantId, 'long', { steps });
  const { stdout } = await run(tenantId, 'jobs', 'kickoff', jobId, '--duration', '20000', '--quiet');
  expect(stdout).toMatch(/^8 slices in [\d.]+ s, 0 remaining, DONE\n$/);
});

test('dead letters are listed, counted and requeued, one or all that match', async () => {
  const tenantId = await newTenant(database);
  const dead = await newJob(tenantId, 'a', { steps: [{ do: 'dead' }] });
  await newJob(tenantId, 'b', { steps: [{ do: 'dead' }] });
  await newJob(tenantId, 'c', { steps: [{ do: 'throw', message: 'permanent' }] });
  await drive(tenantId);
  const [list, asText, stats] = await Promise.all([
    runHere(tenantId, 'dlq', 'list', '--error-code', 'probe_failed', '--json'),
    runHere(tenantId, 'dlq', 'list'),
    runHere(tenantId, 'dlq', 'stats'),
  ]);
  expect(JSON.parse(list.stdout)).toMatchObject({ data: [{ subject_id: 'b' }, { subject_id: 'a' }] });
  expect(asText.stdout).toContain('The probe was told to fail');
  expect(stats.stdout).toMatch(/^probe_failed +2 +0 /m);
  const one = await runHere(tenantId, 'dlq', 'requeue', dead.jobId, '--correlation-id', 'mended', '--json');
  expect(JSON.parse(one.stdout)).toMatchObject({ requeued_from: dead.jobId, correlation_id: 'mended' });
  const again = await runHere(tenantId, 'dlq', 'requeue', dead.jobId);
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain('(already_requeued)');
  await newJob(tenantId, 'b');
  const all = await run(tenantId, 'dlq', 'requeue', '--all', '--json');
  expect(all).toMatchObject({ code: 3, stderr: '1 requeued, 1 skipped.\n' });
  expect(JSON.parse(all.stdout)).toMatchObject({ requeued: [{}], skipped: [{ code: 'job_already_active' }] });
});

test('another tenant’s job is not found', async () => {
  const { jobId } = await newJob(await newTenant(database), 'private');
  const { code, stdout, stderr } = await runHere(await newTenant(database), 'jobs', 'show', jobId);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('(job_not_found)');
});

async function watch(tenantId: string, args: string[], url?: string): Promise<Running> {
  const watching = sluice.start(['jobs', 'watch', ...args], await as(tenantId, url));
  await expect.poll(() => watching.stderr() || watching.child.exitCode, patience).toMatch(/\n$/);
  return watching;
}

test.each([
  { steps: [{ do: 'continue' }, { do: 'done' }], last: 'job.completed', code: 0 },
  { steps: [{ do: 'dead' }], last: 'job.dead_lettered', code: 1 },
] as const)(
  'watching a job prints its events until $last and ends with $code',
  async ({ steps, last, code }) => {
    const tenantId = await newTenant(database);
    const { jobId } = await newJob(tenantId, 'watched', { steps: [...steps] });
    const asText = await watch(tenantId, [jobId]);
    const asJson = await watch(tenantId, [jobId, '--json']);
    await newJob(tenantId, 'another');
    await drive(tenantId);
    const [text, json] = await Promise.all([asText.ended, asJson.ended]);
    expect([text.code, json.code]).toEqual([code, code]);
    const envelopes = json.stdout.trimEnd().split('\n');
    expect(envelopes.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'job.started',
      last,
    ]);
    const lines = text.stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d {2}job\\.started +${jobId} {2}probe watched$`),
    );
    expect(lines[1]).toContain(last);
    const late = await runHere(tenantId, 'jobs', 'watch', jobId);
    expect(late).toMatchObject({ code, stdout: '' });
  },
);

test('watching all jobs goes on until Ctrl+C, which ends it with 130', async () => {
  const tenantId = await newTenant(database);
  const watching = await watch(tenantId, []);
  await newJob(tenantId, 'first');
  await newJob(await newTenant(database), 'of-another-tenant');
  const second = await newJob(tenantId, 'second');
  await expect.poll(() => watching.stdout(), patience).toContain(second.jobId);
  expect(watching.stdout()).not.toContain('of-another-tenant');
  watching.child.kill('SIGINT');
  expect((await watching.ended).code).toBe(130);
});

const gates: Gate[] = [];
afterAll(() => Promise.all(gates.map((gate) => gate.close())));

test('a server that goes away and comes back makes a watcher miss no event and repeat none', async () => {
  const tenantId = await newTenant(database);
  const gate = new Gate(Number(new URL(server.url).port));
  gates.push(gate);
  await gate.open();
  const { jobId } = await newJob(tenantId, 'patient', {
    steps: [{ do: 'retry', delayMs: 0 }, { do: 'done' }],
  });
  const watching = await watch(tenantId, [jobId, '--json'], `http://127.0.0.1:${gate.port}`);
  await runHere(tenantId, 'jobs', 'pause', jobId);
  await expect.poll(() => watching.stdout(), patience).toContain('job.paused');
  await gate.close();
  await expect.poll(() => watching.stderr(), patience).toContain('Trying again');
  await runHere(tenantId, 'jobs', 'resume', jobId);
  await expect
    .poll(() => drive(tenantId), patience)
    .toMatchObject({ queued_processed: 0, retry_processed: 0 });
  await gate.open();
  const { code, stdout, stderr } = await watching.ended;
  const types = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);
  expect(types).toEqual([
    'job.paused',
    'job.resumed',
    'job.started',
    'job.failed',
    'job.retry',
    'job.started',
    'job.completed',
  ]);
  expect(code).toBe(0);
  expect(stderr.match(/Trying again/g)).toHaveLength(1);
  expect(stderr).toContain('The server is back.');
});

/** A port in front of a server, which can be closed, with every connection on it, and opened again. */
class Gate {
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #listener: Server | null = null;
  port = 0;

  constructor(target: number) {
    this.#target = target;
  }

  async open(): Promise<void> {
    const listener = createServer((client) => {
      const upstream = connect(this.#target, '127.0.0.1');
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream).pipe(client);
    });
    if (this.port === 0) this.port = await listenApart(listener);
    else await new Promise<void>((resolve) => listener.listen(this.port, '127.0.0.1', resolve));
    this.#listener = listener;
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    if (listener) await new Promise<void>((resolve) => listener.close(() => resolve()));
  }
}
