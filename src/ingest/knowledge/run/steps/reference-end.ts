import type { SliceResult } from '../../../../kernel/jobs/types.ts';
import { dropRevisions } from '../../index/removal.ts';
import type { KnowledgeCounters } from '../../types.ts';
import { addCounts, stateOf } from '../checkpoint.ts';
import type { EmbeddedGroup, Group, SliceContext } from '../context.ts';
import { adoptReferences } from '../store.ts';
import { chunksOf } from './embed-step.ts';
import { GroupCommit } from './indexing.ts';

/**
 * Whether a group is all that the run of a reference has to write. Chunks that were found in the index may be deleted
 * before the commit, and then the group has to be embedded again: such a run takes the usual way.
 */
export function isWholeReference(
  { run, slice }: SliceContext,
  { group, vectors, refused }: EmbeddedGroup,
): boolean {
  const isNew = run.checkpoint.step === 0 && Object.keys(slice.job.checkpoint).length === 0;
  const isOnlyGroup = run.referenceId !== null && isNew && group.batch?.end !== undefined;
  if (!isOnlyGroup || group.gone.length > 0 || group.discardsPartial) return false;
  return chunksOf(group).every(({ contentHash }) => vectors.has(contentHash) || refused.has(contentHash));
}

/**
 * Writes a reference, and ends its run, in the one transaction that settles the slice. Nothing of it is stored before,
 * so there is nothing that a cancel would have to undo.
 */
export function endReference(context: SliceContext, embedded: EmbeddedGroup): SliceResult {
  const { run, slice, activeBeforeMs, startedAtMs } = context;
  const { key, jobId, checkpoint } = run;
  const before = run.counters;
  const counters = addCounts(before, countsOf(embedded));
  const active_ms = Math.round(activeBeforeMs + performance.now() - startedAtMs);
  const ended = { ...checkpoint, target: null, step: 1, stage: 'sweep' as const, active_ms };
  return {
    ...stateOf(ended, counters),
    outcome: { type: 'done', result: { kb_id: key.kbId, generation: key.generation } },
    effects: async (tx) => {
      const { documentIds } = await new GroupCommit(context, embedded, slice.job).write(tx);
      if (documentIds.length > 0) {
        const unused = await adoptReferences(tx, { ...key, jobId, documentIds });
        if (unused.length > 0) await dropRevisions(tx, key, unused);
      }
      tx.afterCommit(() => run.deps.metrics.committed(before, counters, run.embedder.provider));
    },
  };
}

/** Of several chunks with one text, the first is embedded. */
function countsOf({ group, vectors, refused, tokens }: EmbeddedGroup): Partial<KnowledgeCounters> {
  const uncounted = new Set(vectors.keys());
  const counts = { chunks_processed: 0, chunks_skipped: 0, chunks_error: 0 };
  for (const { chunk } of group.parts.flatMap(({ chunks }) => chunks)) {
    if (refused.has(chunk.contentHash)) counts.chunks_error += 1;
    else if (uncounted.delete(chunk.contentHash)) counts.chunks_processed += 1;
    else counts.chunks_skipped += 1;
  }
  const { parts, unchanged, empty, failed } = group;
  return {
    ...counts,
    chunks_seen: parts.reduce((sum, { chunks }) => sum + chunks.length, 0),
    docs_seen: parts.length + unchanged.length + empty.length + failed.length,
    docs_unchanged: unchanged.length,
    docs_empty: empty.length,
    docs_error: failed.length + incompleteOf(group, refused),
    tokens_embedded: tokens,
  };
}

/** How many documents have a chunk that the embedder refused. */
function incompleteOf({ parts }: Group, refused: EmbeddedGroup['refused']): number {
  const isRefused = ({ chunks }: Group['parts'][number]) =>
    chunks.some(({ chunk }) => refused.has(chunk.contentHash));
  return parts.filter(isRefused).length;
}
