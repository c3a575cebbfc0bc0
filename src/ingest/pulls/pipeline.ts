import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import { maxRetries, pipelineName } from './types.ts';
import { advancePull, type PullDeps } from './worker.ts';

/** Pulls as a pipeline of the kernel: one active pull per source, leased and fenced. */
export function pullsPipeline(deps: PullDeps): Pipeline {
  return {
    name: pipelineName,
    maxRetries,
    advance: (slice) => advancePull(deps, slice),
    onError: unexpectedOutcome,
    remaining: () => null,
  };
}
