// A process of pg-boss with a handler that does nothing, or that reports when it starts.
import { PgBoss } from 'pg-boss';
import { countHandled, settings, tellBegin, tellHandled, untilGo } from './protocol.mjs';

const { ownerUrl, tellsBegin, best } = settings;
const boss = new PgBoss({
  connectionString: ownerUrl,
  supervise: false,
  schedule: false,
  useListenNotify: tellsBegin === true,
});
boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
await boss.start();

if (tellsBegin) {
  await boss.work('noop', { pollingIntervalSeconds: 0.5 }, async ([job]) => tellBegin(job.data.subjectId));
  await untilGo();
} else {
  await untilGo();
  tellHandled();
  const options = {
    batchSize: best.batchSize,
    localConcurrency: best.localConcurrency,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
  };
  await boss.work('noop', options, async (jobs) => countHandled(jobs.length));
}
