import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { withDatabase } from '../../../test/support/fakes/postgres-server.ts';
import { openSession, untilWaitedFor } from '../../../test/support/probes/sessions.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { type LogPage, LogReader } from './reader.ts';
import { appendEvent, type PageQuery } from './store.ts';
import { type EventRow, type LogPosition, matchesFilter } from './types.ts';

const database = useDatabase();

type Query = Partial<PageQuery> & { tenantId: string; after?: LogPosition | null };

function page({ after = null, ...query }: Query): Promise<LogPage> {
  return LogReader.forTenant(database.db, query.tenantId).read({ limit: 100, ...query }, after);
}

async function read(query: Query): Promise<EventRow[]> {
  return (await page(query)).events;
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

const subjectsOf = ({ events }: LogPage) => events.map(({ subject }) => subject);

async function expectSubjects(query: Query, subjects: string[]): Promise<void> {
  expect(subjectsOf(await page(query))).toEqual(subjects);
}

describe('a reader', () => {
  test('does not wait for an open transaction, and gets its event when it has committed', async () => {
    const tenantId = await newTenant(database);
    await write(tenantId, 'before');
    const slow = await openWriter(tenantId, { subject: 'slow', first: 'write' });
    await write(tenantId, 'fast');
    const first = await page({ tenantId });
    expect(subjectsOf(first)).toEqual(['before', 'fast']);
    const second = await page({ tenantId, after: first.position });
    expect(subjectsOf(second)).toEqual([]);
    await slow.commit();
    const third = await page({ tenantId, after: second.position });
    expect(subjectsOf(third)).toEqual(['slow']);
    await expectSubjects({ tenantId, after: third.position }, []);
  });

  test('gets the event of a transaction that is newer than any that had ended, once it has committed', async () => {
    const tenantId = await newTenant(database);
    const older = await openWriter(tenantId, { subject: 'older', first: 'begin' });
    const newer = await openWriter(tenantId, { subject: 'newer', first: 'write' });
    // Its event has the higher id, and the snapshot that has it ends before the newer transaction.
    await older.commit();
    const first = await page({ tenantId });
    expect(subjectsOf(first)).toEqual(['older']);
    await newer.commit();
    const second = await page({ tenantId, after: first.position });
    expect(subjectsOf(second)).toEqual(['newer']);
    await expectSubjects({ tenantId, after: second.position }, []);
  });

  test('does not wait for a transaction in another database of the cluster', async () => {
    const tenantId = await newTenant(database);
    const elsewhere = new pg.Client({ connectionString: withDatabase(database.ownerUrl, 'postgres') });
    await elsewhere.connect();
    try {
      await elsewhere.query('begin; select pg_current_xact_id()');
      await write(tenantId, 'written meanwhile');
      await expectSubjects({ tenantId }, ['written meanwhile']);
    } finally {
      await elsewhere.end();
    }
  });

  test('gets the events of a subject in the order in which it was locked, whichever transaction is older', async () => {
    const tenantId = await newTenant(database);
    const { position } = await page({ tenantId });
    // The older transaction writes something else first, and then waits for the job.
    const [pausing, completing] = [await openSession(database), await openSession(database)];
    const lock = `select from tenants where tenant_id = '${tenantId}' for update`;
    const insert = (type: string) =>
      `insert into events (tenant_id, type, subject, data) values ('${tenantId}', '${type}', 'job', '{}')`;
    await completing.query('begin; select pg_current_xact_id()');
    await pausing.query(`begin; ${lock}; ${insert('job.paused')}`);
    const later = completing.query(`${lock}; ${insert('job.completed')}; commit`);
    await untilWaitedFor(database, pausing);
    await pausing.query('commit');
    await later;
    const { events } = await page({ tenantId, after: position });
    expect(events.map(({ type }) => type)).toEqual(['job.paused', 'job.completed']);
    const [paused, completed] = events;
    expect(BigInt(paused?.xid ?? 0)).toBeGreaterThan(BigInt(completed?.xid ?? 0));
  });

  test('never sees an event whose transaction rolled back', async () => {
    const tenantId = await newTenant(database);
    const failing = database.db.tenant(tenantId, async (tx) => {
      await appendEvent(tx, { tenantId, type: 'test.written', subject: 'undone', data: {} });
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    await write(tenantId, 'kept');
    await expectSubjects({ tenantId }, ['kept']);
  });

  test('sees nothing of another tenant, even under the role that may see all', async () => {
    const [mine, theirs] = [await newTenant(database), await newTenant(database)];
    await write(mine, 'mine');
    await write(theirs, 'theirs');
    await expectSubjects({ tenantId: mine }, ['mine']);
    const reader = LogReader.forTenant(database.db, mine);
    expect(subjectsOf(await reader.read({ tenantId: theirs, limit: 10 }, null))).toEqual([]);
    const asKernel = await LogReader.forKernel(database.db).read({ tenantId: mine, limit: 10 }, null);
    expect(subjectsOf(asKernel)).toEqual(['mine']);
  });

  test('continues after any position, page by page', async () => {
    const tenantId = await newTenant(database);
    const subjects = Array.from({ length: 25 }, (_, n) => `s${n}`);
    for (const subject of subjects) await write(tenantId, subject);
    const pages: string[][] = [];
    let after: LogPosition | null = null;
    do {
      const { events, position, isDone }: LogPage = await page({ tenantId, after, limit: 10 });
      pages.push(events.map((event) => event.subject));
      after = position;
      if (isDone) break;
    } while (pages.length < 10);
    expect(pages.map((one) => one.length)).toEqual([10, 10, 5]);
    expect(pages.flat()).toEqual(subjects);
    const { positions } = await page({ tenantId });
    for (const [index, position] of positions.entries()) {
      await expectSubjects({ tenantId, after: position }, subjects.slice(index + 1));
    }
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
