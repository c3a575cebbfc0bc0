import { beforeAll, describe, expect, test } from 'vitest';
import { readingOf } from '../../../../test/support/probes/statement-reading.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { newId } from '../../../lib/ids.ts';
import { byIndexAlone, type ItemStatus } from '../types.ts';
import { orderOf, type Wish } from './order.ts';
import { listSorted, type Place, type SortedRow } from './sorted-store.ts';
import type { Order } from './types.ts';

// A job of 60,000 rows in all states. What an order should be is sorted here, from a plain list of all rows.
const database = useDatabase();
const rowCount = 60_000;

interface PlainRow {
  id: number;
  status: ItemStatus;
  attempts: number;
  errorCode: string | null;
  updatedAt: string;
  dueAt: string;
}

let key: { tenantId: string; jobId: string };
let all: PlainRow[];

beforeAll(async () => {
  key = { tenantId: await newTenant(database), jobId: newId() };
  const { tenantId, jobId } = key;
  await database.owner('alter table job_items set (autovacuum_enabled = false)');
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, shared, created_by, status)
     values ($1, $2::uuid, 'items', $2::uuid, $2::uuid, true, 'somebody', 'running')`,
    [tenantId, jobId],
  );
  await database.owner(
    `insert into item_jobs (tenant_id, job_id, job_type, processor, user_id) values ($1, $2, 'csv', 'noop', 'x')`,
    [tenantId, jobId],
  );
  await database.owner(
    `insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json, status, attempts, error_code,
                            updated_at, due_at, locked_by, lock_token, locked_at, lock_expires_at)
     select $1, $2, n, 'x', 'csv', '{}', s.status,
            case when s.status = 'PENDING' then hashint4(n) & 1
                 when s.status = 'DONE' then 1 + (n % 50 = 0)::int
                 else 1 + (hashint4(n + 1) & 3) end,
            case s.status when 'ERROR' then 'code_' || (hashint4(n + 2) & 7) when 'NOT_FOUND' then 'not_found' end,
            -- Many rows have the same time: then the id decides.
            timestamptz '2026-01-01' + interval '1 second' * (hashint4(n + 3) & 1023),
            case when s.status = 'PENDING' and n % 3 = 0
                 then timestamptz '2027-01-01' + interval '1 second' * (hashint4(n + 4) & 255) else '-infinity' end,
            l.worker, l.token, l.at, l.at + interval '1 hour'
       from generate_series(1, $3::int) n
      cross join lateral (select case when n <= 40000 then 'DONE' when n <= 52000 then 'PENDING'
                                      when n <= 52200 then 'PROCESSING' when n <= 57000 then 'ERROR'
                                      when n <= 58000 then 'NOT_FOUND' else 'SKIPPED' end as status) s
       left join lateral (select $4::uuid as worker, $4::uuid as token, timestamptz '2026-01-01' as at) l
         on s.status = 'PROCESSING'`,
    [tenantId, jobId, rowCount, newId()],
  );
  all = await database.owner<PlainRow>(
    `select id::int as id, status, attempts, error_code as "errorCode", due_at::text as "dueAt",
            to_char(updated_at, 'YYYY-MM-DD"T"HH24:MI:SS.US') as "updatedAt"
       from job_items where job_id = $1`,
    [jobId],
  );
}, 120_000);

const lifeOf = ['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'];

const sortValueOf: Record<string, (row: PlainRow) => number | string> = {
  status: ({ status }) => lifeOf.indexOf(status),
  updatedAt: ({ updatedAt }) => updatedAt,
  attempts: ({ attempts }) => attempts,
  errorCode: ({ errorCode }) => errorCode ?? '',
  nextAttemptAt: ({ dueAt }) => (dueAt === '-infinity' ? '' : dueAt),
};

/** By the value and then by id; within a status, rows that are done are as in the file and all others by time. */
function expectedIds({ column, descending, statuses, minAttempts }: Order): number[] {
  const value = sortValueOf[column] ?? (() => 0);
  const second = (row: PlainRow) => (column === 'status' && row.status !== 'DONE' ? row.updatedAt : '');
  const compare = (a: number | string, b: number | string) => (a < b ? -1 : a > b ? 1 : 0);
  const turn = (row: PlainRow) => (descending && !(column === 'status' && row.status === 'DONE') ? -1 : 1);
  return all
    .filter(({ status, attempts }) => statuses.includes(status) && attempts >= (minAttempts ?? 0))
    .sort((a, b) => {
      const byValue = compare(value(a), value(b)) * (descending ? -1 : 1);
      return byValue || (compare(second(a), second(b)) || a.id - b.id) * turn(a);
    })
    .map(({ id }) => id);
}

const page = (order: Order, { after, limit }: { after: Place | null; limit: number }) =>
  readingOf(database.db, {
    context: { role: 'sluice_tenant', tenantId: key.tenantId, settings: byIndexAlone },
    work: (tx) => listSorted(tx, { ...key, ...order, after, limit, withInput: false }),
  });

const readPage = (order: Order, { after, limit }: { after: Place | null; limit: number }) =>
  database.db.tenant(key.tenantId, (tx) =>
    listSorted(tx, { ...key, ...order, after, limit, withInput: false }),
  );

const failed: ItemStatus[] = ['ERROR', 'NOT_FOUND'];
const wishes: Wish[] = [
  { sort: 'status' },
  { sort: 'status', statuses: ['SKIPPED', 'DONE', 'PROCESSING'] },
  { sort: 'updatedAt', statuses: ['PENDING', 'PROCESSING', 'ERROR', 'NOT_FOUND', 'SKIPPED'] },
  { sort: 'updatedAt', statuses: ['PROCESSING'] },
  { sort: 'updatedAt', statuses: failed },
  { sort: 'attempts', minAttempts: 2 },
  { sort: 'attempts', minAttempts: 4, statuses: ['ERROR'] },
  { sort: 'errorCode', statuses: failed },
  { sort: 'nextAttemptAt', statuses: ['PENDING'] },
];
const bothWays = wishes.flatMap((wish) => [wish, { ...wish, sort: `-${wish.sort}` } as Wish]);
const named = bothWays.map((wish) => ({ name: JSON.stringify(wish), order: orderOf(wish) }));

describe.each(['without statistics', 'with statistics'])('%s', (which) => {
  beforeAll(async () => {
    if (which === 'with statistics') await database.owner('analyze job_items');
  });

  test.each(named)('$name lists every row once, in its order', async ({ order }) => {
    const seen: number[] = [];
    let after: Place | null = null;
    for (;;) {
      const rows: SortedRow[] = await readPage(order, { after, limit: 2_500 });
      seen.push(...rows.map(({ id }) => id));
      const last = rows.at(-1);
      if (rows.length < 2_500 || !last) break;
      after = last.place;
    }
    expect(seen).toEqual(expectedIds(order));
  });

  test.each(named)('a page of $name reads no more at the end than at the start', async ({ order }) => {
    const ids = expectedIds(order);
    const near = await readPage(order, { after: null, limit: Math.max(1, ids.length - 60) });
    for (const after of [null, near.at(-1)?.place ?? null]) {
      const reading = await page(order, { after, limit: 50 });
      // A page of each of six statuses, and the 200 rows that are being processed, which have an order of their own.
      expect(reading.rows, reading.scans.join(', ')).toBeLessThanOrEqual(6 * 50 + 3 * 200 + 60);
      expect(reading.scans).not.toContain('Seq Scan on job_items');
    }
  });
});

test('an order that no index has is refused, and the message says which there is', () => {
  const refused: [Wish, string][] = [
    [{ sort: 'attempts' }, 'minAttempts=2'],
    [{ sort: 'updatedAt' }, 'DONE'],
    [{ sort: '-updatedAt', statuses: ['DONE', 'ERROR'] }, 'DONE'],
    [{ sort: 'errorCode' }, 'statuses=ERROR,NOT_FOUND'],
    [{ sort: 'nextAttemptAt', statuses: failed }, 'statuses=PENDING'],
    [{ sort: 'updatedAt', statuses: failed, minAttempts: 2 }, 'sort=attempts'],
    [{ sort: 'errorCode', statuses: failed, errorCode: 'timeout' }, 'rowNo'],
  ];
  for (const [wish, part] of refused) {
    expect(() => orderOf(wish), JSON.stringify(wish)).toThrow(
      expect.objectContaining({ code: 'order_not_served', message: expect.stringContaining(part) }),
    );
  }
});
