import { insertJobs } from '../../../kernel/jobs/dispatch/many-store.ts';
import type { JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import type { BeforeCommit } from '../../../kernel/tenancy/types.ts';
import { batchesOf } from '../../../lib/batches.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { scrapeErrors } from '../errors.ts';
import { type HandOverDeps, jobOf } from '../handoffs/hand-over.ts';
import { areBusy, openHandoffs } from '../handoffs/handoff-store.ts';
import { inLockOrder, payloadHashOf } from '../handoffs/payload.ts';
import { upsertReferences } from '../references/reference-store.ts';
import { shareStatement } from '../store.ts';
import {
  addCounts,
  ingestionPipeline,
  type NewReference,
  noCounts,
  type RunCounts,
  type ScrapeRun,
  type ScrapeSource,
  type SourceKey,
  type TouchedReference,
} from '../types.ts';
import { pushLimits } from './push-limits.ts';
import { findRun, insertEndedRun } from './run-store.ts';

export type PushDeps = HandOverDeps & JobsDeps;

export interface Push {
  references: readonly NewReference[];
  createdBy: string;
}

interface PushKey extends SourceKey {
  scrapeRunId: string;
  createdBy: string;
}

/** What the usual way, with its attempts and its waiting, is for. */
class NotAtOnce extends Error {}

/**
 * A push that fits into one transaction: references, hand-offs, their jobs and the run are written together, each row
 * once. Null when something stands in the way, such as a job that is active: then nothing has happened.
 */
export async function pushAtOnce(
  deps: PushDeps,
  { tenantId, source }: SourceKey,
  { references, createdBy }: Push,
  beforeCommit: BeforeCommit<ScrapeRun> | undefined,
): Promise<ScrapeRun | null> {
  const [batch, ...others] = batchesOf(inLockOrder(references), pushLimits);
  if (batch === undefined || others.length > 0) return null;
  const key = { tenantId, source, scrapeRunId: newId(), createdBy };
  try {
    await deps.quotas.assertRoom(tenantId);
    return await deps.db.transaction<ScrapeRun, ScrapeSource>(
      { role: 'sluice_tenant', tenantId },
      async (tx, [found]) => {
        const run = await write(deps, tx, key, { source: pushable(found, source), references: batch });
        await beforeCommit?.(tx, run);
        return run;
      },
      shareStatement({ tenantId, source }),
    );
  } catch (error) {
    if (isRefusal(error)) throw error;
    if (!(error instanceof NotAtOnce)) {
      deps.logger.info({ err: error, tenant_id: tenantId }, 'a push is tried again in several transactions');
    }
    return isSluiceError(error) && error.code === 'commit_unknown' ? findCommitted(deps, key) : null;
  }
}

export function refuseCrawled({ source }: Pick<ScrapeSource, 'source'>): never {
  throw scrapeErrors.raise.scrape_body_wrong(
    `Source ${source} is crawled; references cannot be pushed to it`,
  );
}

function pushable(found: ScrapeSource | undefined, source: string): ScrapeSource {
  if (found === undefined) {
    throw scrapeErrors.raise.scrape_source_not_found(`There is no scrape source ${source}`);
  }
  if (found.mode === 'crawl') refuseCrawled(found);
  return found;
}

function isRefusal(error: unknown): boolean {
  return isSluiceError(error) && ['scrape_source_not_found', 'scrape_body_wrong'].includes(error.code);
}

/** The response to the commit was lost; if it took effect, the run is there. */
function findCommitted({ db }: PushDeps, key: PushKey): Promise<ScrapeRun | null> {
  return db.tenant(key.tenantId, (tx) => findRun(tx, key));
}

async function write(
  deps: PushDeps,
  tx: Tx,
  key: PushKey,
  { source, references }: { source: ScrapeSource; references: readonly NewReference[] },
): Promise<ScrapeRun> {
  const touched = await upsertReferences(
    tx,
    key,
    references.map((one) => ({ ...one, referenceId: newId(), payloadHash: payloadHashOf(one) })),
  );
  const queued = await handOver(deps, tx, key, { source, touched });
  const counts = addCounts(noCounts, {
    persisted: touched.length,
    created: touched.filter(({ isCreated }) => isCreated).length,
    changed: touched.filter(({ isChanged }) => isChanged).length,
    queued,
    skipped: touched.length - queued,
  });
  tx.afterCommit(() => announce(deps, counts));
  return insertEndedRun(tx, key, counts);
}

/** Returns how many references were handed over; the others have been before. */
async function handOver(
  { knowledge }: PushDeps,
  tx: Tx,
  key: PushKey,
  { source: { kbId }, touched }: { source: ScrapeSource; touched: readonly TouchedReference[] },
): Promise<number> {
  const { tenantId } = key;
  const older = touched.filter(({ isCreated }) => !isCreated).map(({ referenceId }) => referenceId);
  if (older.length > 0 && (await areBusy(tx, { tenantId, referenceIds: older }))) throw new NotAtOnce();
  const kbMadeAt = await knowledge.admit(tx, { tenantId, kbId });
  if (kbMadeAt === null) throw new NotAtOnce();
  const wishes = touched.map(({ referenceId, payloadHash, isChanged }) => {
    return { handoffId: newId(), referenceId, payloadHash, isForced: isChanged, jobId: newId() };
  });
  const opened = await openHandoffs(tx, { ...key, kbId, kbMadeAt }, wishes);
  if (opened.length === 0) return 0;
  const jobs = opened.map(({ jobId, ...handoff }) => {
    if (jobId === null) throw new NotAtOnce();
    return { ...jobOf(handoff), jobId };
  });
  const made = await insertJobs(tx, tenantId, jobs);
  // A dead letter of one of them was requeued at the same time.
  if (made.length < jobs.length) throw new NotAtOnce();
  return made.length;
}

function announce({ wake, metrics, scrapes }: PushDeps, counts: RunCounts): void {
  if (counts.queued > 0) wake.announce('jobs', 'events');
  for (let n = 0; n < counts.queued; n += 1) metrics.jobsQueued.inc({ pipeline: ingestionPipeline });
  scrapes.counted(counts);
}
