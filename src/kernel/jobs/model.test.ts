import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { runJobModel } from '../../../test/support/worlds/job-model-run.ts';
import { World } from '../../../test/support/worlds/job-world.ts';
import { probeTable } from '../../../test/support/worlds/probe-pipeline.ts';
import { newId } from '../../lib/ids.ts';
import { cancel, dispatch, pause } from './dispatch/service.ts';

const isFull = process.env.SLUICE_CHAOS === 'full';
const sequences = isFull ? 1_000 : 150;
const seed = isFull
  ? Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31))
  : 20_260_103;
const database = useDatabase();
let guard: pg.Client;

beforeAll(async () => {
  await database.owner(probeTable);
  guard = new pg.Client({ connectionString: database.ownerUrl });
  await guard.connect();
});
afterAll(() => guard?.end());

test('jobs do what the model says, every legal move is made and every illegal one refused', {
  timeout: 600_000,
}, async () => {
  // The seed is fixed so that a run is the same everywhere; `npm run chaos` takes more, and others each time.
  const report = await runJobModel({ database, guard, sequences, seed });
  console.log(report.text);
  expect(report.missedLegal, 'legal moves that were never made').toEqual([]);
  expect(report.missedIllegal, 'illegal moves that were never tried').toEqual([]);
  expect(report.commands).toBeGreaterThanOrEqual(sequences * 40);
});

test('a waiting retry beside another active job of its subject cannot be made a second active one', async () => {
  const world = await World.open(database, guard);
  const { deps, tenantId } = world;
  const subject = { pipeline: 'probe', subjectId: 'pair', maxRetries: 5, createdBy: 'tester' };
  const active = await dispatch(deps, tenantId, subject);
  // A dispatch that meets the failing slice of an older job leaves such a pair behind.
  const retryId = newId();
  await guard.query(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, created_by, status,
       started_at, next_retry_at, run_at)
     values ($1, $2, 'probe', 'pair', 'c', 't', 'failed', now(), now() + interval '1 h', now() + interval '1 h')`,
    [tenantId, retryId],
  );
  const refused = { code: 'job_already_active', details: { active_job_id: active.jobId, status: 'queued' } };
  const retry = { tenantId, jobId: retryId };
  await expect(pause(deps, retry)).rejects.toMatchObject(refused);
  await expect(cancel(deps, retry)).rejects.toMatchObject(refused);
  await expect(dispatch(deps, tenantId, subject)).rejects.toMatchObject(refused);
  await cancel(deps, active);
  await expect(cancel(deps, retry)).resolves.toMatchObject({ status: 'canceled', cleanupOpen: true });
  await world.close();
});
