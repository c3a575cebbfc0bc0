import type { TestDatabase } from '../support/worlds/database.ts';
import type { ItemsRun, UploadedJob } from './items-chaos.ts';
import type { RowEnd } from './items-ledger.ts';

/** What is checked at the end of a run. */
export type ItemsEvidence = Pick<ItemsRun, 'uploaded' | 'provider' | 'isMended' | 'ask'> & {
  readonly database: Pick<TestDatabase, 'owner'>;
};

/**
 * Counters against a recount, in one statement and so in one snapshot: at every moment, also in the middle of an
 * ingest, they are the same. Jobs that ended a while ago are looked at only when all are.
 */
export async function examineCounters(run: ItemsEvidence, { all }: { all: boolean }): Promise<string[]> {
  const rows = await run.database.owner<Record<string, unknown>>(
    `select j.job_id, j.status, j.stage, i.ingesting_by, i.total, i.pending, i.processing, i.done, i.error,
            i.not_found, i.skipped, c.*
       from item_jobs i
       join ingestion_jobs j using (tenant_id, job_id)
       cross join lateral (
         select count(*) as rows_total,
                count(*) filter (where r.status = 'PENDING') as rows_pending,
                count(*) filter (where r.status = 'PROCESSING') as rows_processing,
                count(*) filter (where r.status = 'DONE') as rows_done,
                count(*) filter (where r.status = 'ERROR') as rows_error,
                count(*) filter (where r.status = 'NOT_FOUND') as rows_not_found,
                count(*) filter (where r.status = 'SKIPPED') as rows_skipped
           from job_items r
          where r.tenant_id = i.tenant_id and r.job_id = i.job_id) c
      where ($1 or j.finished_at is null or j.finished_at > clock_timestamp() - interval '10 s')
        and ((i.total, i.pending, i.processing, i.done, i.error, i.not_found, i.skipped)
             is distinct from (c.rows_total, c.rows_pending, c.rows_processing, c.rows_done, c.rows_error,
                               c.rows_not_found, c.rows_skipped)
             or (j.status = 'success' and i.pending + i.processing > 0)
             or (i.ingesting_by is null) is distinct from (j.stage is distinct from 'ingesting'))`,
    [all],
  );
  return rows.map((row) => `counters and rows differ: ${JSON.stringify(row)}`);
}

/** Every row exactly once, in the state and with the result that the ledger says; nothing is held any more. */
export async function examineRows(run: ItemsEvidence, phase: 'first' | 'last'): Promise<string[]> {
  const breaches: string[] = [];
  for (const job of run.uploaded) {
    const rows = await run.database.owner<FoundRow>(
      `select row_no as "rowNo", status, result_json as result, error_code as code,
              lock_token is not null or locked_by is not null as "isHeld"
         from job_items
        where job_id = $1
        order by row_no, id`,
      [job.jobId],
    );
    const expected = job.rows.map((row) => row[phase]);
    breaches.push(...compareRows(job, rows, expected), ...(await compareView(run, job, expected)));
  }
  const strangers = await run.database.owner<{ jobId: string }>(
    `select job_id as "jobId" from ingestion_jobs where pipeline = 'items' and not job_id = any($1::uuid[])`,
    [run.uploaded.map(({ jobId }) => jobId)],
  );
  breaches.push(...strangers.map(({ jobId }) => `job ${jobId} is there, and no answer named it`));
  return breaches;
}

/**
 * Every call that ended a row was logged in the transaction that ended it, and no logged answer was invented: the
 * provider gave at least as many.
 */
export async function examineCalls(run: ItemsEvidence): Promise<string[]> {
  const logged = await run.database.owner<{ sku: string; status: number; count: string }>(
    `select r.input_json ->> 'sku' as sku, e.status, count(*) as count
       from search_events e
       cross join unnest(e.item_ids) as u (id)
       join job_items r on r.tenant_id = e.tenant_id and r.job_id = e.job_id and r.id = u.id
      where e.status is not null
      group by sku, e.status`,
  );
  const given = new Map<string, number>();
  for (const { sku, status } of run.provider.log) {
    const key = `${sku} ${status}`;
    given.set(key, (given.get(key) ?? 0) + 1);
  }
  const invented = logged
    .filter(({ sku, status, count }) => Number(count) > (given.get(`${sku} ${status}`) ?? 0))
    .map((row) => `logged, but not answered by the provider: ${JSON.stringify(row)}`);
  const seen = new Set(logged.map(({ sku, status }) => `${sku} ${status}`));
  const statusOf = { DONE: 200, NOT_FOUND: 404, ERROR: 422 };
  const unlogged = run.uploaded.flatMap(({ rows }) =>
    rows.flatMap(({ sku, first, last }) =>
      sku === null
        ? []
        : [first, ...(run.isMended ? [last] : [])]
            .filter(({ status }) => !seen.has(`${sku} ${statusOf[status]}`))
            .map(({ status }) => `${sku} is ${status}, and the call that says so is not logged`),
    ),
  );
  return [...invented, ...unlogged];
}

/**
 * Calls for rows that one call is enough for, beyond the first that went well: a worker had lost the row by the time
 * it wrote what came of the call.
 */
export async function countLateCalls(run: ItemsEvidence): Promise<number> {
  const rows = await run.database.owner<{ count: string }>(
    `select count(*) - 1 as count
       from search_events e
       cross join unnest(e.item_ids) as u (id)
       join job_items r on r.tenant_id = e.tenant_id and r.job_id = e.job_id and r.id = u.id
      where r.input_json ->> 'sku' like 'ok-%'
        and (e.status = 200 or e.status is null)
      group by r.tenant_id, r.job_id, r.id
     having count(*) > 1`,
  );
  return rows.reduce((sum, { count }) => sum + Number(count), 0);
}

interface FoundRow {
  rowNo: number;
  status: string;
  result: unknown;
  code: string | null;
  isHeld: boolean;
}

function compareRows(job: UploadedJob, rows: FoundRow[], expected: RowEnd[]): string[] {
  if (rows.length !== expected.length) {
    return [`job ${job.name} has ${rows.length} rows instead of ${expected.length}`];
  }
  return rows.flatMap((row, index) => {
    const found = {
      status: row.status,
      result: row.result === null ? null : JSON.stringify(row.result),
      code: row.code,
    };
    const wanted = expected[index];
    const isRight =
      row.rowNo === index + 1 &&
      !row.isHeld &&
      found.status === wanted?.status &&
      found.result === wanted.result &&
      found.code === wanted.code;
    return isRight
      ? []
      : [`row ${index + 1} of ${job.name}: ${JSON.stringify(row)} instead of ${JSON.stringify(wanted)}`];
  });
}

/** The API shows the same about the job. */
async function compareView(run: ItemsEvidence, job: UploadedJob, expected: RowEnd[]): Promise<string[]> {
  const { body } = await run.ask(job.tenantId, 'GET', `/api/jobs/${job.jobId}`, [200]);
  const failed = expected.filter(({ status }) => status !== 'DONE').length;
  const isRight =
    body.queueState === 'DONE' && body.processedItems === expected.length && body.failedItems === failed;
  return isRight ? [] : [`job ${job.name} is shown as ${JSON.stringify(body)}, with ${failed} failed rows`];
}
