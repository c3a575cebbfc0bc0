import { expect, test } from 'vitest';
import { useItemServer } from '../support/servers/item-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { held, server } = useItemServer(database);

interface Page {
  data: { rowNo: number; status: string; attempts: number; errorCode: string | null }[];
  hasMore: boolean;
  nextCursor: string | null;
  code?: string;
  detail?: string;
}

/** A job of 60 rows: every third fails for one of two reasons. */
async function makeJob() {
  const claims = { tenantId: await newTenant(database) };
  const form = new FormData();
  form.set('processor', 'validate');
  form.set('options', JSON.stringify({ rules: [{ column: 'n', type: 'integer', required: true }] }));
  const lines = Array.from({ length: 60 }, (_, at) => `sku-${at + 1},${at % 3 === 2 ? 'x' : at}`);
  form.set('file', new Blob([`sku,n\n${lines.join('\n')}\n`], { type: 'text/csv' }), 'rows.csv');
  const headers = await server.bearer(claims);
  const made = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  const { jobId } = (await made.json()) as { jobId: string };
  await held.kernel.cycle({ budgetMs: 20_000, tenantId: claims.tenantId });
  const list = async (query: string) => {
    const answer = await fetch(`${server.url}/api/jobs/${jobId}/items?${query}`, { headers });
    return { status: answer.status, page: (await answer.json()) as Page };
  };
  return { list };
}

test('rows are listed page by page in the order of a column, and a cursor belongs to its order', async () => {
  const { list } = await makeJob();
  const seen: Page['data'] = [];
  let cursor = '';
  for (;;) {
    const { page } = await list(`sort=status&pageSize=7${cursor}`);
    seen.push(...page.data);
    if (!page.hasMore) break;
    cursor = `&after=${page.nextCursor}`;
  }
  expect(seen).toHaveLength(60);
  expect(seen.slice(0, 40).every(({ status }) => status === 'DONE')).toBe(true);
  expect(seen.slice(40).every(({ status }) => status === 'ERROR')).toBe(true);
  const other = await list(`sort=-status&pageSize=7${cursor}`);
  expect(other).toMatchObject({ status: 400, page: { code: 'invalid_cursor' } });
});

test('failed rows are listed by time, by reason and from the end of the file', async () => {
  const { list } = await makeJob();
  const rowNos = async (query: string) => (await list(query)).page.data.map(({ rowNo }) => rowNo);
  const failed = Array.from({ length: 20 }, (_, at) => 3 * (at + 1));
  expect((await rowNos('statuses=ERROR&sort=-rowNo')).slice(0, 3)).toEqual([60, 57, 54]);
  expect(await rowNos('errorCode=validation_failed&sort=-rowNo')).toEqual([...failed].reverse());
  expect((await rowNos('status=ERROR&sort=updatedAt')).sort((a, b) => a - b)).toEqual(failed);
  expect(await rowNos('statuses=ERROR,NOT_FOUND&sort=errorCode')).toEqual(failed);
  expect(await rowNos('minAttempts=2')).toEqual([]);
});

test('an order that no index has is refused with what to do instead', async () => {
  const { list } = await makeJob();
  for (const [query, words] of [
    ['sort=updatedAt', 'ERROR,NOT_FOUND'],
    ['sort=attempts', 'minAttempts=2'],
    ['sort=errorCode', 'statuses=ERROR,NOT_FOUND'],
    ['statuses=PENDING&sort=-rowNo', '-updatedAt'],
  ]) {
    const { status, page } = await list(query ?? '');
    expect({ status, code: page.code }, query).toEqual({ status: 400, code: 'order_not_served' });
    expect(page.detail, query).toContain(words);
  }
  expect((await list('sort=colour')).status).toBe(400);
});
