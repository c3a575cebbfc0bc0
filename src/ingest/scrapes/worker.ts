import { deleteFrontier, extendFrontier, listFrontier } from '../../kernel/crawl/frontier-store.ts';
import type { Wait } from '../../kernel/crawl/polite-requests.ts';
import type { CrawlBounds, CrawlProgress } from '../../kernel/crawl/types.ts';
import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import type { Job, Outcome, Slice, SliceResult } from '../../kernel/jobs/types.ts';
import { isSluiceError } from '../../lib/errors.ts';
import { fetchFor, type GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { storable } from '../../lib/well-formed.ts';
import { CrawlBatch } from './crawl/batch.ts';
import { type CrawlPlace, type CrawlTools, crawlSteps } from './crawl/steps.ts';
import { scrapeFailures } from './errors.ts';
import { type HandOverDeps, handOver, unavailableNotice } from './handoffs/hand-over.ts';
import { listKnown, listKnownOf } from './references/reference-store.ts';
import { persistIn } from './runs/persist.ts';
import { finishRun, readPreviousCrawl, reopenRun, savePoliteness, saveRunCounts } from './runs/run-store.ts';
import { findSource } from './store.ts';
import { addCounts, noCounts, type RunCounts, type ScrapeSource } from './types.ts';

export interface CrawlDeps extends HandOverDeps {
  fetch: GuardedFetch;
  sliceMs: number;
  bounds?: Partial<CrawlBounds>;
  wait?: Wait;
}

interface Checkpoint {
  progress: CrawlProgress | null;
  was_complete: boolean;
  /** The reason of the first failure. */
  reason: string | null;
  step: number;
  /** Set when the crawl has ended and only cleaning up is left: if the process dies then, it must not crawl again. */
  end: CrawlEnd | null;
}

interface CrawlEnd {
  isComplete: boolean;
  reason: string;
}

/** One slice of a crawl: reads pages and stores them in batches, each with its hand-offs, until the time is up. */
export async function advanceCrawl(deps: CrawlDeps, slice: Slice): Promise<SliceResult> {
  try {
    return await advance({ ...deps, fetch: fetchFor(deps.fetch, slice.job.tenantId) }, slice);
  } catch (error) {
    slice.signal.throwIfAborted();
    if (isSluiceError(error) && infrastructure.includes(error.code)) throw error;
    const outcome = outcomeOf(error, slice.job);
    if (outcome.type !== 'dead') return { outcome };
    const { code: errorCode, message: errorText } = outcome.failure;
    const key = runKeyOf(slice.job);
    return {
      outcome,
      effects: async (tx) => void (await finishRun(tx, key, { status: 'failed', errorCode, errorText })),
    };
  }
}

/** Not a failure of the crawl: the runner drops the slice. */
const infrastructure = ['database_unavailable', 'commit_unknown', 'lease_lost'];

export function outcomeOf(error: unknown, job: Job): Outcome {
  if (isSluiceError(error) && error.code in scrapeFailures.definitions) {
    return { type: 'dead', failure: { code: error.code, message: error.message, class: 'permanent' } };
  }
  if (isSluiceError(error) && error.code === 'write_conflict') return { type: 'wait', delayMs: 500 };
  return unexpectedOutcome(error, job);
}

function runKeyOf({ tenantId, payload, subjectId }: Job) {
  return { tenantId, source: subjectId, scrapeRunId: String(payload.scrapeRunId) };
}

async function advance(deps: CrawlDeps, slice: Slice): Promise<SliceResult> {
  const { source, place, end } = await open(slice);
  if (end) return finish(slice, end);
  const deadlineMs = performance.now() + deps.sliceMs;
  const tools = toolsOf(deps, slice, source);
  let batch = newBatch(deps, slice);
  let hasProgress = false;
  for await (const step of crawlSteps(source, tools, place)) {
    await batch.add(step);
    hasProgress ||= batch.hasProgress();
    const isOver = hasProgress && (performance.now() > deadlineMs || slice.shouldYield());
    if (!batch.isFull() && !isOver && !step.end) continue;
    await commit(deps, slice, { batch, wasComplete: place.wasComplete, end: step.end ?? null });
    if (step.end) return finish(slice, step.end);
    if (isOver) return { outcome: { type: 'continue' } };
    batch = newBatch(deps, slice);
  }
  throw new Error('The crawl ended without an end step');
}

function newBatch({ knowledge, scrapes }: CrawlDeps, { signal }: Slice): CrawlBatch {
  return new CrawlBatch({ knowledge, metrics: scrapes, signal });
}

interface OpenCrawl {
  source: ScrapeSource;
  place: CrawlPlace;
  end: CrawlEnd | null;
}

async function open(slice: Slice): Promise<OpenCrawl> {
  const key = runKeyOf(slice.job);
  const { jobId } = slice.job;
  return slice.transaction(async (tx, job) => {
    const source = await findSource(tx, key);
    if (source === null || source.mode !== 'crawl') {
      throw scrapeFailures.raise.scrape_source_gone(
        `Source ${key.source} was deleted, or is no longer crawled`,
      );
    }
    // A dead letter that was requeued continues its run.
    await reopenRun(tx, { ...key, jobId });
    const { progress, was_complete, end } = checkpointOf(job);
    const isFirst = Object.keys(job.checkpoint).length === 0;
    const previous = await readPreviousCrawl(tx, key);
    const wasComplete = isFirst ? previous.wasComplete : was_complete;
    const frontier = isFirst ? [] : await listFrontier(tx, { ...key, jobId });
    return { source, place: { frontier, progress, wasComplete, missed: previous.missed }, end };
  });
}

function checkpointOf({ checkpoint }: Job): Checkpoint {
  return {
    progress: null,
    was_complete: false,
    reason: null,
    step: 0,
    end: null,
    ...(checkpoint as Partial<Checkpoint>),
  };
}

function countersOf({ counters }: Job): RunCounts {
  return addCounts(noCounts, counters as Partial<RunCounts>);
}

function toolsOf(deps: CrawlDeps, { signal }: Slice, { tenantId, source }: ScrapeSource): CrawlTools {
  const { db, fetch, bounds, wait } = deps;
  const key = { tenantId, source };
  return {
    fetch,
    signal,
    bounds,
    wait,
    findKnown: async (urls) => {
      const rows = await db.tenant(tenantId, (tx) => listKnownOf(tx, key, urls));
      return new Map(rows.map((row) => [row.url, row]));
    },
    listKnown: (page) => db.tenant(tenantId, (tx) => listKnown(tx, { ...key, ...page })),
  };
}

/** Commits pages, hand-offs, frontier, checkpoint and counts in one transaction; then creates the jobs. */
async function commit(
  deps: CrawlDeps,
  slice: Slice,
  { batch, wasComplete, end }: { batch: CrawlBatch; wasComplete: boolean; end: CrawlEnd | null },
): Promise<void> {
  const key = { ...runKeyOf(slice.job), createdBy: slice.job.createdBy };
  const { tenantId, jobId } = slice.job;
  const made = await slice.transaction(
    async (tx, job) => {
      const { opened, counts } = await persistIn(tx, { ...key, knowledge: deps.knowledge }, batch.brought());
      await extendFrontier(tx, { ...key, jobId }, batch);
      const { newCount: queued, skippedCount: skipped, handoffs } = opened;
      const more = { ...counts, queued, skipped, pagesFailed: batch.pagesFailed };
      const counters = addCounts(countersOf(job), more);
      const handoffNotice = handoffs === null ? unavailableNotice : null;
      await saveRunCounts(tx, key, { counts: counters, handoffNotice });
      const { delayMs, pausedMs } = batch.progress ?? {};
      if (delayMs !== undefined) await savePoliteness(tx, key, { delayMs, pausedMs: pausedMs ?? 0 });
      return { opened, more, counters, before: checkpointOf(job) };
    },
    ({ counters, before }) => ({
      counters: { ...counters },
      checkpoint: {
        progress: batch.progress,
        was_complete: wasComplete,
        reason: before.reason ?? batch.reason,
        step: before.step + 1,
        end,
      },
      stage: 'crawl',
    }),
  );
  const { counts, notice } = await handOver(deps, tenantId, made.opened);
  deps.scrapes.counted({ ...made.more, ...counts, ...(counts.failed ? { queued: 0 } : {}) });
  if ((counts.queued ?? 0) === made.opened.newCount) return;
  // What was counted as queued has failed, or hand-offs are disabled now.
  await slice.transaction(
    async (tx, job) => {
      const counters = addCounts(countersOf(job), {
        queued: -made.opened.newCount,
        failed: counts.failed ?? 0,
      });
      await saveRunCounts(tx, key, { counts: counters, handoffNotice: notice });
      return counters;
    },
    (counters) => ({ counters: { ...counters } }),
  );
}

const frontierBatch = 5_000;

async function finish(slice: Slice, end: CrawlEnd): Promise<SliceResult> {
  const key = runKeyOf(slice.job);
  const { tenantId, jobId } = slice.job;
  const { counters, reason, missed } = await slice.transaction(async (_tx, job) => ({
    counters: countersOf(job),
    reason: checkpointOf(job).reason,
    missed: checkpointOf(job).progress?.missed ?? null,
  }));
  while (
    (await slice.transaction((tx) => deleteFrontier(tx, { tenantId, jobId, limit: frontierBatch }))) > 0
  );
  if (counters.persisted === 0 && counters.pagesFailed > 0) {
    throw scrapeFailures.raise.scrape_crawl_failed(`Nothing could be read: ${reason ?? end.reason}`);
  }
  const { isComplete } = end;
  const errorText = isComplete ? null : storable(end.reason).slice(0, 2_000);
  return {
    outcome: { type: 'done', result: { scrape_run_id: key.scrapeRunId, is_complete: isComplete } },
    effects: async (tx) =>
      void (await finishRun(tx, key, { status: 'completed', isComplete, missed, errorText })),
  };
}

/** Runs in the transaction that cancels the job. Stored references are kept: they may already be handed over. */
export async function endCanceledRun(tx: Tx, job: Job): Promise<void> {
  const errorText = 'Canceled by user; what the run had stored is kept';
  await finishRun(tx, runKeyOf(job), { status: 'failed', errorCode: 'canceled', errorText });
}

export async function cleanUpCrawl(slice: Slice): Promise<SliceResult> {
  const { tenantId, jobId } = slice.job;
  const limit = frontierBatch;
  const deleted = await slice.transaction((tx) => deleteFrontier(tx, { tenantId, jobId, limit }));
  return { outcome: { type: deleted < limit ? 'done' : 'continue' } };
}
