import { extendFrontier } from '../../../../kernel/crawl/frontier-store.ts';
import type { Job } from '../../../../kernel/jobs/types.ts';
import { newId } from '../../../../lib/ids.ts';
import type { Tx } from '../../../../lib/postgres/db.ts';
import { insertChunks, insertLinks, listPresent, moveLinks, type NewLink } from '../../index/chunk-store.ts';
import { bumpIndex } from '../../index/generation-store.ts';
import { dropRevisions } from '../../index/removal.ts';
import { vectorBytes } from '../../index/vector/vector-bytes.ts';
import {
  type IndexedDocument,
  noteFailures,
  noteGone,
  noteUnchanged,
  saveDocuments,
  type VisitKey,
} from '../../index/visit-store.ts';
import type { KnowledgeCounters } from '../../types.ts';
import {
  addCounts,
  type ChunkCounts,
  checkpointOf,
  countersOf,
  noCounts,
  type PartialDocument,
  type RunCheckpoint,
  stateOf,
} from '../checkpoint.ts';
import { type EmbeddedGroup, type Group, type GroupPart, placeOf, type SliceContext } from '../context.ts';
import { holdGeneration } from '../generations.ts';
import { chunksOf } from './embed-step.ts';

/** Chunks that were in the index when the group was made, and were deleted with the last document that had them. */
class ChunksLost extends Error {
  readonly hashes: string[];
  constructor(hashes: string[]) {
    super(`${hashes.length} chunks are no longer in the index`);
    this.hashes = hashes;
  }
}

interface Progress {
  checkpoint: RunCheckpoint;
  counters: KnowledgeCounters;
  /** Documents that got a new text, or have none. */
  documentIds: string[];
}

/**
 * Commits chunks, links, documents, counters and checkpoint of a group in one transaction. Returns the hashes of chunks
 * that are gone from the index since they were looked for: then nothing was committed.
 */
export async function commitGroup(context: SliceContext, embedded: EmbeddedGroup): Promise<string[]> {
  try {
    await commit(context, embedded);
    return [];
  } catch (error) {
    if (error instanceof ChunksLost) return error.hashes;
    throw error;
  }
}

async function commit(context: SliceContext, embedded: EmbeddedGroup): Promise<void> {
  const { run, slice, gate } = context;
  const before = run.counters;
  const progress = await slice.transaction(
    async (tx, job) => ({
      ...(await new GroupCommit(context, embedded, job).write(tx)),
      isPaused: job.status === 'paused',
    }),
    ({ checkpoint, counters }) => stateOf(checkpoint, counters),
  );
  run.checkpoint = progress.checkpoint;
  run.counters = progress.counters;
  for (const { uri, title, reason } of embedded.group.empty) {
    context.logger.warn({ ...placeOf(run, 'index'), uri, title, reason }, 'a document has no text');
  }
  gate.noteCommit();
  if (progress.isPaused) gate.pause();
  run.deps.metrics.committed(before, progress.counters, run.embedder.provider);
}

export class GroupCommit {
  readonly #context: SliceContext;
  readonly #embedded: EmbeddedGroup;
  readonly #key: VisitKey;
  readonly #stepAtLoad: number;
  #checkpoint: RunCheckpoint;
  #counters: KnowledgeCounters;
  #documentIds: string[] = [];

  constructor(context: SliceContext, embedded: EmbeddedGroup, job: Job) {
    const { run } = context;
    this.#context = context;
    this.#embedded = embedded;
    this.#key = { ...run.key, jobId: run.jobId, sourceId: embedded.group.source.sourceId };
    this.#stepAtLoad = run.checkpoint.step;
    this.#checkpoint = checkpointOf(job);
    this.#counters = countersOf(job);
  }

