import { dispatchIn, type JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import type { BeforeCommit } from '../../../kernel/tenancy/types.ts';
import { batchesOf } from '../../../lib/batches.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { scrapeErrors } from '../errors.ts';
import { type HandOverDeps, handOver, isTableMissing } from '../handoffs/hand-over.ts';
import { inLockOrder } from '../handoffs/payload.ts';
import { isTransient, withAttempts } from '../handoffs/retry.ts';
import { getRunIn, getSource } from '../service.ts';
import {
  addCounts,
  crawlRetries,
  type NewReference,
  noCounts,
  pipelineName,
  type ScrapeRun,
  type ScrapeSource,
  type SourceKey,
} from '../types.ts';
import { type Persisted, persistIn } from './persist.ts';
import { type Push, pushAtOnce, refuseCrawled } from './push-at-once.ts';
import { pushLimits } from './push-limits.ts';
import { finishRun, insertRun, saveRunCounts } from './run-store.ts';

export interface SyncDeps extends HandOverDeps, JobsDeps {}

export interface SyncRequest {
  references: readonly NewReference[] | undefined;
  createdBy: string;
}

/** A push ends within the call; a crawl becomes a job, and its run is returned. */
export async function sync(
  deps: SyncDeps,
  key: SourceKey,
  { references, createdBy }: SyncRequest,
  beforeCommit?: BeforeCommit<ScrapeRun>,
): Promise<ScrapeRun> {
  if (references !== undefined) {
    const ended = await pushAtOnce(deps, key, { references, createdBy }, beforeCommit);
    if (ended) return ended;
  }
  const source = await getSource(deps, key);
  if (source.mode === 'crawl') {
    if (references !== undefined) refuseCrawled(source);
    return startCrawl(deps, source, { createdBy, beforeCommit });
  }
  if (references === undefined) {
    throw scrapeErrors.raise.scrape_body_wrong(
      `Source ${key.source} takes pushed references: the body must have a list of references, which may be empty`,
    );
  }
  return push(deps, source, { references, createdBy }, beforeCommit);
}

export interface CrawlStart {
  createdBy: string;
  beforeStart?: (tx: Tx) => Promise<void>;
  beforeCommit?: BeforeCommit<ScrapeRun> | undefined;
}

export async function startCrawl(
  deps: SyncDeps,
  { tenantId, source }: ScrapeSource,
  { createdBy, beforeStart, beforeCommit }: CrawlStart,
): Promise<ScrapeRun> {
  await deps.quotas.assertRoom(tenantId);
  const scrapeRunId = newId();
  return deps.db.tenant(tenantId, async (tx) => {
    await beforeStart?.(tx);
    const job = await dispatchIn(deps, tx, tenantId, {
      pipeline: pipelineName,
      subjectId: source,
      maxRetries: crawlRetries,
      correlationId: scrapeRunId,
      payload: { source, scrapeRunId },
      userId: createdBy,
      createdBy,
    });
    // If a waiting retry was brought forward instead of a new job, its run continues.
    const runId = String(job.payload.scrapeRunId);
    const { jobId } = job;
    const run =
      runId === scrapeRunId
        ? await insertRun(tx, { tenantId, scrapeRunId, source, mode: 'crawl', jobId, createdBy })
        : await getRunIn(tx, { tenantId, source, scrapeRunId: runId });
    await beforeCommit?.(tx, run);
    return run;
  });
}

async function push(
  deps: SyncDeps,
  { tenantId, source }: ScrapeSource,
  { references, createdBy }: Push,
  beforeCommit: BeforeCommit<ScrapeRun> | undefined,
): Promise<ScrapeRun> {
  const scrapeRunId = newId();
  const key = { tenantId, source, scrapeRunId };
  await deps.db.tenant(tenantId, (tx) => insertRun(tx, { ...key, mode: 'push', jobId: null, createdBy }));
  try {
    let counts = noCounts;
    let handoffNotice: string | null = null;
    for (const batch of batchesOf(inLockOrder(references), pushLimits)) {
      const persisted = await persist(deps, { ...key, createdBy }, batch);
      const handedOver = await handOver(deps, tenantId, persisted.opened);
      const more = { ...persisted.counts, ...handedOver.counts };
      deps.scrapes.counted(more);
      counts = addCounts(counts, more);
      handoffNotice ??= handedOver.notice;
    }
    return await deps.db.tenant(tenantId, async (tx) => {
      await saveRunCounts(tx, key, { counts, handoffNotice });
      const run = await finishRun(tx, key, { status: 'completed' });
      if (!run)
        throw scrapeErrors.raise.scrape_run_not_found(`Run ${scrapeRunId} was ended by another process`);
      await beforeCommit?.(tx, run);
      return run;
    });
  } catch (error) {
    await noteFailure(deps, key, error);
    throw error;
  }
}

/** Can be repeated: an attempt finds what the one before it has stored. */
async function persist(
  { db, policy, knowledge }: SyncDeps,
  key: SourceKey & { scrapeRunId: string; createdBy: string },
  references: readonly NewReference[],
): Promise<Persisted> {
  const persistOnce = () =>
    db.tenant(key.tenantId, (tx) => persistIn(tx, { ...key, knowledge }, { references }));
  const persisted = await withAttempts(policy, async () => {
    try {
      return await persistOnce();
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      // Hand-offs were disabled between the check and the statement; the second check notices it.
      return persistOnce();
    }
  });
  if (persisted.kind === 'done') return persisted.value;
  throw persisted.cause;
}

async function noteFailure(
  { db, logger }: SyncDeps,
  key: { tenantId: string; scrapeRunId: string },
  error: unknown,
): Promise<void> {
  const errorCode = isSluiceError(error) ? error.code : 'unexpected_failure';
  const errorText = messageOf(error).slice(0, 2_000);
  try {
    await db.tenant(key.tenantId, (tx) => finishRun(tx, key, { status: 'failed', errorCode, errorText }));
  } catch (second) {
    // The caller gets the first error; upkeep ends the run later.
    logger.warn(
      { err: second, isTransient: isTransient(second) },
      'the end of a scrape run could not be recorded',
    );
  }
}
