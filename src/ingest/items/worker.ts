import type { Ground } from '../../kernel/house/house.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import { parkJob } from '../../kernel/jobs/shared/shared-store.ts';
import type { Turn, TurnResult } from '../../kernel/jobs/types.ts';
import type { SecretPurse } from '../../kernel/secrets/lent-secret.ts';
import { newId } from '../../lib/ids.ts';
import type { TransactionContext } from '../../lib/postgres/db.ts';
import type { JobImages } from './images/types.ts';
import type { ItemMetrics } from './metrics.ts';
import {
  type BatchReport,
  closeBatch,
  comeBackFor,
  freshOf,
  maxParkMs,
  parkUntilDue,
} from './processing/batch.ts';
import { type HeldLocks, holdOn, renewWhileWorking } from './processing/item-locks.ts';
import { callWithoutSecrets, purseOf, withoutSecrets } from './processing/job-secrets.ts';
import { watchJob } from './processing/job-watch.ts';
import type { Lane, Lanes } from './processing/lanes.ts';
import { changeOf, givenBack } from './processing/outcomes.ts';
import type { Pacing, ProviderPace } from './processing/pacing.ts';
import {
  type ClaimedInput,
  exactly,
  fitting,
  prepareProcessor,
  processItems,
} from './processing/processing.ts';
import type { ProcessorRegistry } from './processing/processors/registry.ts';
import type { Processor, ProcessorContext, ProviderCall } from './processing/processors/types.ts';
import {
  changeItems,
  claimCrashedItem,
  claimItems,
  finishUnchanged,
  insertProviderCalls,
  lockStatement,
  releaseExpired,
} from './processing/store.ts';
import { TurnTally } from './processing/turn-log.ts';
import { itemJobStatement, moveItemCounts } from './store.ts';
import {
  byIndexAlone,
  type ClaimedItem,
  type ItemBounds,
  type ItemChange,
  type ItemJob,
  moveCounts,
  type Unreported,
} from './types.ts';

export interface ItemWorkerDeps extends Pick<Ground, 'db' | 'logger' | 'fetch' | 'secrets'> {
  metrics: ItemMetrics;
  processors: ProcessorRegistry;
  bounds: ItemBounds;
  pacing: Pacing;
  /** For turns of pure processors. */
  lanes: Lanes;
  imagesOf(job: ItemJob): JobImages;
}

/** An items job, opened for one turn. */
interface Opened {
  turn: Turn;
  job: ItemJob;
  processor: Processor;
  options: unknown;
  provider: ProviderPace;
  purse: SecretPurse;
  tally: TurnTally;
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
  const name = processor.provider?.(options) ?? processor.name;
  const opened: Opened = {
    turn,
    job,
    processor,
    options,
    provider: deps.pacing.providerFor(job, name),
    purse: purseOf(deps.secrets, job),
    tally: new TurnTally(),
  };
  let isLast = false;
  try {
    const isQuick = processor.isPure && !processor.isSlow?.(options);
    const result = await (isQuick ? runPureBatches(deps, opened, lane) : takeLockedTurn(deps, opened, lane));
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
  items: number;
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
        return { items: 0, changes: [], end: await parkUntilDue(tx, reportOf(deps, opened)) };
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
      return { items: items.length, changes, end: isLast ? 'finished' : null };
    },
    lockStatement({ ...job, limit }),
  );
  observe(deps, opened, { items: batch.items, changes: batch.changes, startedAtMs });
  committed(deps, opened, { kept: batch.changes, late: 0 });
  return { processed: endedOf(batch.changes), end: batch.end };
}

