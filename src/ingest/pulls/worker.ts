import type { FileDoor, FilePlaceDoor, ReportTarget } from '../../kernel/house/doors.ts';
import { isInfrastructure } from '../../kernel/jobs/errors.ts';
import type { Slice, SliceResult } from '../../kernel/jobs/types.ts';
import { SecretPurse } from '../../kernel/secrets/lent-secret.ts';
import type { SecretLender } from '../../kernel/secrets/types.ts';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Database } from '../../lib/postgres/db.ts';
import type { Clock } from '../../lib/timing/clock.ts';
import { failedPull, type PullPolicy } from './outcomes.ts';
import type { Caller } from './places/caller.ts';
import { restatedDays } from './places/days.ts';
import { lookAtMetaReport, startMetaReport } from './places/meta.ts';
import { PullProblem } from './places/problems.ts';
import { readReport } from './places/report.ts';
import { isFilePlace, useOf } from './places/secrets.ts';
import { findSource, saveResult } from './store.ts';
import { takeFiles } from './taking/files.ts';
import { takeReport } from './taking/take.ts';
import type { DayRange, PullResult, Source } from './types.ts';

export interface PullDeps {
  db: Database;
  fetch: GuardedFetch;
  secrets: SecretLender;
  reports: FileDoor<ReportTarget>;
  filePlaces: FilePlaceDoor;
  clock: Clock;
  policy: PullPolicy;
}

/** Who may configure a source may use every secret, and its pulls act for its creator. */
const creatorRole = 'admin';

/** What a pull remembers between its slices. */
interface Checkpoint {
  /** Fixed by the first slice: a retry after midnight asks for the same days. */
  range?: DayRange;
  /** The report that Meta prepares. */
  reportRunId?: string | null;
  polledSinceMs?: number;
}

/** One slice of a pull: it prepares the report, or fetches it and hands it to the uploads. */
export async function advancePull(deps: PullDeps, slice: Slice): Promise<SliceResult> {
  const { tenantId, subjectId: sourceId } = slice.job;
  const source = await deps.db.read(tenantId, (tx) => findSource(tx, { tenantId, sourceId }));
  if (source === null) return sourceGone(sourceId);
  const purse = new SecretPurse(deps.secrets, { tenantId, role: creatorRole, use: useOf(source.place) });
  try {
    const target = { platform: source.platform, workspaceId: source.workspaceId, clientId: source.clientId };
    await deps.reports.check(tenantId, target);
    return await pull(deps, { slice, source, purse });
  } catch (error) {
    slice.signal.throwIfAborted();
    if (isInfrastructure(error)) throw error;
    return failedPull(error, { job: slice.job, source, purse, policy: deps.policy });
  }
}

function sourceGone(sourceId: string): SliceResult {
  const message = `The source ${sourceId} was deleted before the pull began`;
  return { outcome: { type: 'dead', failure: { code: 'pull_source_gone', message, class: 'permanent' } } };
}

interface Pull {
  slice: Slice;
  source: Source;
  purse: SecretPurse;
}

async function pull(deps: PullDeps, { slice, source, purse }: Pull): Promise<SliceResult> {
  const { place } = source;
  if (isFilePlace(place)) return takeFiles(deps, { slice, source, place });
  const checkpoint = slice.job.checkpoint as Checkpoint;
  const given = slice.job.payload.range as DayRange | undefined;
  const range = checkpoint.range ?? given ?? restatedDays(source, new Date(deps.clock.nowMs()));
  const caller: Caller = {
    fetch: purse.guard(deps.fetch),
    purse,
    signal: slice.signal,
    assertHeld: () => slice.assertHeld(),
  };
  if (place.kind === 'meta' && place.report_run) {
    const waiting = await prepare(deps, { slice, caller, place, checkpoint: { ...checkpoint, range } });
    if (waiting !== null) return waiting;
  }
  const reportRunId = checkpoint.reportRunId ?? null;
  const file = await readReport(caller, place, { range, reportRunId, maxBytes: deps.reports.maxBytes });
  try {
    const result = await takeReport(deps, { slice, source, file, range });
    return done(source, result);
  } finally {
    await file?.forget();
  }
}

/** A report may take an hour; when nothing came of it by then, another one is asked for. */
const patienceMs = 2 * 3_600_000;

/** Returns null when the report is ready. */
async function prepare(
  { clock, policy }: PullDeps,
  {
    slice,
    caller,
    place,
    checkpoint,
  }: {
    slice: Slice;
    caller: Caller;
    place: Parameters<typeof startMetaReport>[1];
    checkpoint: Checkpoint & { range: DayRange };
  },
): Promise<SliceResult | null> {
  const { range } = checkpoint;
  const wait = { type: 'wait', delayMs: policy.pollMs } as const;
  const nowMs = clock.nowMs();
  if (typeof checkpoint.reportRunId !== 'string') {
    const reportRunId = await startMetaReport(caller, place, range);
    return {
      outcome: wait,
      stage: 'preparing',
      checkpoint: { range, reportRunId, polledSinceMs: nowMs },
    };
  }
  const state = await lookAtMetaReport(caller, place, checkpoint.reportRunId);
  if (state.type === 'ready') return null;
  const isLate = nowMs - (checkpoint.polledSinceMs ?? nowMs) > patienceMs;
  if (state.type === 'running' && !isLate) {
    return { outcome: wait, stage: 'preparing', counters: { percent_prepared: state.percent } };
  }
  const why = state.type === 'failed' ? state.why : 'it was not ready after two hours';
  // The next try asks for another report.
  await slice.transaction(async () => {}, { checkpoint: { range, reportRunId: null } });
  throw new PullProblem('server', `Meta did not prepare the report: ${why}`);
}

/** The result is written in the transaction that ends the job. */
function done(source: Source, result: PullResult): SliceResult {
  const counters = {
    uploads: result.upload_ids.length,
    unchanged: result.unchanged,
    refused: result.refused,
  };
  return {
    outcome: { type: 'done' },
    counters,
    effects: (tx) => saveResult(tx, source, { result, isGood: true }),
  };
}
