import type { JobsDeps } from '../../../kernel/jobs/service.ts';
import { dispatchManyIn } from '../../../kernel/jobs/service.ts';
import { bringRetryForward } from '../../../kernel/jobs/store.ts';
import { newId } from '../../../lib/ids.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { databaseErrors } from '../../../lib/postgres/db-errors.ts';
import { scrapeErrors } from '../errors.ts';
import type { ScrapeMetrics } from '../metrics.ts';
import {
  type HandoffPolicy,
  ingestionPipeline,
  ingestionRetries,
  type KnowledgeDoor,
  type OpenHandoff,
  type RunCounts,
  type ScrapeSource,
  type TouchedReference,
} from '../types.ts';
import {
  failHandoffs,
  hasHandoffs,
  lockBusyReferences,
  lockOpenHandoffs,
  openHandoffs,
  saveJobs,
  saveWaiting,
} from './handoff-store.ts';
import { GivenUp, withAttempts } from './retry.ts';

export interface HandOverDeps extends Pick<JobsDeps, 'db' | 'wake' | 'metrics' | 'quotas'> {
  knowledge: KnowledgeDoor;
  policy: HandoffPolicy;
  scrapes: ScrapeMetrics;
  logger: Logger;
}

export const unavailableNotice =
  'Hand-offs are taken down (migration 0011, the optional feature handoffs): references are persisted, ' +
  'but nothing is handed over until `sluice migrate up --feature handoffs`';

/** What is to be handed over once the transaction that persisted the references has committed. */
export interface Opened {
  /** Null: hand-offs are taken down. */
  handoffs: OpenHandoff[] | null;
  /** Of this sync's own: how many of `handoffs`. */
  newCount: number;
  skippedCount: number;
}

const nothingOpened: Opened = { handoffs: [], newCount: 0, skippedCount: 0 };

interface HandOverPlace {
  source: ScrapeSource;
  scrapeRunId: string;
  createdBy: string;
  knowledge: KnowledgeDoor;
}

/** In the transaction that has touched the references: whatever happens next, it is known what is to be handed over. */
export async function openIn(
  tx: Tx,
  { source, scrapeRunId, createdBy, knowledge }: HandOverPlace,
  references: readonly TouchedReference[],
): Promise<Opened> {
  if (!(await hasHandoffs(tx))) return { handoffs: null, newCount: 0, skippedCount: 0 };
  if (references.length === 0) return nothingOpened;
  const { tenantId, kbId } = source;
  const wishes = references.map(({ referenceId, payloadHash, isChanged }) => ({
    handoffId: newId(),
    referenceId,
    payloadHash,
    isForced: isChanged,
  }));
  const kbMadeAt = await knowledge.madeAt(tx, { tenantId, kbId });
  const place = { tenantId, source: source.source, kbId, kbMadeAt, scrapeRunId, createdBy };
  const handoffs = await openHandoffs(tx, place, wishes);
  const newCount = handoffs.filter(({ isNew }) => isNew).length;
  return { handoffs, newCount, skippedCount: references.length - newCount };
}

/**
 * Makes the jobs of hand-offs that were opened, with several attempts. Whatever comes of it is kept with the hand-offs:
 * this throws only when not even that can be written.
 */
export async function handOver(
  deps: HandOverDeps,
  tenantId: string,
  { handoffs, newCount, skippedCount }: Opened,
): Promise<{ counts: Partial<RunCounts>; notice: string | null }> {
  if (handoffs === null) return { counts: {}, notice: unavailableNotice };
  const handoffIds = handoffs.map(({ handoffId }) => handoffId);
  try {
    if (handoffIds.length > 0) await makeJobs(deps, tenantId, handoffIds);
    return { counts: { queued: newCount, skipped: skippedCount }, notice: null };
  } catch (error) {
    const cause = error instanceof GivenUp ? error.cause : error;
    if (isTableMissing(cause)) return { counts: {}, notice: unavailableNotice };
    if (!(error instanceof GivenUp)) throw error;
    const { reasonCode, attempts } = error;
    deps.logger.warn({ err: cause, tenant_id: tenantId, attempts }, 'references could not be handed over');
    const reasonText = error.message.slice(0, 2_000);
    await deps.db.tenant(tenantId, (tx) =>
      failHandoffs(tx, { tenantId, attempts, handoffIds, reasonCode, reasonText }),
    );
    return { counts: { failed: newCount, skipped: skippedCount }, notice: null };
  }
}

/** Taken down in the middle of a sync: PostgreSQL says that there is no such table. */
export function isTableMissing(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '42P01';
}

async function makeJobs(deps: HandOverDeps, tenantId: string, handoffIds: string[]): Promise<void> {
  await withAttempts(
    deps.policy,
    async (attempts) => {
      await deps.quotas.assertRoom(tenantId);
      await deps.db.tenant(tenantId, (tx) => makeJobsIn(deps, tx, { tenantId, handoffIds, attempts }));
    },
    (error) => {
      deps.scrapes.retried();
      deps.logger.info({ err: error, tenant_id: tenantId }, 'handing references over is tried again');
    },
  );
}

async function makeJobsIn(
  deps: HandOverDeps,
  tx: Tx,
  { tenantId, handoffIds, attempts }: { tenantId: string; handoffIds: string[]; attempts: number },
): Promise<void> {
  const open = await lockOpenHandoffs(tx, { tenantId, handoffIds });
  if (open.length === 0) return;
  for (const kbId of new Set(open.map((handoff) => handoff.kbId))) await admit(deps, tx, { tenantId, kbId });
  const referenceIds = open.map(({ referenceId }) => referenceId);
  const busy = await lockBusyReferences(tx, { tenantId, referenceIds });
  const busyIds = new Set(busy.map(({ referenceId }) => referenceId));
  const free = open.filter(({ referenceId }) => !busyIds.has(referenceId));
  const made = await dispatchManyIn(deps, tx, tenantId, free.map(jobOf));
  const jobIds = new Map(made.map(({ subjectId, jobId }) => [subjectId, jobId]));
  const placed = free.flatMap((handoff) => {
    const jobId = jobIds.get(handoff.referenceId);
    return jobId === undefined ? [] : [{ ...handoff, jobId }];
  });
  if (placed.length < free.length) {
    throw databaseErrors.raise.write_conflict('A job of a reference was requeued at the same moment');
  }
  if (placed.length > 0) await saveJobs(tx, { tenantId, attempts }, placed);
  const waiting = open
    .filter(({ referenceId }) => busyIds.has(referenceId))
    .map(({ handoffId }) => handoffId);
  if (waiting.length > 0) await saveWaiting(tx, { tenantId, attempts, handoffIds: waiting });
  // A retry that waits for its time would keep the newer payload waiting as well.
  for (const { referenceId, isWaiting } of busy) {
    if (isWaiting)
      await bringRetryForward(tx, { tenantId, pipeline: ingestionPipeline, subjectId: referenceId });
  }
}

async function admit(
  { knowledge }: HandOverDeps,
  tx: Tx,
  key: { tenantId: string; kbId: string },
): Promise<void> {
  if (await knowledge.admit(tx, key)) return;
  throw scrapeErrors.raise.scrape_kb_missing(
    `There is no knowledge base ${key.kbId} to hand references over to`,
  );
}

function jobOf({ referenceId, kbId, scrapeRunId, createdBy }: OpenHandoff) {
  return {
    pipeline: ingestionPipeline,
    subjectId: referenceId,
    maxRetries: ingestionRetries,
    correlationId: scrapeRunId,
    payload: { kbId, referenceId },
    userId: createdBy,
    createdBy,
  };
}
