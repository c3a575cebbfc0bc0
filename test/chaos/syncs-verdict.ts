import type { FakeJob } from '../support/fakes/fake-airbyte-state.ts';
import type { AskedSync, SyncsStage } from './syncs-stage.ts';

interface SyncRow {
  jobId: string;
  connectorId: string;
  status: string;
  runId: string | null;
  retryCount: number;
  errorCode: string | null;
  errorMessage: string | null;
  recordsSynced: string | null;
  /** What its events say: the runs that it followed, and the rows of each end. */
  triggered: string[];
  completed: string[];
}

/** Compares every sync with the two ledgers outside the database: what was acknowledged, and what Airbyte ran. */
export async function examineSyncs(stage: SyncsStage): Promise<string[]> {
  const rows = await readSyncs(stage);
  const { asked, airbyte } = stage;
  const runs = new Map(airbyte.state.jobs.map((run) => [String(run.runId), run]));
  const known = new Map(rows.map((row) => [row.jobId, row]));
  const breaches: string[] = asked
    .filter(({ jobId }) => !known.has(jobId))
    .map(({ jobId }) => `the acknowledged sync ${jobId} is lost`);
  if (rows.length !== asked.length)
    breaches.push(`${rows.length} syncs are there, ${asked.length} were asked for`);
  for (const sync of asked) breaches.push(...examineSync(known.get(sync.jobId), sync, runs));
  breaches.push(...examineRuns(stage, rows));
  return breaches;
}

function examineSync(row: SyncRow | undefined, sync: AskedSync, runs: Map<string, FakeJob>): string[] {
  if (row === undefined) return [];
  const what = `sync ${row.jobId} of ${row.connectorId}`;
  if (row.status !== 'success' || row.runId === null) {
    return [
      `${what} ended as ${row.status}: ${row.errorCode} (${row.retryCount} retries) ${row.errorMessage}`,
    ];
  }
  const run = runs.get(row.runId);
  if (run?.connectionId !== sync.connection.connectionId)
    return [`${what} follows run ${row.runId} of another`];
  const wrong: string[] = [];
  const rows = String(run.plan.rows);
  if (run.status !== 'succeeded') wrong.push(`${what} has ended, its run ${row.runId} is ${run.status}`);
  if (row.recordsSynced !== rows) wrong.push(`${what} has ${row.recordsSynced} rows, its run ${rows}`);
  if (row.triggered.join() !== row.runId) wrong.push(`${what} announced the runs ${row.triggered}`);
  if (row.completed.join() !== rows)
    wrong.push(`${what} announced its end with ${row.completed}, not ${rows}`);
  return wrong;
}

/** Nobody else triggers here: a run that no sync follows is a second one of a sync that follows another. */
function examineRuns({ airbyte }: SyncsStage, rows: SyncRow[]): string[] {
  const followers = new Map<string, string[]>();
  for (const { jobId, runId } of rows) {
    if (runId !== null) followers.set(runId, [...(followers.get(runId) ?? []), jobId]);
  }
  const breaches: string[] = [];
  for (const { runId, connectionId } of airbyte.state.jobs) {
    const syncs = followers.get(String(runId)) ?? [];
    if (syncs.length !== 1)
      breaches.push(`run ${runId} of ${connectionId} is followed by ${syncs.length} syncs: ${syncs}`);
  }
  // The fake refuses to run two at a time, as Airbyte does: whoever was refused has tried to.
  for (const connectionId of airbyte.state.refused)
    breaches.push(`${connectionId} was triggered although a run of ours was active`);
  return breaches;
}

function readSyncs({ database }: SyncsStage): Promise<SyncRow[]> {
  return database.owner<SyncRow>(
    `select j.job_id as "jobId", j.connector_id as "connectorId", j.status, j.run_id as "runId",
            j.retry_count as "retryCount", j.error_code as "errorCode", j.error_message as "errorMessage",
            j.counters ->> 'records_synced' as "recordsSynced",
            array(select e.data ->> 'run_id' from events e
                   where e.tenant_id = j.tenant_id and e.subject = j.job_id::text
                     and e.type = 'sync.triggered') as triggered,
            array(select e.data ->> 'records_synced' from events e
                   where e.tenant_id = j.tenant_id and e.subject = j.job_id::text
                     and e.type = 'job.completed') as completed
       from ingestion_jobs j
      where j.pipeline = 'sync'`,
  );
}
