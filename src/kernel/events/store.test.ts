import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { appendEvent, type EventQuery, eventsStatement, readEvents } from './store.ts';
import { type EventRow, matchesFilter } from './types.ts';

const database = useDatabase();

function read(query: Partial<EventQuery> & { tenantId: string }): Promise<EventRow[]> {
  return database.db.tenant(query.tenantId, (tx) => readEvents(tx, { limit: 100, ...query }));
}

async function write(tenantId: string, ...subjects: string[]): Promise<void> {
  await database.db.tenant(tenantId, async (tx) => {
    for (const subject of subjects)
      await appendEvent(tx, { tenantId, type: 'test.written', subject, data: {} });
  });
}

/** A transaction that has written an event, or only begun, and stays open until released. */
async function openWriter(
  tenantId: string,
  { subject, first }: { subject: string; first: 'write' | 'begin' },
) {
  let commit = () => {};
  const gate = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const event = { tenantId, type: 'test.written', subject, data: {} };
  const done = database.db.tenant(tenantId, async (tx) => {
    if (first === 'begin') await tx.client.query('select pg_current_xact_id()');
    else await appendEvent(tx, event);
    begun();
    await gate;
    if (first === 'begin') await appendEvent(tx, event);
  });
  await hasBegun;
  return {
    commit: async () => {
      commit();
      await done;
    },
  };
}

/** Other databases of the server may hold readers back for a moment. */
async function eventuallySubjects(query: Partial<EventQuery> & { tenantId: string }, subjects: string[]) {
  await eventually(async () => (await read(query)).length >= subjects.length, 'the events become readable');
  expect((await read(query)).map((event) => event.subject)).toEqual(subjects);
}

