import type { Ground } from '../../../kernel/house/house.ts';
import type { Turn } from '../../../kernel/jobs/types.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { SecretPurse } from '../../../kernel/secrets/lent-secret.ts';
import { fetchFor } from '../../../lib/fetch/guarded-fetch.ts';
import type { TransactionContext } from '../../../lib/postgres/db.ts';
import type { JobImages } from '../images/types.ts';
import type { ItemMetrics } from '../metrics.ts';
import { byIndexAlone, type ClaimedItem, type ItemBounds, type ItemChange, type ItemJob } from '../types.ts';
import { type BatchReport, freshOf } from './batch.ts';
import type { JobPaces } from './job-paces.ts';
import { callWithoutSecrets, withoutSecrets } from './job-secrets.ts';
import { changeOf } from './outcomes.ts';
import { type Pacing, type ProviderPace, shortWaitMs } from './pacing.ts';
import { type ClaimedInput, exactly, processItems } from './processing.ts';
import type { ProcessorRegistry } from './processors/registry.ts';
import type { Processor, ProcessorContext } from './processors/types.ts';
import type { TurnTally } from './turn-log.ts';

export interface TurnDeps extends Pick<Ground, 'db' | 'logger' | 'fetch' | 'secrets'> {
  metrics: ItemMetrics;
  processors: ProcessorRegistry;
  bounds: ItemBounds;
  pacing: Pacing;
  wake: Pick<WakeUp, 'announce'>;
  imagesOf(job: ItemJob): JobImages;
}

/** An items job, opened for one turn. */
export interface Opened {
  turn: Turn;
  job: ItemJob;
  processor: Processor;
  options: unknown;
  paces: JobPaces;
  purse: SecretPurse;
  tally: TurnTally;
}

/** Runs the processor over some items. Trouble of our own is thrown: it says nothing about them. */
export async function changesOf(
  deps: Pick<TurnDeps, 'bounds'>,
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

export type ContextHooks = Pick<ProcessorContext, 'log' | 'assertHeld' | 'signal' | 'ending' | 'keep'> & {
  /** A call has its turn with the provider. */
  onTurn?: () => void;
};

export function contextOf(
  deps: Pick<TurnDeps, 'fetch' | 'imagesOf'>,
  { job, paces, purse }: Opened,
  { onTurn, ...hooks }: ContextHooks,
): ProcessorContext {
  const guarded = purse.guard(fetchFor(deps.fetch, job.tenantId));
  const paced = (pace: ProviderPace) => {
    // The flight waits for the first provider. A row that has to wait for another one is given back instead.
    const most = pace === paces.entry ? {} : { mostWaitMs: shortWaitMs };
    return {
      fetch: pace.pace(guarded, { ending: hooks.ending, onTurn, ...most }),
      concurrency: pace.concurrency,
    };
  };
  const context: ProcessorContext = {
    ...hooks,
    log: (call) => hooks.log(callWithoutSecrets(call, purse)),
    tenantId: job.tenantId,
    jobId: job.jobId,
    ...paced(paces.entry),
    secret: (name) => purse.take(name),
    waitOf: (name) => paces.of(name).wait,
    forStep: ({ processor, provider }) => ({
      ...context,
      ...(provider === null ? {} : paced(paces.of(provider))),
      secret: (name) => purse.take(name, `processor:${processor}`),
    }),
    ...(job.jobType === 'image' ? { images: deps.imagesOf(job) } : {}),
  };
  return context;
}

export function contextFor({ tenantId }: ItemJob): TransactionContext {
  return { role: 'sluice_tenant', tenantId, settings: byIndexAlone };
}

/** The job that the events are about, and what is saved with them. */
export function reportOf({ pacing }: Pick<TurnDeps, 'pacing'>, { job, turn }: Opened): BatchReport {
  return {
    job,
    correlationId: turn.job.correlationId,
    controllers: { ...pacing.describe(job.jobId), savedBy: turn.workerId },
  };
}

export function committed(
  { metrics }: Pick<TurnDeps, 'metrics'>,
  { tally }: Opened,
  { kept, late }: { kept: readonly ItemChange[]; late: number },
): void {
  const fresh = freshOf(kept);
  metrics.moved(fresh);
  metrics.lateItems.inc(late);
  tally.add(kept, { fresh, late });
}

/** Rows that were given back untouched say nothing about how long a row takes. */
export function workedOn(changes: readonly ItemChange[]): number {
  return changes.filter((change) => !change.givesAttemptBack || change.retryClass !== null).length;
}

export function endedOf(changes: readonly ItemChange[]): number {
  return changes.filter(({ status }) => status !== 'PENDING').length;
}
