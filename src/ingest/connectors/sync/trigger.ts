import { recordEvent } from '../../../kernel/events/service.ts';
import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { AirbyteAnswer, AirbyteJob, AirbyteProblem } from '../airbyte/types.ts';
import { isTerminal } from '../airbyte/types.ts';
import { findConnector } from '../store.ts';
import type { Connector } from '../types.ts';
import { type AirbyteCalls, waiting } from './airbyte-calls.ts';
import { checkpointOf, doubtMs, kept, type SyncCheckpoint, withoutIntent } from './checkpoint.ts';
import type { SyncWorkerDeps } from './deps.ts';
import { dead, outcomeOf } from './outcomes.ts';
import { listHeldRuns } from './run-store.ts';
import { chooseRun, type FoundRun } from './runs.ts';

interface Attempt {
  deps: SyncWorkerDeps;
  slice: Slice;
  calls: AirbyteCalls;
  connector: Connector;
  checkpoint: SyncCheckpoint;
}

/**
 * Makes Airbyte start a sync, or finds the one that it has already started. `POST /jobs` takes no idempotency key: the
 * intent is committed before it, and as long as no response is known, the connection's jobs are looked up before
 * anything is triggered again.
 */
export async function triggerSync(
  deps: SyncWorkerDeps,
  slice: Slice,
  calls: AirbyteCalls,
): Promise<SliceResult> {
  const { tenantId, subjectId: connectorId, checkpoint } = slice.job;
  const connector = await slice.transaction((tx) => findConnector(tx, { tenantId, connectorId }));
  if (connector === null) {
    return { outcome: dead('connector_gone', `Connector ${connectorId} was deleted before its sync began`) };
  }
  const attempt = {
    deps,
    slice,
    calls,
    connector,
    checkpoint: { ...checkpointOf(checkpoint), waitingFor: null },
  };
  const since = intentOf(attempt);
  if (since !== null) {
    const known = (await lookUp(attempt, since)) ?? waitForLost(attempt);
    if (known !== null) return known;
  }
  return (await refuseTooEarly(attempt)) ?? post(attempt, since);
}

function intentOf({ checkpoint }: Attempt): Date | null {
  return checkpoint.triggerStartedAt === null ? null : new Date(checkpoint.triggerStartedAt);
}

/** Returns null when there is no run to follow yet. */
async function lookUp(attempt: Attempt, since: Date): Promise<SliceResult | null> {
  const answer = await listRuns(attempt);
  if (answer.type !== 'ok') return fail(attempt, answer.problem);
  const found = await choose(attempt, answer.value, since);
  return found === null ? null : meet(attempt, found);
}

/** Airbyte may still be creating the run, so finding none proves nothing before the time is over. */
function waitForLost({ deps, slice, checkpoint }: Attempt): SliceResult | null {
  const { pollMs, lostTriggerMs } = deps.policy;
  const leftMs = doubtMs(checkpoint, { nowMs: deps.clock.nowMs(), lostTriggerMs });
  if (leftMs === 0) return null;
  return waiting(slice, { waitingFor: 'lost_trigger', delayMs: Math.min(pollMs, leftMs) });
}

function listRuns({ calls, connector }: Attempt): Promise<AirbyteAnswer<AirbyteJob[]>> {
  const { airbyteConnectionId: connectionId } = connector;
  return calls.ask('list_jobs', (client, options) => client.listJobs({ connectionId }, options));
}

async function choose(
  { deps, slice, checkpoint }: Attempt,
  runs: AirbyteJob[],
  since: Date | null,
): Promise<FoundRun | null> {
  const wanted = { runIds: runs.map(({ runId }) => runId), seeker: slice.job };
  const held = await deps.db.kernel((tx) => listHeldRuns(tx, wanted));
  return chooseRun({ runs, since, held, past: checkpoint.failedRuns });
}

/** Takes a place in the connector's window and in its external account's; waiting uses no attempt. */
async function refuseTooEarly({ deps, slice, connector }: Attempt): Promise<SliceResult | null> {
  const { policy, limits } = deps;
  const ownMs = (connector.minIntervalSeconds ?? 0) * 1000;
  const windowMs = Math.max(policy.minIntervalMs, ownMs);
  const account = {
    key: `account:${connector.externalAccountId}`,
    limit: policy.accountLimit,
    windowMs: policy.accountWindowMs,
  };
  const own = { key: `connector:${connector.tenantId}:${connector.connectorId}`, limit: 1, windowMs };
  const answer = await limits.reserveAll(windowMs > 0 ? [own, account] : [account]);
  if (answer.granted) return null;
  return waiting(slice, { waitingFor: 'rate_limit', delayMs: answer.retryInMs });
}

/** `since`: an earlier trigger of this job whose response is unknown. */
async function post(attempt: Attempt, since: Date | null): Promise<SliceResult> {
  const { deps, slice, calls, connector } = attempt;
  const now = new Date(deps.clock.nowMs());
  // The oldest trigger without a response counts: its run may appear late.
  const intent = since ?? now;
  attempt.checkpoint = {
    ...attempt.checkpoint,
    triggerStartedAt: intent.toISOString(),
    unansweredSince: now.toISOString(),
  };
  await slice.transaction(async () => {}, { checkpoint: kept(attempt.checkpoint), stage: 'triggering' });
  const answer = await calls.ask('trigger', (client, options) =>
    client.triggerSync(connector.airbyteConnectionId, options),
  );
  if (answer.type === 'ok') return follow(attempt, { run: answer.value, isOurs: true });
  // Any response means that Airbyte is done with it; what was not sent had no effect.
  if (answer.problem.status !== null || answer.type === 'definite') {
    attempt.checkpoint = { ...attempt.checkpoint, unansweredSince: null };
  }
  if (answer.type === 'ambiguous') {
    const known = await lookUp(attempt, intent);
    return known ?? fail(attempt, answer.problem);
  }
  const { problem } = answer;
  // Airbyte refused this trigger; only an earlier one may still have created a run.
  if (since === null) attempt.checkpoint = withoutIntent(attempt.checkpoint);
  if (problem.code === 'already_running') return meetActive(attempt, problem, since);
  if (problem.code === 'state_conflict') return lookAtConnection(attempt, problem);
  return fail(attempt, problem);
}

