import { expect, test } from 'vitest';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const server = useServerProcess(database, { SLUICE_WORKER: 'false' });

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function send(tenantId: string, place: string, body?: FormData): Promise<Answer> {
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}${place}`, { method: 'POST', headers, ...(body ? { body } : {}) });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

function create(tenantId: string, { pattern, rows }: { pattern: string; rows: string[] }): Promise<Answer> {
  const form = new FormData();
  form.set('processor', 'validate');
  form.set('options', JSON.stringify({ rules: [{ column: 'sku', pattern }] }));
  form.set('file', new Blob([['sku', ...rows].join('\n')], { type: 'text/csv' }), 'rows.csv');
  return send(tenantId, '/api/jobs', form);
}

const endsOf = (jobId: unknown) =>
  database.owner<{ status: string; code: string | null; error: string | null; rows: number }>(
    `select status, error_code as code, last_error as error, count(*)::int as rows
       from job_items where job_id = $1 group by 1, 2, 3 order by status`,
    [jobId],
  );

test('a rule with a pattern that cannot run in linear time is refused with the construct and its place', async () => {
  const tenantId = await newTenant(database);
  const refused = await create(tenantId, { pattern: '^AB(?=\\d)', rows: ['AB1'] });
  expect(refused).toMatchObject({
    status: 422,
    body: {
      code: 'processor_options_invalid',
      errors: [
        {
          pointer: '/options/rules/0/pattern',
          message: 'has the lookahead (?= at position 4, which is not supported',
        },
      ],
    },
  });
});

test('rows of an older job whose pattern is no longer supported end with that reason', {
  timeout: 60_000,
}, async () => {
  const tenantId = await newTenant(database);
  const { body } = await create(tenantId, { pattern: '^AB', rows: ['AB1', 'AB2', 'CD3'] });
  const old = { rules: [{ column: 'sku', pattern: '^(?=AB)' }] };
  await database.owner('update item_jobs set options = $2 where job_id = $1', [body.jobId, old]);
  const kicked = await send(tenantId, `/api/jobs/${body.jobId}/kickoff?durationMs=20000`);
  expect(kicked.body).toMatchObject({ processed: 3, remaining: 0 });
  expect(await endsOf(body.jobId)).toEqual([
    {
      status: 'ERROR',
      code: 'processor_options_invalid',
      error: expect.stringContaining('has the lookahead (?= at position 2, which is not supported'),
      rows: 3,
    },
  ]);
});

test('patterns decide over many rows as written', { timeout: 120_000 }, async () => {
  const tenantId = await newTenant(database);
  const rows = Array.from({ length: 3_000 }, (_, at) => (at % 3 === 0 ? `cd-${at}` : `AB-${at}`));
  const { body } = await create(tenantId, { pattern: '^[A-Z]{2}-\\d+$', rows });
  const kicked = await send(tenantId, `/api/jobs/${body.jobId}/kickoff?durationMs=55000`);
  expect(kicked.body).toMatchObject({ processed: 3_000, remaining: 0 });
  expect(await endsOf(body.jobId)).toMatchObject([
    { status: 'DONE', rows: 2_000 },
    { status: 'ERROR', code: 'validation_failed', rows: 1_000 },
  ]);
});
