import { jobErrors } from '../../kernel/jobs/errors.ts';
import type { Turn, TurnResult } from '../../kernel/jobs/types.ts';
import { closeBatch, freshOf, parkUntilDue } from './processing/batch.ts';
import { Flight } from './processing/flight/flight.ts';
import { JobPaces } from './processing/job-paces.ts';
import { purseOf } from './processing/job-secrets.ts';
import type { Lane, Lanes } from './processing/lanes.ts';
import {
  changesOf,
  committed,
  contextFor,
  contextOf,
  endedOf,
  type Opened,
  reportOf,
  type TurnDeps,
  workedOn,
} from './processing/opened-turn.ts';
import { fitting, prepareProcessor } from './processing/processing.ts';
import { changeItems, finishUnchanged, lockStatement } from './processing/store.ts';
import { type StartLog, TurnTally } from './processing/turn-log.ts';
import { itemJobStatement } from './store.ts';
import type { ClaimedItem, ItemChange, ItemJob } from './types.ts';

export interface ItemWorkerDeps extends TurnDeps {
  /** For turns of pure processors. */
  lanes: Lanes;
  starts: StartLog;
}

const maxPureMs = 1_000;
/** One turn of an items job: claims some items, processes them and commits the outcomes. */
export async function takeItemTurn(deps: ItemWorkerDeps, turn: Turn): Promise<TurnResult> {
  const lane = await deps.lanes.enter(turn.job.jobId, maxPureMs);
  if (lane === null) return { processed: 0, state: 'more' };
  try {
    return await takeTurnIn(deps, turn, lane);
  } finally {
    lane.leave();
  }
}

async function takeTurnIn(deps: ItemWorkerDeps, turn: Turn, lane: Lane): Promise<TurnResult> {
  const [job] = await deps.db.statement<ItemJob>(
    { role: 'sluice_tenant', tenantId: turn.job.tenantId },
    itemJobStatement(turn.job),
  );
  if (!job) throw jobErrors.raise.job_not_found(`Job ${turn.job.jobId} has no record of its items`);
  const { processor, options } = prepareProcessor(deps.processors.get(job.processor), job);
  const opened: Opened = {
    turn,
    job,
    processor,
    options,
    paces: new JobPaces(deps.pacing, { job, processor, options }),
    purse: purseOf(deps.secrets, job),
    tally: new TurnTally(),
  };
  if (job.counts.pending === job.counts.total) {
    deps.starts.write(deps.logger, { ...idsOf(opened), processor: job.processor, rows: job.counts.total });
  }
  let isLast = false;
  try {
    const isQuick = processor.isPure && !processor.isSlow?.(options);
    const result = await (isQuick ? runPureBatches(deps, opened, lane) : takeFlight(deps, opened, lane));
    isLast = result.state === 'finished';
    return result;
  } finally {
    writeLog(deps, opened, isLast);
  }
}

/** Runs batches of a pure processor until the turn's time is up. Each is claimed and finished in one transaction. */
async function runPureBatches(deps: ItemWorkerDeps, opened: Opened, lane: Lane): Promise<TurnResult> {
  const until = performance.now() + Math.min(maxPureMs, deps.bounds.targetSliceMs);
  let processed = 0;
  while (!opened.turn.shouldYield()) {
    const batch = await runPureBatch(deps, opened, lane);
    processed += batch.processed;
    if (batch.end !== null) return { processed, state: batch.end };
    if (performance.now() > until) break;
  }
  return { processed, state: 'more' };
}

interface PureBatch {
  changes: ItemChange[];
  /** Null: there may be more to do. */
  end: 'finished' | 'idle' | null;
}

async function runPureBatch(
  deps: ItemWorkerDeps,
  opened: Opened,
  lane: Lane,
): Promise<{ processed: number; end: PureBatch['end'] }> {
  const { job } = opened;
  const startedAtMs = performance.now();
  const limit = deps.pacing.claimOf(job.jobId).items;
  const batch = await deps.db.transaction<PureBatch, ClaimedItem>(
    contextFor(job),
    async (tx, claimed) => {
      lane.share(claimed.length >= limit);
      const items = fitting(claimed);
      if (items.length === 0) {
        return { changes: [], end: await parkUntilDue(tx, reportOf(deps, opened)) };
      }
      const tried = items.map((item) => ({ ...item, attempts: item.attempts + 1 }));
      const { signal } = opened.turn;
      const context = contextOf(deps, opened, { log: () => {}, assertHeld: async () => {}, signal });
      const changes = await changesOf(deps, opened, { items: tried, context });
      if (changes.every(({ resultIsInput }) => resultIsInput)) {
        await finishUnchanged(tx, { ...job, ids: changes.map(({ id }) => id) });
      } else await changeItems(tx, job, { lockToken: null, changes });
      const end = { changes, from: 'PENDING', fresh: freshOf(changes) } as const;
      const { isLast } = await closeBatch(tx, { ...reportOf(deps, opened), ...end });
      return { changes, end: isLast ? 'finished' : null };
    },
    lockStatement({ ...job, limit }),
  );
  observe(deps, opened, { changes: batch.changes, startedAtMs });
  committed(deps, opened, { kept: batch.changes, late: 0 });
  return { processed: endedOf(batch.changes), end: batch.end };
}

/** For processors that work outside of a transaction. */
function takeFlight(deps: ItemWorkerDeps, opened: Opened, lane: Lane): Promise<TurnResult> {
  // Its time goes to calls, so that any number of turns may run at once.
  lane.share(true);
  lane.leave();
  return new Flight(deps, opened).run();
}

function writeLog({ logger, pacing }: ItemWorkerDeps, opened: Opened, isLast: boolean): void {
  const controllers = pacing.describe(opened.job.jobId);
  opened.tally.write(logger, { ...idsOf(opened), isLast, controllers });
}

function idsOf({ job, turn }: Opened) {
  return { tenant_id: job.tenantId, job_id: job.jobId, correlation_id: turn.job.correlationId };
}

function observe(
  deps: ItemWorkerDeps,
  { job }: Opened,
  seen: { changes: readonly ItemChange[]; startedAtMs: number },
): void {
  const items = workedOn(seen.changes);
  if (items === 0) return;
  deps.pacing.observe(job.jobId, {
    items,
    elapsedMs: performance.now() - seen.startedAtMs,
    failures: seen.changes.filter(({ retryClass }) => retryClass === 'transient').length,
  });
}
