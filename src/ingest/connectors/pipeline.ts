import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import { cleanUpSync } from './sync/cleanup.ts';
import type { SyncWorkerDeps } from './sync/deps.ts';
import { maxRetries, pipelineName } from './types.ts';
import { advanceSync } from './worker.ts';

/** Syncs as a pipeline of the kernel: triggered once, then polled until Airbyte is done. */
export function syncPipeline(deps: SyncWorkerDeps): Pipeline {
  return {
    name: pipelineName,
    maxRetries,
    advance: (slice) => advanceSync(deps, slice),
    cleanUp: (slice) => cleanUpSync(deps, slice),
    onError: unexpectedOutcome,
    remaining: () => null,
  };
}
