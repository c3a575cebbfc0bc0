import { jobErrors } from '../../../kernel/jobs/errors.ts';
import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { AirbyteJob, AirbyteProblem } from '../airbyte/types.ts';
import { verdictOf } from '../airbyte/types.ts';
import { findConnector } from '../store.ts';
import type { Notice } from '../types.ts';
import { type AirbyteCalls, logFields } from './airbyte-calls.ts';
import {
  checkpointOf,
  type EmptyCode,
  kept,
  type SyncCheckpoint,
  type SyncResult,
  withoutIntent,
} from './checkpoint.ts';
import type { SyncWorkerDeps } from './deps.ts';
import { isConfigError, noticeAbout } from './notice.ts';
import { configErrorOutcome, dead, outcomeOf, syncFailedOutcome } from './outcomes.ts';
import { cancelWithRun } from './run-store.ts';

interface Poll {
  deps: SyncWorkerDeps;
  slice: Slice;
  calls: AirbyteCalls;
  runId: string;
  checkpoint: SyncCheckpoint;
}

const maxPollBackoff = 30;
const maxMissing = 3;

/**
 * Polls the run. An error here says nothing about the sync, so it never triggers, uses no retry and keeps
 * the run id: it has its own backoff, and the deadline ends it.
 */
export async function pollRun(
  deps: SyncWorkerDeps,
  slice: Slice,
  { calls, runId }: { calls: AirbyteCalls; runId: string },
): Promise<SliceResult> {
  const checkpoint = { ...checkpointOf(slice.job.checkpoint), waitingFor: null, notBefore: null };
  const poll = { deps, slice, calls, runId, checkpoint };
  const answer = await calls.ask('get_job', (client, options) => client.getJob(runId, options));
  if (answer.type !== 'ok') return onProblem(poll, answer.problem);
  switch (verdictOf(answer.value.status)) {
    case 'succeeded':
      return succeed(poll, answer.value);
    case 'failed':
      return failRun(poll, answer.value);
    case 'canceled':
      return cancelJob(poll);
    case 'going_on':
      return goOn(poll, answer.value);
  }
}

/** Long syncs are polled less often: after an hour, half a minute does not matter. */
function pollDelayMs({ pollMs, ageMs }: { pollMs: number; ageMs: number }): number {
  const byAge = Math.min(Math.max(pollMs, ageMs / 20), pollMs * 6);
  return byAge * (0.9 + Math.random() / 5);
}

/** True once the run has passed its deadline. */
export function isOverdue(deps: SyncWorkerDeps, { run }: SyncCheckpoint): boolean {
  return run !== null && deps.clock.nowMs() - Date.parse(run.followedSince) > deps.policy.deadlineMs;
}

export function overdue(deps: SyncWorkerDeps, runId: string): SliceResult['outcome'] {
  const hours = deps.policy.deadlineMs / 3_600_000;
  return dead(
    'sync_deadline_exceeded',
    `Run ${runId} of Airbyte has not ended within ${hours} hours; it may still be running`,
    'timeout',
  );
}

function goOn({ deps, runId, checkpoint }: Poll, run: AirbyteJob): SliceResult {
  if (isOverdue(deps, checkpoint)) return { outcome: overdue(deps, runId) };
  const { pollMs } = deps.policy;
  const followed = checkpoint.run ?? {
    runId,
    followedSince: new Date(deps.clock.nowMs()).toISOString(),
    isAdopted: false,
    status: run.status,
  };
  const ageMs = deps.clock.nowMs() - Date.parse(followed.followedSince);
  const after = { ...checkpoint, pollErrors: 0, run: { ...followed, status: run.status } };
  return { outcome: { type: 'wait', delayMs: pollDelayMs({ pollMs, ageMs }) }, checkpoint: kept(after) };
}

async function succeed(poll: Poll, run: AirbyteJob): Promise<SliceResult> {
  const { deps, slice, checkpoint } = poll;
  const notice = await readNotice(poll);
  const result: SyncResult = {
    recordsSynced: run.rowsSynced ?? notice?.recordsCommitted ?? null,
    bytesSynced: run.bytesSynced ?? notice?.bytesCommitted ?? null,
    ...timesOf(run),
    code: null,
    failureReason: null,
  };
  result.code = emptyCodeOf(result);
  const counters = {
    ...(result.recordsSynced === null ? {} : { records_synced: result.recordsSynced }),
    ...(result.bytesSynced === null ? {} : { bytes_synced: result.bytesSynced }),
  };
  const told = {
    records_synced: result.recordsSynced,
    bytes_synced: result.bytesSynced,
    ...(result.durationSeconds === null ? {} : { duration_seconds: result.durationSeconds }),
    ...(result.code === null ? {} : { code: result.code }),
  };
  return {
    outcome: { type: 'done', result: told },
    counters,
    checkpoint: kept({ ...checkpoint, pollErrors: 0, run: withStatus(checkpoint, run), result }),
    effects: async (tx) => {
      tx.afterCommit(() => deps.metrics.records.inc(result.recordsSynced ?? 0));
      tx.afterCommit(() => deps.metrics.countEmpty(slice.job, result.code));
      tx.afterCommit(() =>
        deps.logger.info({ ...logFields(slice.job), run_id: run.runId }, 'a sync succeeded'),
      );
    },
  };
}

/** Airbyte calls a sync that found nothing, or lost its statistics, a success like any other. */
function emptyCodeOf({ recordsSynced }: SyncResult): EmptyCode | null {
  if (recordsSynced === null) return 'no_statistics';
  return recordsSynced === 0 ? 'no_records' : null;
}

