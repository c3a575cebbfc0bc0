// How long a job takes from a request over HTTP to its first claim.
import { join } from 'node:path';
import { until } from './children.mjs';
import { uploadCsv } from './http.mjs';
import { withClient } from './postgres.mjs';
import { writeCsv } from './row-files.mjs';
import { makeScratch } from './scratch.mjs';
import { startServe, startWorkers } from './sluice.mjs';

/** A server with default settings that works itself, or has a worker process beside it. */
export async function openItemClaims(server, { hasWorker }) {
  const database = await server.sluiceDatabase();
  const scratch = await makeScratch();
  const path = join(scratch.path, 'one-row.csv');
  await writeCsv(path, 1);
  const serve = await startServe({ database, hasWorker });
  const workers = hasWorker ? null : await startWorkers(1, { database });
  return {
    /** Sends one row; returns the milliseconds until its job was claimed for the first time. */
    async takeOne() {
      // The wall clock, because the database's clock is compared with it.
      const fromMs = performance.timeOrigin + performance.now();
      const jobId = await uploadCsv(serve, path);
      return (await startOf(database, jobId)) - fromMs;
    },
    async close() {
      await workers?.stop();
      await serve.stop();
      await scratch.remove();
      await database.drop();
    },
  };
}

/** When the job was first claimed; resolves once it has ended, so that the next one meets an idle system. */
function startOf(database, jobId) {
  return withClient(database.ownerUrl, async (client) => {
    let job;
    const hasEnded = async () => {
      const { rows } = await client.query(
        `select status, extract(epoch from started_at)::float8 * 1000 as "startedAtMs"
           from ingestion_jobs
          where job_id = $1`,
        [jobId],
      );
      [job] = rows;
      return job?.status === 'success';
    };
    await until(`job ${jobId} has ended`, hasEnded);
    return job.startedAtMs;
  });
}
