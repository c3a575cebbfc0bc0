import { describe, expect, test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { quickPolicy } from '../support/worlds/connector-house.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
// Waiting would take an hour: what is over within a test did not wait, or the test has turned the time on.
const policy = { ...quickPolicy, lostTriggerMs: 3_600_000 };
// Some triggers take effect only after the client has stopped waiting.
const syncs = useSyncs(database, { policy, triggerTimeoutMs: 2_000 });

const runsOf = ({ connection }: TestSync) => syncs.airbyte.jobsOf(connection.connectionId);
const asked = (kind: 'trigger' | 'list_jobs' | 'cancel', { connection }: TestSync) =>
  syncs.airbyte.requestsOf(kind, connection.connectionId).length;

/** From now on a trigger takes effect only on the test's command. */
function delayTrigger({ connection }: TestSync): () => void {
  let happen = () => {};
  const until = new Promise<void>((resolve) => {
    happen = resolve;
  });
  const scope = { kind: 'trigger', connectionId: connection.connectionId, times: 1 } as const;
  syncs.airbyte.trouble(scope, { type: 'late', until });
  return happen;
}

/** The state of a sync whose process was killed while triggering. */
async function dieWhileTriggering(jobId: string, fields: object): Promise<void> {
  await database.owner(
    `update ingestion_jobs
        set status = 'running', stage = 'triggering', started_at = now(), checkpoint = $2
      where job_id = $1`,
    [jobId, JSON.stringify(fields)],
  );
}

async function passAnHour(jobId: string): Promise<void> {
  await database.owner(
    `update ingestion_jobs
        set checkpoint = checkpoint || jsonb_build_object('unansweredSince', now() - interval '61 minutes')
      where job_id = $1`,
    [jobId],
  );
}

async function cleanUp(sync: TestSync, isEnough: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await isEnough())) {
    if (Date.now() > deadline) throw new Error('The cleanup did not get there within half a minute');
    await syncs.drive(sync.tenantId);
  }
}

async function isCleanedUp(jobId: string): Promise<boolean> {
  const [row] = await database.owner<{ cleanup_open: boolean }>(
    'select cleanup_open from ingestion_jobs where job_id = $1',
    [jobId],
  );
  return row?.cleanup_open === false;
}

/** A sync that was canceled while its trigger was in flight, and checked a few times since. */
async function cancelInFlight(): Promise<{ sync: TestSync; jobId: string; happen: () => void }> {
  const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
  const happen = delayTrigger(sync);
  const before = syncs.airbyte.requestsOf('trigger').length;
  const jobId = await syncs.start(sync);
  const driving = syncs.drive(sync.tenantId);
  await syncs.airbyte.untilRequests('trigger', before + 1);
  const canceled = await syncs.call(sync, `/api/jobs/${jobId}/cancel`, 'POST');
  expect(canceled.body).toMatchObject({ status: 'canceled', cleanupOpen: true });
  await driving;
  await cleanUp(sync, () => asked('list_jobs', sync) >= 3);
  return { sync, jobId, happen };
}

describe('a sync that is canceled while its trigger is under way', () => {
  test('is watched until its run appears, which is then canceled too', async () => {
    const { sync, jobId, happen } = await cancelInFlight();
    expect(await isCleanedUp(jobId)).toBe(false);
    expect(asked('cancel', sync)).toBe(0);
    happen();
    await cleanUp(sync, () => isCleanedUp(jobId));
    expect(runsOf(sync).map(({ status }) => status)).toEqual(['cancelled']);
    expect(await syncs.get(sync, jobId)).toMatchObject({ run_id: String(runsOf(sync)[0]?.runId) });
    await syncs.start(sync);
  });

  test('ends without a run once Airbyte can no longer be busy with it', async () => {
    const { sync, jobId } = await cancelInFlight();
    await passAnHour(jobId);
    await cleanUp(sync, () => isCleanedUp(jobId));
    expect(asked('cancel', sync)).toBe(0);
    await syncs.start(sync);
  });
});

describe('a sync whose process died while it was triggered', () => {
  const untilLookedFor = (sync: TestSync, jobId: string) =>
    syncs.driveUntil(
      sync,
      jobId,
      ({ waiting_for }) => waiting_for === 'lost_trigger' && asked('list_jobs', sync) >= 3,
    );

  test.each(['with', 'without'])(
    'waits for the run %s the time of the last trigger, and follows it when it appears',
    async (how) => {
      const sync = await syncs.connector({}, { plan: { statuses: ['running', 'succeeded'], rows: 6 } });
      const jobId = await syncs.start(sync);
      const triggerStartedAt = new Date().toISOString();
      // As it was kept before there was a time of the last trigger.
      const older = { triggerStartedAt };
      await dieWhileTriggering(
        jobId,
        how === 'with' ? { ...older, unansweredSince: triggerStartedAt } : older,
      );
      expect(await untilLookedFor(sync, jobId)).toMatchObject({ status: 'running', retry_count: 0 });
      expect(asked('trigger', sync)).toBe(0);
      syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'running' });
      const ended = await syncs.driveUntil(sync, jobId, hasEnded);
      expect(ended).toMatchObject({ status: 'success', records_synced: 6, retry_count: 0, adopted: false });
      expect(asked('trigger', sync)).toBe(0);
      expect(runsOf(sync)).toHaveLength(1);
    },
  );

  test('triggers again, without using an attempt, once the lost trigger can no longer start a run', async () => {
    const sync = await syncs.connector();
    const jobId = await syncs.start(sync);
    const now = new Date().toISOString();
    await dieWhileTriggering(jobId, { triggerStartedAt: now, unansweredSince: now });
    await untilLookedFor(sync, jobId);
    await passAnHour(jobId);
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
      status: 'success',
      retry_count: 0,
    });
    expect(asked('trigger', sync)).toBe(1);
  });
});

describe('a trigger', () => {
  test('is followed and not sent again when it takes effect after its timeout', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'succeeded'] } });
    const happen = delayTrigger(sync);
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ waiting_for }: Answer) => waiting_for === 'lost_trigger');
    happen();
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 1 });
    expect(asked('trigger', sync)).toBe(1);
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('is sent again at once when the response was an error', async () => {
    const sync = await syncs.connector();
    const scope = { kind: 'trigger', connectionId: sync.connection.connectionId, times: 1 } as const;
    syncs.airbyte.trouble(scope, airbyteTroubles.serverError());
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 1 });
  });

  test('is sent again at once when the connection was refused', async () => {
    const sync = await syncs.connector();
    const jobId = await syncs.start(sync);
    await syncs.airbyte.goDown();
    const failed = await syncs.driveUntil(sync, jobId, ({ retry_count }) => retry_count === 1);
    expect(failed).toMatchObject({ error_code: 'connection_error', trigger_started_at: null });
    await syncs.airbyte.comeBack();
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({ status: 'success' });
  });
});