async function failRun(poll: Poll, run: AirbyteJob): Promise<SliceResult> {
  const { deps, slice, checkpoint } = poll;
  const notice = await readNotice(poll);
  const reason = notice?.errorMessage ?? reasonOf(poll, run);
  const message =
    `Airbyte reported run ${run.runId} as failed: ` +
    (reason ?? 'no reason was given; see the run’s log in Airbyte').slice(0, 1_000);
  const failedBefore = checkpoint.failedRuns.length;
  const { retryBaseMs } = deps.policy;
  const isConfig = isConfigError(notice) || run.failure?.type === 'config_error';
  const outcome = isConfig
    ? configErrorOutcome({ runId: run.runId, errorMessage: reason })
    : syncFailedOutcome(slice.job, { message, failedBefore, retryBaseMs });
  const failedRuns = [...checkpoint.failedRuns, run.runId];
  const result: SyncResult = {
    recordsSynced: run.rowsSynced,
    bytesSynced: run.bytesSynced,
    ...timesOf(run),
    code: 'sync_failed',
    failureReason: reason,
  };
  if (outcome.type !== 'retry') {
    const last = kept({ ...checkpoint, failedRuns, run: withStatus(checkpoint, run), result });
    return { outcome, checkpoint: last };
  }
  const next: SyncCheckpoint = { ...withoutIntent(checkpoint), failedRuns, run: null, pollErrors: 0 };
  return { outcome, runId: null, stage: 'waiting', checkpoint: kept({ ...next, result }) };
}

/** From the run's attempts, where the server shows them. */
function reasonOf({ calls }: Poll, { failure }: AirbyteJob): string | null {
  return failure && calls.scrub(failure.message).slice(0, 2_000);
}

/** Ends the job and its lease right here, which no outcome of a slice can do. */
async function cancelJob(poll: Poll): Promise<never> {
  const { deps, slice, runId } = poll;
  const { tenantId, jobId, subjectId } = slice.job;
  const message = `Run ${runId} was canceled in Airbyte`;
  await slice.transaction(async (tx) => {
    await cancelWithRun(tx, { tenantId, jobId, message });
    tx.afterCommit(() => {
      deps.metrics.syncs.inc({ tenant: tenantId, connector: subjectId, outcome: 'canceled' });
      deps.wake.announce('events');
    });
  });
  throw jobErrors.raise.lease_lost(`${message}, and job ${jobId} ended with it`);
}

async function onProblem(poll: Poll, problem: AirbyteProblem): Promise<SliceResult> {
  const { deps, slice, calls, runId, checkpoint } = poll;
  if (problem.class === 'auth') {
    const isLockedOut = await calls.areCredentialsBad(problem);
    if (isLockedOut === 'no') {
      return { outcome: outcomeOf(problem, slice.job, deps.policy) };
    }
    if (isLockedOut === 'yes') {
      const paused = { ...checkpoint, waitingFor: 'airbyte_credentials_refused' };
      return { outcome: { type: 'wait', delayMs: deps.coolDownMs }, checkpoint: kept(paused) };
    }
  }
  if (problem.class === 'address') {
    const paused = { ...checkpoint, waitingFor: 'airbyte_wrong_address' };
    return { outcome: { type: 'wait', delayMs: deps.coolDownMs }, checkpoint: kept(paused) };
  }
  const pollErrors = checkpoint.pollErrors + 1;
  if (problem.code === 'not_found' && pollErrors > maxMissing) {
    const message = `Airbyte no longer knows run ${runId}: ${problem.message}`;
    return { outcome: dead('not_found', message) };
  }
  if (isOverdue(deps, checkpoint)) return { outcome: overdue(deps, runId) };
  const backoff = Math.min(2 ** (pollErrors - 1), maxPollBackoff);
  const ownMs = deps.policy.pollMs * backoff * (0.9 + Math.random() / 5);
  const delayMs = Math.max(ownMs, problem.retryAfterMs ?? 0);
  const notBefore =
    problem.retryAfterMs === null ? null : new Date(deps.clock.nowMs() + problem.retryAfterMs).toISOString();
  const after = { ...checkpoint, pollErrors, notBefore, waitingFor: `poll_${problem.code}` };
  return { outcome: { type: 'wait', delayMs }, checkpoint: kept(after) };
}

/** What the webhook said about this run, if anything. */
async function readNotice({ calls, slice, runId }: Poll): Promise<Notice | null> {
  const { tenantId, subjectId: connectorId } = slice.job;
  const connector = await slice.transaction((tx) => findConnector(tx, { tenantId, connectorId }));
  const scrub = (text: string) => calls.scrub(text);
  return noticeAbout(connector?.lastNotice ?? null, { runId, scrub });
}

function timesOf(run: AirbyteJob): Pick<SyncResult, 'durationSeconds' | 'startedAt' | 'endedAt'> {
  const between =
    run.lastUpdatedAt === null ? null : (run.lastUpdatedAt.getTime() - run.createdAt.getTime()) / 1000;
  return {
    durationSeconds: run.durationSeconds ?? between,
    startedAt: run.createdAt.toISOString(),
    endedAt: run.lastUpdatedAt?.toISOString() ?? null,
  };
}

function withStatus({ run }: SyncCheckpoint, { status }: AirbyteJob): SyncCheckpoint['run'] {
  return run === null ? null : { ...run, status };
}