async function meetActive(
  attempt: Attempt,
  problem: AirbyteProblem,
  since: Date | null,
): Promise<SliceResult> {
  const answer = await listRuns(attempt);
  if (answer.type !== 'ok') return fail(attempt, answer.problem);
  const found = await choose(attempt, answer.value, since);
  // It has just ended, or it is not a sync: the next try will show.
  return found === null ? fail(attempt, problem) : meet(attempt, found);
}

/** A run that we triggered is always followed; for others the connector has a policy. */
async function meet(attempt: Attempt, found: FoundRun): Promise<SliceResult> {
  const { connector, deps } = attempt;
  if (found.isOurs || connector.onActiveSync === 'adopt') {
    deps.metrics.adoptions.inc({ reason: found.isOurs ? 'lost_answer' : 'active' });
    return follow(attempt, found);
  }
  const { runId, status } = found.run;
  if (connector.onActiveSync === 'fail') {
    const message = `Run ${runId} of Airbyte (${status}) was already active, and on_active_sync is fail`;
    return { outcome: dead('already_running', message, 'conflict'), ...without(attempt) };
  }
  const result = { records_synced: 0, bytes_synced: 0, code: 'skipped_active', active_run_id: runId };
  return {
    outcome: { type: 'done', result },
    counters: { records_synced: 0, bytes_synced: 0 },
    checkpoint: kept({ ...withoutIntent(attempt.checkpoint), result: skipped }),
  };
}

const skipped = {
  recordsSynced: 0,
  bytesSynced: 0,
  durationSeconds: null,
  startedAt: null,
  endedAt: null,
  code: 'skipped_active',
  failureReason: null,
};

function without({ checkpoint }: Attempt): { checkpoint: Record<string, unknown> } {
  return { checkpoint: kept(withoutIntent(checkpoint)) };
}

/** From here on the run id is known, and the sync is only polled. */
function follow(attempt: Attempt, { run, isOurs }: FoundRun): SliceResult {
  const { deps, slice, connector } = attempt;
  const { job } = slice;
  const followed = {
    runId: run.runId,
    followedSince: new Date(deps.clock.nowMs()).toISOString(),
    isAdopted: !isOurs,
    status: run.status,
  };
  const data = {
    job_id: job.jobId,
    tenant_id: job.tenantId,
    connector_id: connector.connectorId,
    run_id: run.runId,
    adopted: !isOurs,
    retry_count: job.retryCount,
  };
  return {
    outcome: isTerminal(run.status) ? { type: 'continue' } : { type: 'wait', delayMs: deps.policy.pollMs },
    runId: run.runId,
    stage: 'syncing',
    checkpoint: kept({ ...withoutIntent(attempt.checkpoint), run: followed, pollErrors: 0 }),
    effects: async (tx) => {
      const { tenantId, jobId, userId, correlationId } = job;
      const event = { tenantId, type: 'sync.triggered', subject: jobId, userId, correlationId, data };
      await recordEvent(deps, tx, event);
    },
  };
}

/** 409 `state-conflict`: the connection's own status says why. */
async function lookAtConnection(attempt: Attempt, problem: AirbyteProblem): Promise<SliceResult> {
  const { calls, connector } = attempt;
  const { airbyteConnectionId } = connector;
  const answer = await calls.ask('get_connection', (client, options) =>
    client.getConnection(airbyteConnectionId, options),
  );
  if (answer.type !== 'ok') return fail(attempt, answer.problem);
  const { status } = answer.value;
  if (status === 'active') return fail(attempt, problem);
  const message = `Connection ${airbyteConnectionId} is ${status} in Airbyte, and only active ones sync`;
  return { outcome: dead('connection_inactive', message, 'conflict'), ...without(attempt) };
}

async function fail(attempt: Attempt, problem: AirbyteProblem): Promise<SliceResult> {
  const { deps, slice, calls } = attempt;
  const checkpoint = kept(attempt.checkpoint);
  if (problem.class !== 'auth') return { outcome: outcomeOf(problem, slice.job, deps.policy), checkpoint };
  const isLockedOut = await calls.areCredentialsBad(problem);
  if (isLockedOut === 'no') return { outcome: outcomeOf(problem, slice.job, deps.policy), checkpoint };
  if (isLockedOut === 'unknown') {
    // It is not clear yet whether only this connection is affected.
    const unclear = { ...problem, class: 'server_error' } as const;
    return { outcome: outcomeOf(unclear, slice.job, deps.policy), checkpoint };
  }
  const paused = { ...attempt.checkpoint, waitingFor: 'airbyte_credentials_refused' };
  return { outcome: { type: 'wait', delayMs: deps.coolDownMs }, checkpoint: kept(paused) };
}
