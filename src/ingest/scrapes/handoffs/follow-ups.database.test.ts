import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { referenceNamed, useScrapes } from '../../../../test/support/servers/scrape-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../../test/support/worlds/kernel.ts';
import { testKnowledgeHouse } from '../../../../test/support/worlds/knowledge-house.ts';
import { createFiles } from '../../../kernel/files/backends.ts';
import { createReferenceReader } from '../references/reader.ts';

const database = useDatabase();
const scrapes = useScrapes(database);

type Claims = Awaited<ReturnType<typeof scrapes.tenant>>;

interface JobRow {
  job_id: string;
  status: string;
}

function jobsOf({ tenantId }: Claims): Promise<JobRow[]> {
  return database.owner<JobRow>(
    'select job_id, status from ingestion_jobs where tenant_id = $1 order by job_id',
    [tenantId],
  );
}

async function queuedCount(): Promise<number> {
  const { values } = await scrapes.held.kernel.metrics.jobsQueued.get();
  return values.find(({ labels }) => labels.pipeline === 'knowledge')?.value ?? 0;
}

/** Ingests the first payload and stands still in the middle, so that the second one has to wait for its end. */
async function pushSecondWhileFirstRuns(claims: Claims): Promise<{ letGo(): Promise<number> }> {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    scrapes.words.hooks.onCall = async (texts) => {
      if (!texts.includes('First.')) return;
      resolve();
      await gate;
    };
  });
  onTestFinished(() => {
    open();
    delete scrapes.words.hooks.onCall;
  });
  await scrapes.push(claims, [referenceNamed('a', 'First.')]);
  const [first] = await jobsOf(claims);
  const { tenantId } = claims;
  const driven = scrapes.held.kernel.kickOff({ tenantId, jobId: first?.job_id ?? '', durationMs: 30_000 });
  await reached;
  await scrapes.push(claims, [referenceNamed('a', 'Second.')]);
  expect(await jobsOf(claims), 'the second waits').toHaveLength(1);
  return {
    async letGo() {
      open();
      return (await driven).processed;
    },
  };
}

/** Nobody is elected to run jobs that a worker died with: that one looks for work twice a second. */
async function leaveStruckJobs(): Promise<void> {
  await database.owner(`
    create or replace function skip_row() returns trigger language plpgsql as 'begin return null; end';
    create or replace trigger nobody before insert or update on offices for each row
      when (new.office like 'struck_jobs/%') execute function skip_row()`);
}

/** Another process's worker that looks by itself only every ten minutes. */
async function startSleepyWorker(): Promise<void> {
  await leaveStruckJobs();
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-follow-ups-'));
  const kernel = testKernel(database, { pipelines: [], pollMs: 600_000, leaseMs: 30_000 });
  const house = testKnowledgeHouse(database.db, {
    kernel,
    files: createFiles({ filesBackend: 'local', dataDir }),
    customEmbedders: [scrapes.words.definition],
    references: createReferenceReader(database.db),
  });
  kernel.install(house);
  await kernel.start({ work: true });
  onTestFinished(async () => {
    await kernel.stop(1_000);
    await house.close?.();
    rmSync(dataDir, { recursive: true, force: true });
  });
}

test('workers elsewhere are woken for the job of a payload that waited for another job', async () => {
  const claims = await scrapes.tenant();
  const first = await pushSecondWhileFirstRuns(claims);
  await startSleepyWorker();
  expect(await first.letGo(), 'one slice: nothing else was announced').toBe(1);
  const statuses = async () => (await jobsOf(claims)).map(({ status }) => status).join();
  await eventually(async () => (await statuses()) === 'success,success', 'the second payload is ingested');
  expect((await scrapes.search(claims, 'second')).map(({ text }) => text)).toEqual(['Second.']);
});

test('the job that is made when another ends is counted as queued, once', async () => {
  const claims = await scrapes.tenant();
  const before = await queuedCount();
  const first = await pushSecondWhileFirstRuns(claims);
  expect((await queuedCount()) - before, 'the first').toBe(1);
  await first.letGo();
  expect((await queuedCount()) - before, 'the first and the second').toBe(2);
  await scrapes.drive(claims.tenantId);
  expect((await queuedCount()) - before, 'nothing waited for the second').toBe(2);
});

test('so is the job that follows one that is given up because its workers died', async () => {
  const claims = await scrapes.tenant();
  await scrapes.push(claims, [referenceNamed('a', 'First.')]);
  await database.owner(
    `update ingestion_jobs
        set status = 'running', started_at = now(), leased_by = gen_random_uuid(), lease_epoch = 1,
            lease_expires_at = now() + interval '1 hour', struck_by = array[gen_random_uuid(), gen_random_uuid()]
      where tenant_id = $1`,
    [claims.tenantId],
  );
  await scrapes.push(claims, [referenceNamed('a', 'Second.')]);
  expect(await jobsOf(claims), 'the second waits').toHaveLength(1);
  const before = await queuedCount();
  // From here on, whichever look comes first, the one of the cycle or the kernel's own, gives the job up.
  await database.owner(`update ingestion_jobs set lease_expires_at = now() where tenant_id = $1`, [
    claims.tenantId,
  ]);
  await eventually(async () => (await queuedCount()) - before === 1, 'the second is counted');
  await scrapes.drive(claims.tenantId);
  expect((await jobsOf(claims)).map(({ status }) => status)).toEqual(['dead_letter', 'success']);
  expect((await queuedCount()) - before).toBe(1);
});