describe('a reader', () => {
  test('does not read past an open transaction, and later finds its event at its place', async () => {
    const tenantId = await newTenant(database);
    await write(tenantId, 'before');
    await eventuallySubjects({ tenantId }, ['before']);
    const slow = await openWriter(tenantId, { subject: 'slow', first: 'write' });
    await write(tenantId, 'fast');
    const seen = await read({ tenantId });
    expect(seen.map((event) => event.subject)).toEqual(['before']);
    await slow.commit();
    await eventuallySubjects({ tenantId, after: seen.at(-1) }, ['slow', 'fast']);
  });

  test('loses nothing when an older transaction gets the higher id', async () => {
    const tenantId = await newTenant(database);
    const slow = await openWriter(tenantId, { subject: 'slow', first: 'begin' });
    await write(tenantId, 'fast');
    expect(await read({ tenantId })).toEqual([]);
    await slow.commit();
    await eventuallySubjects({ tenantId }, ['slow', 'fast']);
    const [older, younger] = await read({ tenantId });
    expect(older?.eventId).toBeGreaterThan(younger?.eventId ?? Infinity);
    await eventuallySubjects({ tenantId, after: older }, ['fast']);
  });

  test('never sees an event whose transaction rolled back', async () => {
    const tenantId = await newTenant(database);
    const failing = database.db.tenant(tenantId, async (tx) => {
      await appendEvent(tx, { tenantId, type: 'test.written', subject: 'undone', data: {} });
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    await write(tenantId, 'kept');
    await eventuallySubjects({ tenantId }, ['kept']);
  });

  test('sees nothing of another tenant, even under the role that may see all', async () => {
    const [mine, theirs] = [await newTenant(database), await newTenant(database)];
    await write(mine, 'mine');
    await write(theirs, 'theirs');
    await eventuallySubjects({ tenantId: mine }, ['mine']);
    const stolen = await database.db.tenant(mine, (tx) => readEvents(tx, { tenantId: theirs, limit: 10 }));
    expect(stolen).toEqual([]);
    const asKernel = await database.db.kernel((tx) => readEvents(tx, { tenantId: mine, limit: 10 }));
    expect(asKernel.map((event) => event.subject)).toEqual(['mine']);
  });

  test('continues after any position, page by page', async () => {
    const tenantId = await newTenant(database);
    const subjects = Array.from({ length: 25 }, (_, n) => `s${n}`);
    for (const subject of subjects) await write(tenantId, subject);
    await eventuallySubjects({ tenantId }, subjects);
    const pages: string[][] = [];
    let after: EventRow | undefined;
    do {
      const page = await read({ tenantId, after, limit: 10 });
      pages.push(page.map((event) => event.subject));
      after = page.at(-1);
    } while (after);
    expect(pages.map((page) => page.length)).toEqual([10, 10, 5, 0]);
    expect(pages.flat()).toEqual(subjects);
  });

  test('gets back what was written', async () => {
    const tenantId = await newTenant(database);
    const event = {
      tenantId,
      type: 'upload.completed',
      subject: 'ünï "quoted"',
      userId: 'somebody',
      correlationId: 'c-1',
      data: { rows: 3, nested: { list: [1, null, '…'] } },
    };
    const position = await database.db.tenant(tenantId, (tx) => appendEvent(tx, event));
    await eventuallySubjects({ tenantId }, [event.subject]);
    expect(await read({ tenantId })).toEqual([{ ...event, ...position, occurredAt: expect.any(Date) }]);
    expect(position.xid).toMatch(/^\d+$/);
  });
});

test('the filter in SQL and the one in memory agree', async () => {
  const tenantId = await newTenant(database);
  const types = ['job.queued', 'job.completed', 'jobs.queued', 'job', 'upload.completed', 'upload.done.well'];
  await database.db.tenant(tenantId, async (tx) => {
    for (const type of types) {
      for (const subject of ['a', 'b']) {
        for (const userId of ['ada', 'bob', null])
          await appendEvent(tx, { tenantId, type, subject, userId, data: {} });
      }
    }
  });
  await eventually(async () => (await read({ tenantId })).length === 36, 'all 36 become readable');
  const all = await read({ tenantId });
  const patterns = [...types, 'job.*', 'upload.*', 'upload.done.*', 'j.*', 'job_.*'];
  const filters = fc.record({
    types: fc.option(fc.subarray(patterns), { nil: undefined }),
    subject: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
    ownerId: fc.option(fc.constantFrom('ada', 'bob', 'eve'), { nil: undefined }),
  });
  for (const filter of fc.sample(filters, 60)) {
    const found = await read({ tenantId, ...filter });
    expect(found, JSON.stringify(filter)).toEqual(all.filter((event) => matchesFilter(event, filter)));
  }
});

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

describe('with 50,000 events of a tenant', () => {
  let tenantId = '';

  beforeAll(async () => {
    tenantId = await newTenant(database);
    // Old transaction ids, a hundred events each, as in a real log, and all below any open one.
    await database.owner(
      `insert into events (tenant_id, xid, type, subject, user_id, data)
       select $1, (3 + n / 100)::text::xid8, 'test.written', 'subject ' || n % 2000, 'user ' || n % 50, '{"a": 1}'
         from generate_series(1, 50000) n`,
      [tenantId],
    );
    await database.owner('analyze events');
  });

  async function planOf(query: Omit<EventQuery, 'tenantId'>): Promise<PlanNode[]> {
    const { text, values } = eventsStatement({ tenantId, ...query });
    const explained = { text: `explain (analyze, format json) ${text}`, values };
    const [row] = await database.db.tenant(tenantId, (tx) =>
      tx.rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(explained),
    );
    const nodes: PlanNode[] = [];
    const visit = (node: PlanNode) => {
      nodes.push(node);
      for (const child of node.Plans ?? []) visit(child);
    };
    if (row) visit(row['QUERY PLAN'][0].Plan);
    return nodes;
  }

  const middle = { xid: '253', eventId: 25_000 };

  test('a page from the middle reads exactly its rows, by the primary key', async () => {
    const nodes = await planOf({ after: middle, limit: 500 });
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
    const scan = nodes.find((node) => node['Index Name'] !== undefined);
    expect(scan).toMatchObject({ 'Index Name': 'events_pkey', 'Actual Rows': 500 });
    expect(scan?.['Index Cond']).toMatch(/tenant_id = .*ROW\(xid, event_id\) > .*xid < /);
    expect(scan?.['Rows Removed by Filter'] ?? 0).toBe(0);
  });

  test('the events of one subject are read by the index of subjects, without others', async () => {
    const nodes = await planOf({ after: { xid: '3', eventId: 0 }, subject: 'subject 77', limit: 500 });
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    const scan = nodes.find((node) => node['Index Name'] !== undefined);
    expect(scan).toMatchObject({ 'Index Name': 'ix_events_subject', 'Actual Rows': 25 });
    expect(scan?.['Rows Removed by Filter'] ?? 0).toBe(0);
  });

  test('a reader at the end reads nothing', async () => {
    const nodes = await planOf({ after: { xid: '503', eventId: 999_999 }, limit: 500 });
    expect(nodes.find((node) => node['Index Name'] === 'events_pkey')?.['Actual Rows']).toBe(0);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });
});
