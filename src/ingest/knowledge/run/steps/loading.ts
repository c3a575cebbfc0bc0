import { listFrontier } from '../../../../kernel/crawl/frontier-store.ts';
import { type KnownRow, knownStatement, listKnownPage } from '../../index/visit-store.ts';
import type { DocumentBatch, KnownDocument, LoadContext, SourceCursor } from '../../sources/source.ts';
import { listSources } from '../../store.ts';
import type { KnowledgeSource } from '../../types.ts';
import type { LoadedBatch, RunContext } from '../context.ts';
import { findPredecessor } from '../store.ts';

const maxSources = 1_000;

/** The batches of all sources, one source after the other, from the checkpoint on. */
export async function* loadBatches(run: RunContext, signal: AbortSignal): AsyncGenerator<LoadedBatch> {
  const { cursor, last_batch_id } = run.checkpoint;
  let batchId = last_batch_id;
  let from = cursor;
  for (;;) {
    const source = await nextSource(run, from);
    if (source === null) return;
    const position = from?.source_id === source.sourceId ? from.position : null;
    const looks = new Looks(run, source);
    for await (const batch of batchesOf(run, source, { position, signal, looks })) {
      batchId += 1;
      yield { source, batchId, batch, known: looks.find(batch) };
    }
    from = { source_id: source.sourceId, position: null, is_over: true };
  }
}

/** Lists the sources again each time: one that was added meanwhile is read, one that was deleted is not. */
async function nextSource(
  { deps, key, referenceId, source }: RunContext,
  from: RunContext['checkpoint']['cursor'],
): Promise<KnowledgeSource | null> {
  // There is one source for references.
  if (referenceId !== null && from?.is_over) return null;
  if (source !== null && from === null) return source;
  const sources = await deps.db.tenant(key.tenantId, (tx) => listSources(tx, { ...key, limit: maxSources }));
  const wanted = referenceId === null ? sources : sources.filter(({ type }) => type === 'reference');
  return (
    wanted.find(({ sourceId }) => {
      if (from === null) return true;
      return from.is_over ? sourceId > from.source_id : sourceId >= from.source_id;
    }) ?? null
  );
}

async function* batchesOf(
  run: RunContext,
  source: KnowledgeSource,
  { position, signal, looks }: { position: SourceCursor | null; signal: AbortSignal; looks: Looks },
): AsyncGenerator<DocumentBatch> {
  const { deps, kb, key, jobId, referenceId } = run;
  const opened = await deps.openSource(kb, source, { referenceId });
  const frontier =
    position === null
      ? []
      : await deps.db.tenant(key.tenantId, (tx) =>
          listFrontier(tx, { tenantId: key.tenantId, jobId, source: source.sourceId }),
        );
  const context = { cursor: position, frontier, signal, ...(await knowledgeOf(run, source, looks)) };
  let cursor = position ?? {};
  for await (const batch of opened.batches(context)) {
    signal.throwIfAborted();
    yield batch;
    if (batch.end) return;
    cursor = batch.cursor;
  }
  const reason = 'The source ended without saying whether it listed all its documents';
  yield { documents: [], cursor, end: { isComplete: false, reason } };
}

/** What a source may look up about earlier runs. */
async function knowledgeOf(
  run: RunContext,
  source: KnowledgeSource,
  looks: Looks,
): Promise<Pick<LoadContext, 'findKnown' | 'listKnown' | 'wasComplete'>> {
  const { deps, key, jobId, referenceId } = run;
  const { sourceId } = source;
  // One reference says nothing about the others, so that no run of one is complete.
  const before =
    referenceId === null
      ? await deps.db.tenant(key.tenantId, (tx) => findPredecessor(tx, { ...key, jobId }))
      : null;
  return {
    findKnown: (uris) => looks.look(uris),
    listKnown: (page) => deps.db.tenant(key.tenantId, (tx) => listKnownPage(tx, { ...key, sourceId }, page)),
    wasComplete: before?.status === 'success' && before.complete.includes(sourceId),
  };
}

/** Keeps the last lookup of a source, so that the batch that it makes of it needs no second one. */
class Looks {
  readonly #run: Pick<RunContext, 'deps' | 'key'>;
  readonly #source: Pick<KnowledgeSource, 'sourceId'>;
  #asked: ReadonlySet<string> = new Set();
  #rows: ReadonlyMap<string, KnownRow> = new Map();

  constructor(run: Pick<RunContext, 'deps' | 'key'>, source: Pick<KnowledgeSource, 'sourceId'>) {
    this.#run = run;
    this.#source = source;
  }

  async look(uris: readonly string[]): Promise<Map<string, KnownDocument>> {
    const rows = await findRows(this.#run, this.#source, uris);
    this.#asked = new Set(uris);
    this.#rows = byUri(rows);
    return knownDocuments(rows);
  }

  /** Null if the source has not looked up all documents of the batch. */
  find({ documents }: DocumentBatch): ReadonlyMap<string, KnownRow> | null {
    return documents.every(({ uri }) => this.#asked.has(uri)) ? this.#rows : null;
  }
}

export async function findRows(
  { deps, key }: Pick<RunContext, 'deps' | 'key'>,
  { sourceId }: Pick<KnowledgeSource, 'sourceId'>,
  uris: readonly string[],
): Promise<KnownRow[]> {
  if (uris.length === 0) return [];
  const context = { role: 'sluice_tenant', tenantId: key.tenantId } as const;
  return deps.db.statement<KnownRow>(context, knownStatement({ ...key, sourceId }, uris));
}

export function byUri(rows: readonly KnownRow[]): Map<string, KnownRow> {
  return new Map(rows.map((row) => [row.uri, row]));
}

export async function findKnownDocuments(
  run: Pick<RunContext, 'deps' | 'key'>,
  source: Pick<KnowledgeSource, 'sourceId'>,
  uris: readonly string[],
): Promise<Map<string, KnownDocument>> {
  return knownDocuments(await findRows(run, source, uris));
}

function knownDocuments(rows: readonly KnownRow[]): Map<string, KnownDocument> {
  return new Map(
    rows.map(({ uri, contentHash, etag, lastModified }) => {
      // An incomplete document must be loaded again, even if its source says that it has not changed.
      const isIn = contentHash !== null;
      return [uri, { uri, contentHash, etag: isIn ? etag : null, lastModified: isIn ? lastModified : null }];
    }),
  );
}
