import type { JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { dispatchManyIn } from '../../../kernel/jobs/dispatch/service.ts';
import { bringRetryForward } from '../../../kernel/jobs/store.ts';
import { messageOf } from '../../../lib/errors.ts';
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
import { withAttempts } from './retry.ts';

export interface HandOverDeps extends Pick<JobsDeps, 'db' | 'wake' | 'metrics' | 'quotas'> {
  knowledge: KnowledgeDoor;
  policy: HandoffPolicy;
  scrapes: ScrapeMetrics;
  logger: Logger;
}

export const unavailableNotice =
  'Hand-offs are disabled: migration 0011, the optional feature handoffs, was taken down. References are stored, ' +
  'but nothing is handed over until you run `sluice migrate up --feature handoffs`';

/** What is handed over once the transaction that stored the references has committed. */
export interface Opened {
  /** Null: hand-offs are disabled. */
  handoffs: OpenHandoff[] | null;
  /** How many of `handoffs` this sync has opened itself. */
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

/** Opens hand-offs in the transaction that stores the references, so that none is lost whatever happens next. */
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
    jobId: null,
  }));
  const kbMadeAt = await knowledge.madeAt(tx, { tenantId, kbId });
  const place = { tenantId, source: source.source, kbId, kbMadeAt, scrapeRunId, createdBy };
  const handoffs = await openHandoffs(tx, place, wishes);
  const newCount = handoffs.filter(({ isNew }) => isNew).length;
  return { handoffs, newCount, skippedCount: references.length - newCount };
}

/**
 * Creates the jobs of opened hand-offs, with several attempts. The outcome is stored with the hand-offs; this throws
 * only if the outcome cannot be stored.
 */
export async function handOver(
  deps: HandOverDeps,
  tenantId: string,
  { handoffs, newCount, skippedCount }: Opened,
): Promise<{ counts: Partial<RunCounts>; notice: string | null }> {
  if (handoffs === null) return { counts: {}, notice: unavailableNotice };
  const handoffIds = handoffs.map(({ handoffId }) => handoffId);
  const made = handoffIds.length > 0 ? await makeJobs(deps, tenantId, handoffIds) : null;
  if (made?.kind !== 'given_up') return { counts: { queued: newCount, skipped: skippedCount }, notice: null };
  const { cause, attempts, reasonCode } = made;
  if (isTableMissing(cause)) return { counts: {}, notice: unavailableNotice };
  deps.logger.warn({ err: cause, tenant_id: tenantId, attempts }, 'references could not be handed over');
  const reasonText = messageOf(cause).slice(0, 2_000);
  await deps.db.tenant(tenantId, (tx) =>
    failHandoffs(tx, { tenantId, attempts, handoffIds, reasonCode, reasonText }),
  );
  return { counts: { failed: newCount, skipped: skippedCount }, notice: null };
}

/** The feature was taken down during a sync: PostgreSQL reports that the table does not exist. */
export function isTableMissing(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '42P01';
}

function makeJobs(deps: HandOverDeps, tenantId: string, handoffIds: string[]) {
  return withAttempts(
    deps.policy,
    async (attempts) => {
      await deps.quotas.assertRoom(tenantId);
      await deps.db.tenant(tenantId, (tx) => makeJobsIn(deps, tx, { tenantId, handoffIds, attempts }));
    },
    (error) => {
      deps.scrapes.retried();
      deps.logger.info({ err: error, tenant_id: tenantId }, 'handing over references is retried');
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
    throw databaseErrors.raise.write_conflict('A job of a reference was requeued at the same time');
  }
  if (placed.length > 0) await saveJobs(tx, { tenantId, attempts }, placed);
  const waiting = open
    .filter(({ referenceId }) => busyIds.has(referenceId))
    .map(({ handoffId }) => handoffId);
  if (waiting.length > 0) await saveWaiting(tx, { tenantId, attempts, handoffIds: waiting });
  // A retry that is not due yet would make the newer payload wait too.
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
  if ((await knowledge.admit(tx, key)) !== null) return;
  throw scrapeErrors.raise.scrape_kb_missing(
    `There is no knowledge base ${key.kbId} to hand references over to`,
  );
}

/** The job of a hand-off. */
export function jobOf({ referenceId, kbId, scrapeRunId, createdBy }: OpenHandoff) {
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
