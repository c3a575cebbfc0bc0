import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import { skipOpen } from './service.ts';
import { findItemJob } from './store.ts';
import { pipelineName } from './types.ts';
import { type ItemWorkerDeps, takeItemTurn } from './worker.ts';

/** Items as a pipeline of the kernel: jobs are shared, and cancelling skips what is open. */
export function itemsPipeline(deps: ItemWorkerDeps): Pipeline {
  return {
    name: pipelineName,
    maxRetries: 0,
    advance: () => Promise.reject(new Error('Jobs of items are shared: they take turns')),
    takeTurn: (turn) => takeItemTurn(deps, turn),
    cleanUp: (slice) => skipOpen(deps, slice),
    onError: unexpectedOutcome,
    remaining: async (job) => {
      const items = await deps.db.tenant(job.tenantId, (tx) => findItemJob(tx, job));
      return items === null ? null : items.counts.pending + items.counts.processing;
    },
  };
}
