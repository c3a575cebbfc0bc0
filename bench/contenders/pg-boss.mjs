// A process of pg-boss with a handler that does nothing, writes a row per job, or reports when it starts.
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { effectQuery } from './effect.mjs';
import { countHandled, noteCall, settings, tellBegin, tellHandled, untilGo } from './protocol.mjs';

const { ownerUrl, tellsBegin, effect, best } = settings;
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
  const pool = new pg.Pool({ connectionString: ownerUrl, max: best.handlerPool ?? 1 });
  await untilGo();
  tellHandled();
  const options = {
    batchSize: best.batchSize,
    localConcurrency: best.localConcurrency,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
  };
  await boss.work('noop', options, async (jobs) => {
    noteCall();
    await writeRows(pool, jobs);
    countHandled(jobs.length);
  });
}

/** `each`: every job writes its own row, side by side. `together`: one statement for the jobs of a batch. */
async function writeRows(pool, jobs) {
  const subjectIds = jobs.map(({ data }) => data.subjectId);
  if (effect === 'together') await pool.query(effectQuery(subjectIds));
  else if (effect) await Promise.all(subjectIds.map((subjectId) => pool.query(effectQuery([subjectId]))));
}
