import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import {
  type ItemServer,
  type ItemWorker,
  installationEnv,
  startServer,
  startWorker,
  type UploadedFile,
  uploadSurely,
} from './items-stage.ts';
import { seededRandom } from './seeded-random.ts';

const isFull = process.env.SLUICE_CHAOS === 'full';
const rounds = isFull ? 40 : 3;
const roundRows = 20_000;
const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const sluice = useCommandLine();
const database = useDatabase();
const env = () => installationEnv(database, { leaseMs: 1_500 });
let server: ItemServer | undefined;
let worker: ItemWorker | undefined;
afterEach(() => {
  server?.running.child.kill('SIGKILL');
  worker?.running.child.kill('SIGKILL');
});

test('a server killed during an upload leaves no partial job; its rows are swept and a retry makes one job', {
  timeout: 90_000,
}, async () => {
  const tenantId = await newTenant(database);
  const job = plainJob('half', 20_000);
  server = await startServer(sluice, env());
  const upload = openSlowUpload(server, { tenantId, job });
  await eventually(async () => (await countRows(tenantId)) > 1_000, 'some of the rows are in', 30_000);
  await kill(server);
  expect(await upload.outcome).toBe('cut off');

  server = await startServer(sluice, env());
  expect(await countRows(tenantId)).toBeGreaterThan(1_000);
  expect((await server.call(tenantId, 'GET', '/api/jobs')).body).toMatchObject({ data: [] });
  expect((await server.call(tenantId, 'GET', '/api/pending?userId=all')).body).toMatchObject({ data: [] });
  const [hidden] = await database.owner<{ jobId: string }>(
    'select job_id as "jobId" from item_jobs where tenant_id = $1',
    [tenantId],
  );
  for (const path of ['', '/items']) {
    expect((await server.call(tenantId, 'GET', `/api/jobs/${hidden?.jobId}${path}`)).status).toBe(404);
  }
  const kickedOff = await server.call(tenantId, 'POST', `/api/jobs/${hidden?.jobId}/kickoff`);
  expect(kickedOff.status).toBe(404);

  worker = startWorker(sluice, env());
  const swept = async () => {
    // It runs every minute; the test does not wait for it.
    await database.owner(
      `update upkeep_tasks set next_run_at = clock_timestamp() where task = 'remove_dead_ingests'`,
    );
    await pause(200);
    return (await countRows(tenantId)) === 0;
  };
  await eventually(swept, 'upkeep removes what the dead server left', 40_000);
  expect(await listJobs(tenantId)).toEqual([]);

  const first = await uploadSurely(() => server as ItemServer, tenantId, job);
  expect(await uploadSurely(() => server as ItemServer, tenantId, job)).toBe(first);
  await expectOneWholeJob(tenantId, { jobId: first, rows: 20_000 });
});

test('retries make exactly one job with every row once, wherever in an upload the server is killed', {
  timeout: isFull ? 30 * 60_000 : 3 * 60_000,
}, async () => {
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  const random = seededRandom(seed);
  worker = startWorker(sluice, env());
  server = await startServer(sluice, env());
  let kills = 0;
  let cutOff = 0;
  for (let round = 0; round < rounds; round += 1) {
    const tenantId = await newTenant(database);
    const job = plainJob(`round-${round}`, roundRows);
    let answered: string | null = null;
    const first = server
      .upload(tenantId, job, { idempotencyKey: job.name })
      .then(({ body }) => {
        answered = String(body.jobId);
      })
      .catch(() => {});
    // Anywhere between the first row and the answer; beyond the last row lies the moment in which the job shows.
    const moment = random.below(roundRows * 1.1);
    const isThere = async () =>
      answered !== null || (await countRows(tenantId)) >= Math.min(moment, roundRows);
    await eventually(isThere, 'the upload has come that far', 30_000);
    await kill(server);
    kills += 1;
    await first;
    cutOff += answered === null ? 1 : 0;
    server = await startServer(sluice, env());
    const jobId = await uploadSurely(() => server as ItemServer, tenantId, job);
    // A response that arrived before the kill was a promise.
    if (answered !== null) expect(jobId).toBe(answered);
    await expectOneWholeJob(tenantId, { jobId, rows: roundRows });
  }
  console.log(`${kills} kills of the server, ${cutOff} of them before it had answered`);
  expect(kills).toBe(rounds);
  expect(cutOff).toBeGreaterThan(0);
});

function plainJob(name: string, rows: number): UploadedFile {
  const lines = Array.from({ length: rows }, (_, n) => `${n},${name} row ${n}`);
  return { name, processor: 'noop', options: {}, csv: `n,text\n${lines.join('\n')}\n` };
}

/** Sends most of the file and then nothing more, until the connection ends. */
function openSlowUpload(
  to: ItemServer,
  { tenantId, job }: { tenantId: string; job: UploadedFile },
): { outcome: Promise<string> } {
  const boundary = 'the-boundary-of-this-upload';
  const part = (name: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const head = `${part('processor')}noop\r\n${part('options')}{}\r\n${part('file', '; filename="a.csv"')}`;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(head + job.csv.slice(0, job.csv.length * 0.8)));
    },
  });
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const sent = to.send(tenantId, { body, contentType, idempotencyKey: job.name });
  return { outcome: sent.then(String).catch(() => 'cut off') };
}

async function kill({ running }: ItemServer): Promise<void> {
  running.child.kill('SIGKILL');
  await running.ended;
}

async function countRows(tenantId: string): Promise<number> {
  const rows = await database.owner<{ count: string }>(
    'select count(*) as count from job_items where tenant_id = $1',
    [tenantId],
  );
  return Number(rows[0]?.count);
}

async function listJobs(tenantId: string): Promise<string[]> {
  const rows = await database.owner<{ jobId: string }>(
    `select job_id as "jobId" from ingestion_jobs where tenant_id = $1 and stage is distinct from 'ingesting'`,
    [tenantId],
  );
  return rows.map(({ jobId }) => jobId);
}

async function expectOneWholeJob(
  tenantId: string,
  { jobId, rows }: { jobId: string; rows: number },
): Promise<void> {
  expect(await listJobs(tenantId)).toEqual([jobId]);
  await eventually(
    async () => {
      const [job] = await database.owner<{ status: string }>(
        'select status from ingestion_jobs where job_id = $1',
        [jobId],
      );
      return job?.status === 'success';
    },
    `job ${jobId} is DONE`,
    30_000,
  );
  const [found] = await database.owner<{ rows: string; numbers: string; done: string }>(
    `select count(*) as rows, count(distinct input_json ->> 'n') as numbers,
            count(*) filter (where status = 'DONE') as done
       from job_items where job_id = $1`,
    [jobId],
  );
  expect(found).toEqual({ rows: String(rows), numbers: String(rows), done: String(rows) });
}