/** Claims items under a lock, processes them in waves, and commits each wave. */
async function takeLockedTurn(deps: ItemWorkerDeps, opened: Opened, lane: Lane): Promise<TurnResult> {
  // Its time goes to calls, so that any number of turns may run at once.
  lane.share(true);
  lane.leave();
  const claim = await claimSome(deps, opened);
  if (claim.items.length === 0) return { processed: 0, state: await park(deps, opened) };
  let left = claim.items;
  let processed = 0;
  let isLast = false;
  try {
    while (left.length > 0 && !opened.turn.shouldYield()) {
      const wave = fitting(left.slice(0, opened.processor.itemsAtOnce ?? opened.provider.concurrency * 4));
      const result = await runWave(deps, opened, { ...claim, items: wave });
      left = left.slice(wave.length);
      processed += result.processed;
      isLast = result.isLast;
      if (result.status !== 'running') break;
    }
  } finally {
    if (left.length > 0) await giveBack(deps, opened, { ...claim, items: left });
  }
  if (isLast) return { processed, state: 'finished' };
  return { processed, state: (await spaceOut(deps, opened)) ? 'idle' : 'more' };
}

interface Claim extends HeldLocks {
  items: ClaimedItem[];
}

async function claimSome(deps: ItemWorkerDeps, opened: Opened): Promise<Claim> {
  const { job, turn } = opened;
  const { items: limit, lockMs } = deps.pacing.claimOf(job.jobId);
  const lockToken = newId();
  const { claimed: items, fresh } = await deps.db.transaction(contextFor(job), async (tx) => {
    const freed = await releaseExpired(tx, { ...job, limit: 1_000 });
    const lock = { ...job, workerId: turn.workerId, lockToken, lockMs };
    const some = await claimItems(tx, { ...lock, limit });
    // An item whose worker died is claimed alone, so that a second crash affects no other item.
    const claimed = some.length > 0 ? some : await claimCrashedItem(tx, lock);
    const back = moveCounts({}, { from: 'PROCESSING', to: 'PENDING', n: freed });
    const delta = moveCounts(back, { from: 'PENDING', to: 'PROCESSING', n: claimed.length });
    const fresh: Unreported = freed > 0 ? { 'retried.crashed': freed } : {};
    const end = { changes: [], delta, fresh, needsRunning: true };
    await closeBatch(tx, { ...reportOf(deps, opened), ...end });
    return { claimed, fresh };
  });
  deps.metrics.moved(fresh);
  return { items, lockToken, lockMs, renewal: { atMs: performance.now() } };
}

async function runWave(
  deps: ItemWorkerDeps,
  opened: Opened,
  claim: Claim,
): Promise<{ processed: number; isLast: boolean; status: string | null }> {
  const { job } = opened;
  const startedAtMs = performance.now();
  const calls: ProviderCall[] = [];
  const watch = watchJob(deps, opened);
  const context = contextOf(deps, opened, {
    log: (call) => void calls.push(call),
    assertHeld: () => holdOn(deps, opened, claim),
    signal: watch.signal,
    ending: watch.ending,
  });
  const stopRenewing = renewWhileWorking(deps, opened, claim);
  const changes = await changesOf(deps, opened, { items: claim.items, context }).finally(() => {
    stopRenewing();
    watch.stop();
  });
  const result = await deps.db.transaction(contextFor(job), async (tx) => {
    const ids = new Set(await changeItems(tx, job, { lockToken: claim.lockToken, changes }));
    // Missing items were taken over by another worker, which changes and counts them.
    const kept = changes.filter(({ id }) => ids.has(id));
    await insertProviderCalls(
      tx,
      calls.map((call) => rowOfCall(job, call)),
    );
    const fresh = freshOf(kept);
    const end = await closeBatch(tx, {
      ...reportOf(deps, opened),
      changes: kept,
      from: 'PROCESSING',
      fresh,
    });
    return { kept, ...end };
  });
  observe(deps, opened, { items: claim.items.length, changes, startedAtMs });
  committed(deps, opened, { kept: result.kept, late: changes.length - result.kept.length });
  return { processed: endedOf(result.kept), isLast: result.isLast, status: result.status };
}

async function changesOf(
  deps: ItemWorkerDeps,
  { processor, options, purse }: Opened,
  { items, context }: { items: ClaimedItem[]; context: ProcessorContext },
): Promise<ItemChange[]> {
  const { inputs, outcomes } = await processItems(processor, { items, options, context });
  return items.map((item, index) => {
    const outcome = outcomes[index];
    if (!outcome) throw new Error(`Processor ${processor.name} gave no outcome for item ${item.id}`);
    const shown = exactly(withoutSecrets(outcome, purse), inputs[index] as ClaimedInput);
    return changeOf(item, shown, deps.bounds);
  });
}

