// A process of graphile-worker with a task that does nothing, or that reports when it starts.
import { Logger, run } from 'graphile-worker';
import { countHandled, settings, tellBegin, tellHandled, untilGo } from './protocol.mjs';

const { ownerUrl, tellsBegin, best } = settings;

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
  noop: (payload) => {
    if (tellsBegin) tellBegin(payload.subjectId);
    else countHandled(1);
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