  async write(tx: Tx): Promise<Progress> {
    if (this.#checkpoint.step !== this.#stepAtLoad) {
      throw new Error(`Another worker has advanced run ${this.#key.jobId} to step ${this.#checkpoint.step}`);
    }
    const { group, tokens } = this.#embedded;
    await holdGeneration(tx, this.#context.run);
    if (group.discardsPartial) await this.#takeBack(tx);
    const chunkIds = await this.#storeChunks(tx);
    await this.#writeParts(tx, chunkIds);
    await this.#writeNotes(tx);
    await this.#endBatch(tx);
    this.#counters = addCounts(this.#counters, { tokens_embedded: tokens });
    this.#checkpoint = {
      ...this.#checkpoint,
      step: this.#checkpoint.step + 1,
      waiting: null,
      active_ms: this.#activeMs(),
    };
    return { checkpoint: this.#checkpoint, counters: this.#counters, documentIds: this.#documentIds };
  }

  /** The text of the partial document has changed before it was complete. */
  async #takeBack(tx: Tx): Promise<void> {
    const partial = this.#checkpoint.document;
    if (partial === null) return;
    const { run } = this.#context;
    await dropRevisions(tx, run.key, [{ documentId: partial.document_id, revision: partial.revision }]);
    this.#counters = addCounts(this.#counters, partial.counted, -1);
    this.#checkpoint = { ...this.#checkpoint, document: null };
  }

  /** Returns the ids of all chunks of the group that are in the index now, and which of them are new. */
  async #storeChunks(tx: Tx): Promise<{ ids: Map<string, number>; fresh: Set<string> }> {
    const { vectors, refused, group } = this.#embedded;
    const { run } = this.#context;
    const chunks = chunksOf(group);
    if (chunks.length === 0) return { ids: new Map(), fresh: new Set() };
    const made = chunks.flatMap((chunk) => {
      const vector = vectors.get(chunk.contentHash);
      return vector ? [{ ...chunk, vector: vectorBytes(vector) }] : [];
    });
    const inserted = made.length > 0 ? await insertChunks(tx, this.#key, made) : [];
    const ids = new Map(inserted.map(({ contentHash, chunkId }) => [contentHash, chunkId]));
    const fresh = new Set(ids.keys());
    const others = chunks.map(({ contentHash }) => contentHash).filter((hash) => !ids.has(hash));
    const present = others.length > 0 ? await listPresent(tx, this.#key, others) : [];
    for (const { contentHash, chunkId } of present) ids.set(contentHash, chunkId);
    const lost = others.filter((hash) => !ids.has(hash) && !refused.has(hash));
    if (lost.length > 0) throw new ChunksLost(lost);
    if (inserted.length > 0) {
      const added = inserted.map(({ contentHash, chunkId }) => {
        return { chunkId, vector: vectors.get(contentHash) as Float32Array };
      });
      await run.deps.engine.add(tx, { ...run.key, dimensions: run.embedder.dimensions }, added);
      await bumpIndex(tx, this.#key);
    }
    return { ids, fresh };
  }

  async #writeParts(tx: Tx, { ids, fresh }: { ids: Map<string, number>; fresh: Set<string> }): Promise<void> {
    const { group, refused } = this.#embedded;
    const links: NewLink[] = [];
    const settled: IndexedDocument[] = [];
    // Of several chunks with one text, the first counts as embedded.
    const uncounted = new Set(fresh);
    for (const part of group.parts) {
      const { document } = part;
      const begun = this.#progressOf(part);
      for (const { ordinal, chunk } of part.chunks) {
        const chunkId = ids.get(chunk.contentHash);
        begun.next_chunk = ordinal + 1;
        if (chunkId === undefined) {
          count(begun.counted, 'error');
          begun.failure ??= refused.get(chunk.contentHash) ?? null;
          continue;
        }
        count(begun.counted, uncounted.delete(chunk.contentHash) ? 'processed' : 'skipped');
        const { documentId, revision } = document;
        links.push({ ...chunk, ordinal, chunkId, documentId, revision });
      }
      const before = this.#checkpoint.document;
      const already = isSame(before, part) ? before.counted : noCounts;
      this.#counters = addCounts(addCounts(this.#counters, begun.counted), already, -1);
      this.#checkpoint = {
        ...this.#checkpoint,
        document: part.isLast || begun.next_chunk === 0 ? null : begun,
      };
      if (part.isLast) settled.push(settledOf(part, begun));
    }
    if (links.length > 0) await insertLinks(tx, this.#key, links);
    await this.#saveDocuments(tx, group, settled);
  }

  /** What is committed of a document, without this group. */
  #progressOf(part: GroupPart): PartialDocument {
    const before = this.#checkpoint.document;
    if (isSame(before, part)) return { ...before, counted: { ...before.counted } };
    const { document } = part;
    return {
      source_id: this.#key.sourceId,
      uri: document.uri,
      content_hash: document.contentHash,
      document_id: document.documentId,
      revision: document.revision,
      next_chunk: 0,
      counted: { ...noCounts },
      failure: null,
    };
  }

