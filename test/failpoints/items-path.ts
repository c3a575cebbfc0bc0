import { isDeepStrictEqual } from 'node:util';
import { productOf, type RuledProvider } from '../chaos/items-provider.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import { type CrashStage, clearDeadIngests } from './crash-stage.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface ItemsAnswers {
  noopJobId: string;
  httpJobId: string;
  exported: string;
}

/**
 * Small enough that a file takes more than one insert, and a job more than one claim. One slice at a time: several
 * would share a job in ever other ways, and no two runs would have the same points.
 */
export const itemsSettings = {
  SLUICE_WORKER_CONCURRENCY: '1',
  INGEST_MIN_ROWS: '3',
  INGEST_MAX_ROWS: '4',
  CLAIM_MIN: '4',
  CLAIM_MAX: '4',
  MAX_ATTEMPTS_NOT_FOUND: '1',
};

const noopRows = Array.from({ length: 8 }, (_, n) => ({ n: String(n), text: `row ${n}` }));
const skus = ['a-1', 'a-2', 'a-3', 'a-4', 'a-5', 'missing-6'];

/** What the provider returns; a call that is repeated after a crash gets the same response. */
export function answerProduct({ sku }: { sku: string }) {
  return sku.startsWith('missing') ? { status: 404 } : { status: 200, body: productOf(sku) };
}

/** Two files of rows, one after the other: taken in, processed without and with a provider, and exported. */
export function itemsPath(stage: CrashStage, provider: () => RuledProvider): CrashPath<ItemsAnswers> {
  const { servers } = stage;
  return {
    prepare: async () => {},
    take: (server, tenantId) => takeBoth({ servers, server, tenantId, providerUrl: provider().url }),
    async check(server, tenantId, answers) {
      await clearDeadIngests(stage);
      const found = await recount(servers, tenantId);
      return [
        ...differences(found, expected(answers)),
        ...checkExport(answers.exported),
        ...(await checkVisible(server, tenantId, answers)),
      ];
    },
  };
}

interface Client {
  servers: FailpointServers;
  server: FailpointServer;
  tenantId: string;
}

async function takeBoth({
  providerUrl,
  ...client
}: Client & { providerUrl: string }): Promise<Partial<ItemsAnswers>> {
  const noopCsv = csvOf(['n,text', ...noopRows.map(({ n, text }) => `${n},${text}`)]);
  const noopJobId = await runJob(client, { processor: 'noop', options: {}, csv: noopCsv });
  if (noopJobId === undefined || !client.server.isLiving) return { noopJobId };
  const options = { request: { url: `${providerUrl}/default/{{sku}}` } };
  const httpJobId = await runJob(client, { processor: 'http', options, csv: csvOf(['sku', ...skus]) });
  if (httpJobId === undefined || !client.server.isLiving) return { noopJobId, httpJobId };
  const route = `/api/jobs/${httpJobId}/export?format=csv`;
  const answer = await client.server.call(client.tenantId, route, { method: 'POST' });
  if (answer !== null && answer.status !== 200) throw new Error(`The export was refused: ${answer.text}`);
  return { noopJobId, httpJobId, exported: answer?.text };
}

/** With its key, as often as it is asked to; then until the work is over or the server is dead. */
async function runJob(
  { servers, server, tenantId }: Client,
  { processor, options, csv }: { processor: string; options: object; csv: string },
): Promise<string | undefined> {
  const form = new FormData();
  form.set('processor', processor);
  form.set('options', JSON.stringify(options));
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'rows.csv');
  const answer = await server.call(tenantId, '/api/jobs', {
    method: 'POST',
    headers: { 'idempotency-key': `the-${processor}-job` },
    body: form,
  });
  if (answer === null) return undefined;
  if (answer.status !== 201) throw new Error(`The file was answered with ${answer.status}: ${answer.text}`);
  const { jobId } = JSON.parse(answer.text) as { jobId: string };
  const isOver = async () => {
    const [job] = await servers.query<{ status: string }>(
      'select status from ingestion_jobs where tenant_id = $1 and job_id = $2',
      [tenantId, jobId],
    );
    return job?.status === 'success';
  };
  await untilOverOrDead(server, { isOver, what: `the ${processor} job is over` });
  return jobId;
}

