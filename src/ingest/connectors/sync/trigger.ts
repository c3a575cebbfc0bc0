import { recordEvent } from '../../../kernel/events/service.ts';
import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { AirbyteAnswer, AirbyteJob, AirbyteProblem } from '../airbyte/types.ts';
import { isSync, isTerminal } from '../airbyte/types.ts';
import { findConnector } from '../store.ts';
import type { Connector } from '../types.ts';
import { type AirbyteCalls, waiting } from './airbyte-calls.ts';
import { isCapReached } from './cap.ts';
import { checkpointOf, doubtMs, kept, type SyncCheckpoint, withoutIntent } from './checkpoint.ts';
import type { SyncWorkerDeps } from './deps.ts';
import { announcesStart } from './dispatch.ts';
import { isConfigError, noticeAbout } from './notice.ts';
import { configErrorOutcome, dead, outcomeOf } from './outcomes.ts';
import { listHeldRuns } from './run-store.ts';
import { chooseRun, type FoundRun, mayBeOurs } from './runs.ts';

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
  const settled = endByConfigError(attempt);
  if (settled !== null) return settled;
  const since = intentOf(attempt);
  if (since !== null || attempt.checkpoint.blockedBy !== null) {
    const known = (await lookUp(attempt, since)) ?? (await waitForLost(attempt));
    if (known !== null) return known;
  }
  return (await waitForRoom(attempt)) ?? (await refuseTooEarly(attempt)) ?? post(attempt, since);
}

/** Looks before a place in the rate limits is taken; `post` looks once more, where nobody can come between. */
async function waitForRoom(attempt: Attempt): Promise<SliceResult | null> {
  const { deps, slice, connector } = attempt;
  const { maxRunning, maxRunningPerWorkspace } = deps.policy;
  if (maxRunning === null && maxRunningPerWorkspace === null) return null;
  const isFull = await slice.transaction((tx) =>
    isCapReached(tx, deps.policy, { ...connector, isFinal: false, isCounted: isCounted(attempt) }),
  );
  return isFull ? waitOutside(attempt) : null;
}

/** Jobs at this stage count as running; after a failed trigger a job is still at it. */
const triggering = 'triggering';
const isCounted = ({ slice }: Attempt): boolean => slice.job.stage === triggering;

/** Takes no room while it waits: syncs that count each other would wait for ever. */
function waitOutside(attempt: Attempt): SliceResult {
  return { ...waitKeeping(attempt, { waitingFor: 'sync_cap' }), stage: 'waiting' };
}

/** Airbyte's notification may come after the poll that saw the failure: then the retry that waits is pointless. */
function endByConfigError({ calls, connector, checkpoint }: Attempt): SliceResult | null {
  const notice = noticeAbout(connector.lastNotice, {
    runId: checkpoint.failedRuns.at(-1),
    scrub: (text) => calls.scrub(text),
  });
  return isConfigError(notice) ? { outcome: configErrorOutcome(notice) } : null;
}

function intentOf({ checkpoint }: Attempt): Date | null {
  return checkpoint.triggerStartedAt === null ? null : new Date(checkpoint.triggerStartedAt);
}

/** Returns null when there is no run to follow yet, and no job of another kind in its way. */
async function lookUp(attempt: Attempt, since: Date | null): Promise<SliceResult | null> {
  const answer = await listRuns(attempt);
  if (answer.type !== 'ok') return fail(attempt, answer.problem);
  const found = await choose(attempt, answer.value, since);
  if (found !== null) return meet(attempt, found);
  const other = answer.value.find((run) => !isSync(run) && !isTerminal(run.status));
  if (other !== undefined) return waitForOther(attempt, other, since);
  attempt.checkpoint = { ...attempt.checkpoint, blockedBy: null };
  return null;
}

/** A reset, refresh or clear ends by itself; nothing is wrong, so waiting for it uses no attempt. */
function waitForOther(attempt: Attempt, { runId, jobType }: AirbyteJob, since: Date | null): SliceResult {
  const { deps, checkpoint } = attempt;
  const nowMs = deps.clock.nowMs();
  const known = checkpoint.blockedBy?.runId === runId ? checkpoint.blockedBy : null;
  const blockedBy = known ?? { runId, jobType, since: new Date(nowMs).toISOString() };
  if (nowMs - Date.parse(blockedBy.since) > deps.policy.deadlineMs) {
    const hours = deps.policy.deadlineMs / 3_600_000;
    const message = `The ${jobType} ${runId} of Airbyte has kept the sync waiting for ${hours} hours`;
    return { outcome: dead('already_running', message, 'conflict') };
  }
  const waits = waitKeeping(attempt, {
    // Airbyte refused the trigger because of that job: only an earlier one may still have created a run.
    triggerStartedAt: since?.toISOString() ?? null,
    unansweredSince: since === null ? null : checkpoint.unansweredSince,
    conflict: null,
    blockedBy,
    waitingFor: 'airbyte_job_running',
  });
  return { ...waits, stage: 'waiting' };
}

/**
 * Airbyte may still be creating the run, so finding none proves nothing before the time is over. A 409 that has not led
 * to a run by then uses a retry; a trigger without any response used one at once.
 */
async function waitForLost(attempt: Attempt): Promise<SliceResult | null> {
  const { deps, checkpoint } = attempt;
  const { lostTriggerMs } = deps.policy;
  const leftMs = doubtMs(checkpoint, { nowMs: deps.clock.nowMs(), lostTriggerMs });
  if (leftMs > 0) return waitKeeping(attempt, { waitingFor: 'lost_trigger' }, leftMs);
  if (checkpoint.conflict === null) return null;
  attempt.checkpoint = { ...checkpoint, conflict: null, unansweredSince: null };
  return fail(attempt, { ...checkpoint.conflict, status: 409, class: 'conflict', retryAfterMs: null });
}