  async #saveDocuments(tx: Tx, group: Group, settled: IndexedDocument[]): Promise<void> {
    const empty = group.empty.map(emptyDocument);
    const all = [...settled, ...empty];
    if (all.length === 0) return;
    const kept = await saveDocuments(tx, this.#key, all);
    this.#documentIds = kept.map(({ documentId }) => documentId);
    const idOf = new Map(kept.map(({ uri, documentId }) => [uri, documentId]));
    for (const { uri, documentId, revision } of settled) {
      const to = idOf.get(uri);
      if (to !== undefined && to !== documentId)
        await moveLinks(tx, this.#key, { from: documentId, revision, to });
    }
    const failed = settled.filter(({ state }) => state === 'error').length;
    const counted = { docs_seen: all.length, docs_empty: empty.length, docs_error: failed };
    this.#counters = addCounts(this.#counters, counted);
  }

  async #writeNotes(tx: Tx): Promise<void> {
    const { unchanged, failed, gone } = this.#embedded.group;
    if (unchanged.length > 0) await noteUnchanged(tx, this.#key, unchanged);
    if (failed.length > 0) {
      const documents = failed.map(({ code, message, ...document }) => {
        return { documentId: newId(), ...document, errorCode: code, errorText: message };
      });
      await noteFailures(tx, this.#key, documents);
    }
    const goneCount = gone.length > 0 ? await noteGone(tx, this.#key, gone) : 0;
    this.#counters = addCounts(this.#counters, {
      docs_seen: unchanged.length + failed.length,
      docs_unchanged: unchanged.length,
      docs_error: failed.length,
      docs_gone: goneCount,
    });
  }

  async #endBatch(tx: Tx): Promise<void> {
    const { batch } = this.#embedded.group;
    if (batch === null) return;
    const { sourceId } = this.#key;
    await extendFrontier(tx, { ...this.#key, source: sourceId }, batch);
    const { complete, incomplete } = this.#checkpoint;
    const reason = batch.end?.reason ?? 'The source could not list all its documents';
    this.#checkpoint = {
      ...this.#checkpoint,
      last_batch_id: batch.batchId,
      cursor: { source_id: sourceId, position: batch.cursor, is_over: batch.end !== undefined },
      complete: batch.end?.isComplete ? [...complete, sourceId] : complete,
      incomplete:
        batch.end && !batch.end.isComplete ? [...incomplete, { source_id: sourceId, reason }] : incomplete,
    };
  }

  #activeMs(): number {
    const { activeBeforeMs, startedAtMs } = this.#context;
    return Math.round(activeBeforeMs + performance.now() - startedAtMs);
  }
}

function isSame(partial: PartialDocument | null, { document }: GroupPart): partial is PartialDocument {
  return partial?.document_id === document.documentId && partial.revision === document.revision;
}

function count(counts: ChunkCounts, outcome: 'processed' | 'skipped' | 'error'): void {
  counts.chunks_seen += 1;
  counts[`chunks_${outcome}`] += 1;
}

function settledOf({ document }: GroupPart, { counted, failure }: PartialDocument): IndexedDocument {
  const { chunks_error: errors, chunks_seen: seen } = counted;
  const text =
    failure && `${errors} of ${seen} chunks could not be embedded. First reason: ${failure.message}`;
  return {
    ...document,
    state: failure ? 'error' : 'indexed',
    // The next run tries an incomplete document again.
    contentHash: failure ? null : document.contentHash,
    chunkCount: seen - errors,
    errorCode: failure?.code ?? null,
    errorText: text,
  };
}

function emptyDocument({ reason, ...document }: Group['empty'][number]): IndexedDocument {
  return {
    documentId: newId(),
    ...document,
    mediaType: null,
    state: 'empty',
    contentHash: null,
    etag: null,
    lastModified: null,
    revision: 0,
    chunkCount: 0,
    errorCode: null,
    errorText: reason,
    notes: [],
  };
}