function expected({ noopJobId, httpJobId }: Pick<ItemsAnswers, 'noopJobId' | 'httpJobId'>) {
  const found = skus.filter((sku) => !sku.startsWith('missing'));
  const counts = { pending: 0, processing: 0, error: 0, unreported: {} };
  return {
    jobs: [
      {
        jobId: noopJobId,
        status: 'success',
        total: noopRows.length,
        done: noopRows.length,
        notFound: 0,
        ...counts,
      },
      { jobId: httpJobId, status: 'success', total: skus.length, done: found.length, notFound: 1, ...counts },
    ],
    items: [
      ...noopRows.map((row, index) => ({ jobId: noopJobId, rowNo: index + 1, status: 'DONE', result: row })),
      ...skus.map((sku, index) =>
        sku.startsWith('missing')
          ? { jobId: httpJobId, rowNo: index + 1, status: 'NOT_FOUND', result: null }
          : { jobId: httpJobId, rowNo: index + 1, status: 'DONE', result: productOf(sku) },
      ),
    ],
    /** Items that somebody still has a lock on. */
    locked: 0,
    /** How often each item's call is in the log of calls; it is written with the result. */
    calls: skus.map(() => 1),
    completed: [noopJobId, httpJobId],
    /** What the events of items add up to. */
    told: { DONE: noopRows.length + found.length, NOT_FOUND: 1 },
  };
}

type Expected = ReturnType<typeof expected>;

async function recount(servers: FailpointServers, tenantId: string): Promise<Expected> {
  const [found] = await servers.query<Expected>(recountQuery, [tenantId]);
  if (!found) throw new Error('The recount gave no row');
  return found;
}

const recountQuery = `
  select
    (select coalesce(json_agg(json_build_object(
              'jobId', job_id, 'status', j.status, 'total', i.total, 'done', i.done, 'notFound', i.not_found,
              'pending', i.pending, 'processing', i.processing, 'error', i.error, 'unreported', i.unreported)
              order by j.created_at), '[]')
       from ingestion_jobs j
       left join item_jobs i using (tenant_id, job_id)
      where tenant_id = $1) as jobs,
    (select coalesce(json_agg(json_build_object(
              'jobId', job_id, 'rowNo', row_no, 'status', status, 'result', result_json)
              order by id), '[]')
       from job_items where tenant_id = $1) as items,
    (select count(*)::integer
       from job_items
      where tenant_id = $1 and (lock_token is not null or locked_by is not null)) as locked,
    (select coalesce(json_agg(calls order by id), '[]')
       from (select t.id, count(e.event_id)::integer as calls
               from job_items t
               join item_jobs j using (tenant_id, job_id)
               left join search_events e on e.tenant_id = t.tenant_id and t.id = any(e.item_ids)
              where t.tenant_id = $1 and j.processor = 'http'
              group by t.id) c) as calls,
    (select coalesce(json_agg(subject order by event_id), '[]')
       from events where tenant_id = $1 and type = 'job.completed') as completed,
    (select coalesce(json_object_agg(status, count), '{}')
       from (select c.key as status, sum(c.value::integer)::integer as count
               from events e, jsonb_each_text(e.data -> 'counts') c
              where e.tenant_id = $1 and e.type = 'item.processed'
              group by c.key) t) as told`;

function checkExport(exported: string): string[] {
  const rows = skus.map((sku, index) =>
    sku.startsWith('missing')
      ? `${index + 1},NOT_FOUND,,`
      : `${index + 1},DONE,${sku},${productOf(sku).title}`,
  );
  const whole = ['row_no,status,sku,title', ...rows];
  const lines = exported
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split(/\r?\n/);
  return isDeepStrictEqual(lines, whole) ? [] : [`the export is ${JSON.stringify(exported)}`];
}

async function checkVisible(
  server: FailpointServer,
  tenantId: string,
  { noopJobId, httpJobId }: ItemsAnswers,
): Promise<string[]> {
  const answer = await server.call(tenantId, '/api/jobs', {});
  const { data } = JSON.parse(answer?.text ?? '{"data":[]}') as { data: { jobId: string }[] };
  const ids = data.map((job) => job.jobId);
  return isDeepStrictEqual(ids.sort(), [noopJobId, httpJobId].sort())
    ? []
    : [`the client sees the jobs ${ids.join(', ')}`];
}

function csvOf(lines: string[]): string {
  return `${lines.join('\n')}\n`;
}
