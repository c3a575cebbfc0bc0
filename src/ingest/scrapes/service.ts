import type { JobsDeps } from '../../kernel/jobs/dispatch/service.ts';
import { findActive } from '../../kernel/jobs/store.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { scrapeErrors } from './errors.ts';
import { unavailableNotice } from './handoffs/hand-over.ts';
import {
  countHandoffs,
  deleteHandoffs,
  type HandoffFilter,
  hasHandoffs,
  listHandoffs,
} from './handoffs/handoff-store.ts';
import { deleteReferences } from './references/reference-store.ts';
import { findRun } from './runs/run-store.ts';
import { countSources, deleteSource, findSource, lockSource, type NewSource, putSource } from './store.ts';
import {
  type Handoff,
  type HandoffStatus,
  type KnowledgeDoor,
  pipelineName,
  type RunKey,
  type ScrapeRun,
  type ScrapeSource,
  type SourceKey,
} from './types.ts';

export interface SourceDeps {
  db: Database;
  knowledge: KnowledgeDoor;
  maxSources: number;
}

/** Refuses a source whose knowledge base does not exist; prepares the knowledge base for references. */
export function saveSource(
  { db, knowledge, maxSources }: SourceDeps,
  source: NewSource,
): Promise<ScrapeSource & { isNew: boolean }> {
  const { tenantId, kbId } = source;
  return db.tenant(tenantId, async (tx) => {
    const before = await lockSource(tx, source);
    if (before === null && (await countSources(tx, { tenantId, limit: maxSources })) >= maxSources) {
      throw scrapeErrors.raise.scrape_source_limit_reached(
        `The tenant has ${maxSources} scrape sources, which is the limit`,
      );
    }
    if ((await knowledge.admit(tx, { tenantId, kbId })) === null) {
      throw scrapeErrors.raise.scrape_kb_missing(`There is no knowledge base ${kbId}`, {
        fields: [{ pointer: '/kb_id', message: 'must be the id of a knowledge base of the tenant' }],
      });
    }
    return putSource(tx, source);
  });
}

export function getSource({ db }: { db: Database }, key: SourceKey): Promise<ScrapeSource> {
  return db.tenant(key.tenantId, (tx) => getSourceIn(tx, key));
}

export async function getSourceIn(tx: Tx, key: SourceKey): Promise<ScrapeSource> {
  const source = await findSource(tx, key);
  if (source) return source;
  throw scrapeErrors.raise.scrape_source_not_found(`There is no scrape source ${key.source}`);
}

const batchSize = 1_000;
const maxBatches = 100_000;

/**
 * Deletes the source with its references and hand-offs, in batches; its runs are kept as history. The next run of the
 * knowledge base removes the documents from the index.
 */
export async function removeSource({ db }: Pick<JobsDeps, 'db'>, key: SourceKey): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const isDone = await db.tenant(key.tenantId, async (tx) => {
      const source = await lockSource(tx, key);
      if (source === null) {
        if (batch > 0) return true;
        throw scrapeErrors.raise.scrape_source_not_found(`There is no scrape source ${key.source}`);
      }
      await refuseBusy(tx, key);
      const handoffs = (await hasHandoffs(tx)) ? await deleteHandoffs(tx, { ...key, limit: batchSize }) : 0;
      const references = await deleteReferences(tx, { ...key, limit: batchSize });
      if (handoffs === batchSize || references === batchSize) return false;
      await deleteSource(tx, key);
      return true;
    });
    if (isDone) return;
  }
}

async function refuseBusy(tx: Tx, { tenantId, source }: SourceKey): Promise<void> {
  const active = await findActive(tx, { tenantId, pipeline: pipelineName, subjectId: source });
  if (!active) return;
  throw scrapeErrors.raise.scrape_source_busy(
    `Source ${source} has the active job ${active.jobId} (${active.status})`,
    { details: { active_job_id: active.jobId } },
  );
}

export async function getRunIn(tx: Tx, key: SourceKey & RunKey): Promise<ScrapeRun> {
  const run = await findRun(tx, key);
  if (run) return run;
  throw scrapeErrors.raise.scrape_run_not_found(`Source ${key.source} has no run ${key.scrapeRunId}`);
}

export interface RunWithHandoffs {
  run: ScrapeRun;
  /** The current state of its hand-offs; null while hand-offs are disabled. */
  handoffs: Record<HandoffStatus, number> | null;
}

export function getRun({ db }: { db: Database }, key: SourceKey & RunKey): Promise<RunWithHandoffs> {
  return db.tenant(key.tenantId, async (tx) => {
    const run = await getRunIn(tx, key);
    const { tenantId, source, scrapeRunId } = key;
    const isThere = await hasHandoffs(tx);
    return { run, handoffs: isThere ? await countHandoffs(tx, { tenantId, source, scrapeRunId }) : null };
  });
}

export interface HandoffPage {
  handoffs: Handoff[];
  total: number;
}

/** Throws a 503 while hand-offs are disabled. */
export function listHandoffPage(
  { db }: { db: Database },
  filter: HandoffFilter & { after: string | null; offset: number; limit: number },
): Promise<HandoffPage> {
  return db.tenant(filter.tenantId, async (tx) => {
    await getSourceIn(tx, filter);
    if (!(await hasHandoffs(tx))) throw scrapeErrors.raise.handoffs_unavailable(unavailableNotice);
    const counts = await countHandoffs(tx, filter);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { handoffs: await listHandoffs(tx, filter), total };
  });
}