/** Until the next look, at most a poll away. Keeps what this slice has learnt, which `slice.job` does not have. */
function waitKeeping(
  { deps, checkpoint }: Attempt,
  change: Partial<SyncCheckpoint>,
  atMostMs = Number.POSITIVE_INFINITY,
): SliceResult {
  const delayMs = Math.min(deps.policy.pollMs, atMostMs);
  return { outcome: { type: 'wait', delayMs }, checkpoint: kept({ ...checkpoint, ...change }) };
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
    // The account is a text that the tenant chose: the same one of another tenant must not hold this one up.
    key: `account:${connector.tenantId}:${connector.externalAccountId}`,
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
  const withIntent = {
    ...attempt.checkpoint,
    triggerStartedAt: intent.toISOString(),
    unansweredSince: now.toISOString(),
  };
  const isFull = await slice.transaction(
    (tx) => isCapReached(tx, deps.policy, { ...connector, isFinal: true, isCounted: isCounted(attempt) }),
    (full) => (full ? {} : { checkpoint: kept(withIntent), stage: triggering }),
  );
  if (isFull) return waitOutside(attempt);
  attempt.checkpoint = withIntent;
  const answer = await calls.ask('trigger', (client, options) =>
    client.triggerSync(connector.airbyteConnectionId, options),
  );
  if (answer.type === 'ok') return take(attempt, answer.value, { since, intent });
  const { problem } = answer;
  if (problem.class === 'conflict') return meetConflict(attempt, problem, { since, intent });
  // Any other response means that Airbyte is done with it; what was not sent had no effect.
  if (problem.status !== null || answer.type === 'definite') {
    attempt.checkpoint = { ...attempt.checkpoint, unansweredSince: null };
  }
  if (answer.type === 'ambiguous') {
    const known = await lookUp(attempt, intent);
    return known ?? fail(attempt, problem);
  }
  // Airbyte refused this trigger; only an earlier one may still have created a run.
  if (since === null) attempt.checkpoint = withoutIntent(attempt.checkpoint);
  return fail(attempt, problem);
}

/** Since when runs may be ours: an earlier trigger whose response is unknown, and the oldest trigger at all. */
interface Moments {
  since: Date | null;
  intent: Date;
}

/** Airbyte returns the job that it made, or one that was queued on the connection before. */
function take(attempt: Attempt, run: AirbyteJob, { since, intent }: Moments): SliceResult {
  if (!isSync(run)) return waitForOther(attempt, run, since);
  const isOurs = mayBeOurs(run, intent);
  if (!isOurs) attempt.deps.metrics.adoptions.inc({ reason: 'queued' });
  return follow(attempt, { run, isOurs });
}

/**
 * A 409 does not say that nothing happened: Airbyte also sends it when it has waited a minute for the id of a run that
 * it did start. So the intent stays until the connection's jobs have been watched for as long as after a lost response.
 */
async function meetConflict(
  attempt: Attempt,
  problem: AirbyteProblem,
  { since, intent }: Moments,
): Promise<SliceResult> {
  const { code, message } = problem;
  attempt.checkpoint = { ...attempt.checkpoint, conflict: { code, message } };
  const isRunning = code === 'already_running';
  const refused = isRunning ? null : await refuseInactive(attempt);
  if (refused !== null) return refused;
  // What ran before this trigger is not its run.
  const known = await lookUp(attempt, isRunning ? since : intent);
  return known ?? (await waitForLost(attempt)) ?? fail(attempt, problem);
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
    checkpoint: kept({ ...withoutIntent(attempt.checkpoint), blockedBy: null, run: followed, pollErrors: 0 }),
    effects: async (tx) => {
      const { tenantId, jobId, userId, correlationId } = job;
      const about = { tenantId, subject: jobId, userId, correlationId };
      const { pipeline, subjectId, leasedBy } = job;
      const started = { ...data, pipeline, subject_id: subjectId, worker_id: leasedBy };
      if (announcesStart(job)) await recordEvent(deps, tx, { ...about, type: 'job.started', data: started });
      await recordEvent(deps, tx, { ...about, type: 'sync.triggered', data });
    },
  };
}

/** 409 `state-conflict`: the connection's own status may say why. Returns null when it is active. */
async function refuseInactive(attempt: Attempt): Promise<SliceResult | null> {
  const { calls, connector } = attempt;
  const { airbyteConnectionId } = connector;
  const answer = await calls.ask('get_connection', (client, options) =>
    client.getConnection(airbyteConnectionId, options),
  );
  if (answer.type !== 'ok') return fail(attempt, answer.problem);
  const { status } = answer.value;
  if (status === 'active') return null;
  const message = `Connection ${airbyteConnectionId} is ${status} in Airbyte, and only active ones sync`;
  return { outcome: dead('connection_inactive', message, 'conflict'), ...without(attempt) };
}

async function fail(attempt: Attempt, problem: AirbyteProblem): Promise<SliceResult> {
  const { deps, slice, calls } = attempt;
  if (problem.class === 'address') return waitForAddress(attempt);
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

/** The breaker has opened for every sync: this one is the first to wait for the right address. */
function waitForAddress({ deps, checkpoint }: Attempt): SliceResult {
  const paused = { ...checkpoint, waitingFor: 'airbyte_wrong_address' };
  return { outcome: { type: 'wait', delayMs: deps.coolDownMs }, checkpoint: kept(paused) };
}
