import type { Pipeline } from '../../kernel/jobs/types.ts';
import { cleanUpRun, refuseLateCancel } from './run/cleanup.ts';
import type { KnowledgeWorkerDeps } from './run/deps.ts';
import { RunStash } from './run/stash.ts';
import { InFlight } from './run/steps/in-flight.ts';
import { pipelineName } from './types.ts';
import { advanceKnowledge, outcomeOf } from './worker.ts';

const maxRetries = 5;

export interface KnowledgePipeline extends Pipeline {
  /** Discards what was loaded ahead between slices. */
  close(): void;
}

/** Runs of knowledge bases, and the ingestion of single references, as a pipeline of the kernel. */
export function knowledgePipeline(deps: KnowledgeWorkerDeps): KnowledgePipeline {
  const stash = new RunStash();
  const worker = { ...deps, stash, inFlight: new InFlight() };
  return {
    name: pipelineName,
    maxRetries,
    advance: (slice) => advanceKnowledge(worker, slice),
    cleanUp: (slice) => {
      stash.drop(slice.job.jobId);
      return cleanUpRun(deps, slice);
    },
    onCancel: refuseLateCancel,
    onError: outcomeOf,
    // A newer payload of its reference may wait for its end.
    mayBeFollowed: ({ payload }) => payload.referenceId !== undefined,
    remaining: () => null,
    close: () => stash.close(),
  };
}