async function giveBack(deps: ItemWorkerDeps, { job }: Opened, claim: Claim): Promise<void> {
  const changes = claim.items.map(givenBack);
  await deps.db.transaction(contextFor(job), async (tx) => {
    const ids = await changeItems(tx, job, { lockToken: claim.lockToken, changes });
    const delta = moveCounts({}, { from: 'PROCESSING', to: 'PENDING', n: ids.length });
    await moveItemCounts(tx, job, { delta });
    await comeBackFor(tx, job, changes);
  });
}

/** For a turn that found nothing to claim. */
function park(deps: ItemWorkerDeps, opened: Opened): Promise<TurnResult['state']> {
  return deps.db.transaction(contextFor(opened.job), (tx) => parkUntilDue(tx, reportOf(deps, opened)));
}

/** While many items fail, the next claim waits. Throttling does not count: the provider's pace handles it. */
async function spaceOut(deps: ItemWorkerDeps, { job }: Opened): Promise<boolean> {
  const { spacingMs } = deps.pacing.claimOf(job.jobId);
  if (spacingMs <= 0) return false;
  await deps.db.tenant(job.tenantId, (tx) => parkJob(tx, job, Math.min(spacingMs, maxParkMs)));
  return true;
}

function committed(
  { metrics }: ItemWorkerDeps,
  { tally }: Opened,
  { kept, late }: { kept: readonly ItemChange[]; late: number },
): void {
  const fresh = freshOf(kept);
  metrics.moved(fresh);
  metrics.lateItems.inc(late);
  tally.add(kept, { fresh, late });
}

/** The job that the events are about, and what is saved with them. */
function reportOf({ pacing }: ItemWorkerDeps, { job, turn }: Opened): BatchReport {
  return {
    job,
    correlationId: turn.job.correlationId,
    controllers: { ...pacing.describe(job.jobId), savedBy: turn.workerId },
  };
}

function writeLog({ logger, pacing }: ItemWorkerDeps, { job, turn, tally }: Opened, isLast: boolean): void {
  tally.write(logger, {
    tenant_id: job.tenantId,
    job_id: job.jobId,
    correlation_id: turn.job.correlationId,
    isLast,
    controllers: pacing.describe(job.jobId),
  });
}

function observe(
  deps: ItemWorkerDeps,
  { job }: Opened,
  seen: { items: number; changes: readonly ItemChange[]; startedAtMs: number },
): void {
  // Rows that were given back untouched say nothing about how long a row takes.
  const untouched = seen.changes.filter((change) => change.givesAttemptBack && change.retryClass === null);
  const items = seen.items - untouched.length;
  if (items === 0) return;
  deps.pacing.observe(job.jobId, {
    items,
    elapsedMs: performance.now() - seen.startedAtMs,
    failures: seen.changes.filter(({ retryClass }) => retryClass === 'transient').length,
  });
}

function contextOf(
  deps: ItemWorkerDeps,
  { job, provider, purse }: Opened,
  hooks: Pick<ProcessorContext, 'log' | 'assertHeld' | 'signal' | 'ending'>,
): ProcessorContext {
  return {
    ...hooks,
    log: (call) => hooks.log(callWithoutSecrets(call, purse)),
    tenantId: job.tenantId,
    jobId: job.jobId,
    fetch: provider.pace(purse.guard(deps.fetch), hooks.ending),
    secret: (name) => purse.take(name),
    concurrency: provider.concurrency,
    ...(job.jobType === 'image' ? { images: deps.imagesOf(job) } : {}),
  };
}

function contextFor({ tenantId }: ItemJob): TransactionContext {
  return { role: 'sluice_tenant', tenantId, settings: byIndexAlone };
}

function rowOfCall(job: ItemJob, call: ProviderCall) {
  const { tenantId, jobId, userId } = job;
  return { tenantId, jobId, userId, ...call, tookMs: Math.round(call.tookMs), error: call.error ?? null };
}

function endedOf(changes: readonly ItemChange[]): number {
  return changes.filter(({ status }) => status !== 'PENDING').length;
}
