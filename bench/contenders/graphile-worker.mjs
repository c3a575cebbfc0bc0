// A process of graphile-worker with a task that does nothing, writes a row, or reports when it starts.
import { Logger, run } from 'graphile-worker';
import { effectQuery } from './effect.mjs';
import { countHandled, noteCall, settings, tellBegin, tellHandled, untilGo } from './protocol.mjs';

const { ownerUrl, tellsBegin, effect, best } = settings;

const preset = {
  worker: {
    connectionString: ownerUrl,
    concurrentJobs: best.concurrentJobs,
    maxPoolSize: best.maxPoolSize,
    pollInterval: 2000,
    ...(best.localQueueSize > 0
      ? {
          localQueue: { size: best.localQueueSize, refetchDelay: { durationMs: best.refetchDelayMs } },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        }
      : {}),
    logger: new Logger(() => () => {}),
  },
};
const taskList = {
  // Tasks that write use the worker's own pool, as its documentation says.
  noop: async ({ subjectId }, { withPgClient }) => {
    if (tellsBegin) return tellBegin(subjectId);
    noteCall();
    if (effect) await withPgClient((client) => client.query(effectQuery([subjectId])));
    countHandled(1);
  },
};

if (tellsBegin) {
  await run({ preset, taskList });
  await untilGo();
} else {
  await untilGo();
  tellHandled();
  await run({ preset, taskList });
}
