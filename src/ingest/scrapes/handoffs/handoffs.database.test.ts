import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type HandoffView,
  referenceNamed,
  sumOf,
  useScrapes,
} from '../../../../test/support/servers/scrape-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { cancel, requeue } from '../../../kernel/jobs/dispatch/service.ts';
import { dispatchStatement } from '../../../kernel/jobs/store.ts';
import { newId } from '../../../lib/ids.ts';

const database = useDatabase();
const scrapes = useScrapes(database);

type Claims = Awaited<ReturnType<typeof scrapes.tenant>>;

const short = ({ status, reason_code }: HandoffView) => `${status} ${reason_code}`;

async function jobsOf({ tenantId }: Claims) {
  return database.owner<{ job_id: string; subject_id: string; status: string }>(
    `select job_id, subject_id, status from ingestion_jobs
      where tenant_id = $1 and pipeline = 'knowledge' order by job_id`,
    [tenantId],
  );
}

/** The newest hand-off of each payload, by the text that it brought. */
async function states(claims: Claims, texts: string[]): Promise<string[]> {
  const handoffs = await scrapes.handoffs(claims);
  const hashes = await database.owner<{ payload_hash: string; reference_id: string }>(
    'select payload_hash, reference_id from ingestion_handoffs where tenant_id = $1 order by created_at, handoff_id',
    [claims.tenantId],
  );
  expect(hashes).toHaveLength(texts.length);
  return hashes.map(({ payload_hash: hash }) => {
    const found = handoffs.find((handoff) => handoff.payload_hash === hash);
    return found ? short(found) : 'missing';
  });
}

/** As a worker would, without doing the work. */
async function moveJob(claims: Claims, jobId: string, status: string, role = 'sluice_tenant') {
  const finished = ['success', 'dead_letter'].includes(status) ? 'clock_timestamp()' : 'null';
  await database.db.transaction({ role: role as 'sluice_tenant', tenantId: claims.tenantId }, async (tx) => {
    await tx.client.query(
      `update ingestion_jobs set status = $3, started_at = clock_timestamp(), finished_at = ${finished},
              error_code = case when $3 = 'dead_letter' then 'kb_gone' end,
              error_message = case when $3 = 'dead_letter' then 'It is not there' end
        where tenant_id = $1 and job_id = $2`,
      [claims.tenantId, jobId, status],
    );
  });
}

describe('a hand-off', () => {
  test.each(['sluice_tenant', 'sluice_kernel'])('has the state of its job, changed by %s', async (role) => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a')]);
    const [job] = await jobsOf(claims);
    const see = async () => (await scrapes.handoffs(claims)).map(short);
    await moveJob(claims, job?.job_id ?? '', 'running', role);
    expect(await see()).toEqual(['running ingestion_job_running']);
    await moveJob(claims, job?.job_id ?? '', 'failed', role);
    expect(await see(), 'a job that waits for a retry has not failed').toEqual([
      'running ingestion_job_running',
    ]);
    await moveJob(claims, job?.job_id ?? '', 'running', role);
    await moveJob(claims, job?.job_id ?? '', 'dead_letter', role);
    expect(await see()).toEqual(['failed ingestion_job_failed']);
    expect((await scrapes.handoffs(claims))[0]?.reason_text).toBe('kb_gone: It is not there');
  });

  test('reports its state in events', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a')]);
    await scrapes.drive(claims.tenantId);
    const events = await database.owner<{ type: string; subject: string; correlation_id: string }>(
      `select type, subject, correlation_id from events
        where tenant_id = $1 and type like 'handoff.%' order by event_id`,
      [claims.tenantId],
    );
    const [handoff] = await scrapes.handoffs(claims);
    expect(events.map(({ type }) => type)).toEqual([
      'handoff.queued',
      'handoff.running',
      'handoff.completed',
    ]);
    expect(new Set(events.map(({ subject }) => subject))).toEqual(new Set([handoff?.handoff_id]));
    expect(new Set(events.map((event) => event.correlation_id))).toEqual(new Set([handoff?.scrape_run_id]));
  });

  test('a hand-off of the same payload is not made twice, whether its job is active or done', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a'), referenceNamed('b')]);
    expect(await scrapes.push(claims, [referenceNamed('a'), referenceNamed('b')])).toMatchObject({
      handoff_queued_count: 0,
      handoff_skipped_count: 2,
    });
    await scrapes.drive(claims.tenantId);
    const again = await scrapes.push(claims, [referenceNamed('a'), referenceNamed('b')]);
    expect(again).toMatchObject({ handoff_queued_count: 0, handoff_skipped_count: 2 });
    expect(await jobsOf(claims)).toHaveLength(2);
    expect((await scrapes.handoffs(claims)).map(short)).toEqual(Array(2).fill('completed unchanged_payload'));
  });

  test('with metadata in another order is the same payload', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'x', { metadata: { one: 1, two: { b: 2, a: 1 } } })]);
    const again = await scrapes.push(claims, [
      referenceNamed('a', 'x', { metadata: { two: { a: 1, b: 2 }, one: 1 } }),
    ]);
    expect(again).toMatchObject({ handoff_skipped_count: 1, references_changed: 0 });
    const changed = await scrapes.push(claims, [referenceNamed('a', 'x', { metadata: { one: 2 } })]);
    expect(changed).toMatchObject({ handoff_queued_count: 1, references_changed: 1 });
  });

  test('a hand-off that failed is opened again by the next sync', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a')]);
    const [job] = await jobsOf(claims);
    await moveJob(claims, job?.job_id ?? '', 'dead_letter');
    const [failed] = await scrapes.handoffs(claims);
    expect(await scrapes.push(claims, [referenceNamed('a')])).toMatchObject({ handoff_queued_count: 1 });
    const [opened, ...others] = await scrapes.handoffs(claims);
    expect(others).toEqual([]);
    expect(opened).toMatchObject({ status: 'queued', reason_text: null, handoff_id: failed?.handoff_id });
    expect(opened?.job_id).not.toBe(failed?.job_id);
    expect(opened?.scrape_run_id).not.toBe(failed?.scrape_run_id);
  });

  test('a hand-off of a former payload is opened again: A, B, A', async () => {
    const claims = await scrapes.tenant();
    for (const text of ['Alpha rivers.', 'Beta mountains.', 'Alpha rivers.']) {
      expect(await scrapes.push(claims, [referenceNamed('a', text)])).toMatchObject({
        handoff_queued_count: 1,
      });
      await scrapes.drive(claims.tenantId);
    }
    expect(await jobsOf(claims)).toHaveLength(3);
    expect(await states(claims, ['A', 'B'])).toEqual(Array(2).fill('completed ingestion_job_completed'));
    expect((await scrapes.search(claims, 'rivers')).map(({ text }) => text)).toEqual(['Alpha rivers.']);
  });

  test('follows into another knowledge base when its source does', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'Herons wait.')]);
    await scrapes.drive(claims.tenantId);
    await scrapes.call(claims, '/api/knowledge', {
      method: 'POST',
      body: { kb_id: 'other', name: 'other', embedder: scrapes.words.embedder },
    });
    await scrapes.call(claims, '/api/scraping/sources/news', {
      method: 'PUT',
      body: { mode: 'push', kb_id: 'other' },
    });
    expect(await scrapes.push(claims, [referenceNamed('a', 'Herons wait.')])).toMatchObject({
      handoff_queued_count: 1,
    });
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.search(claims, 'herons', 'other')).toHaveLength(1);
  });
});

describe('a new payload while a job of its reference is active', () => {
  async function pushTwo(claims: Claims) {
    await scrapes.push(claims, [referenceNamed('a', 'First.')]);
    const [first] = await jobsOf(claims);
    await moveJob(claims, first?.job_id ?? '', 'running');
    const counts = await scrapes.push(claims, [referenceNamed('a', 'Second.')]);
    expect(counts).toMatchObject({ handoff_queued_count: 1, handoff_skipped_count: 0 });
    expect(await states(claims, ['1', '2'])).toEqual([
      'running ingestion_job_running',
      'queued ingestion_job_already_active',
    ]);
    expect(await jobsOf(claims)).toHaveLength(1);
    return first?.job_id ?? '';
  }

  test.each([
    ['success', 'completed ingestion_job_completed'],
    ['dead_letter', 'failed ingestion_job_failed'],
  ])('waits, and gets its job in the transaction that ends the other with %s', async (status, ended) => {
    const claims = await scrapes.tenant();
    await moveJob(claims, await pushTwo(claims), status, 'sluice_kernel');
    expect(await states(claims, ['1', '2'])).toEqual([ended, 'queued ingestion_job_queued']);
    const [, second] = await jobsOf(claims);
    const [newest] = await scrapes.handoffs(claims, '&status=queued');
    expect(newest?.job_id).toBe(second?.job_id);
    await scrapes.drive(claims.tenantId);
    expect((await states(claims, ['1', '2']))[1]).toBe('completed ingestion_job_completed');
    expect((await scrapes.search(claims, 'second')).map(({ text }) => text)).toEqual(['Second.']);
  });

  test('waits for the cleanup of one that is canceled', async () => {
    const claims = await scrapes.tenant();
    const jobId = await pushTwo(claims);
    const canceled = await cancel(scrapes.held.kernel, { tenantId: claims.tenantId, jobId });
    expect(canceled.cleanupOpen).toBe(true);
    expect(await states(claims, ['1', '2'])).toEqual([
      'failed ingestion_job_failed',
      'queued ingestion_job_already_active',
    ]);
    await scrapes.drive(claims.tenantId);
    expect((await states(claims, ['1', '2']))[1]).toBe('completed ingestion_job_completed');
    expect((await scrapes.search(claims, 'second')).map(({ text }) => text)).toEqual(['Second.']);
  });

  test('waits for one that waits for a retry, and brings it forward', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'First.')]);
    const [first] = await jobsOf(claims);
    await database.owner(
      `update ingestion_jobs set status = 'failed', run_at = now() + interval '1 hour',
              next_retry_at = now() + interval '1 hour' where job_id = $1`,
      [first?.job_id],
    );
    await scrapes.push(claims, [referenceNamed('a', 'Second.')]);
    expect((await states(claims, ['1', '2']))[1]).toBe('queued ingestion_job_already_active');
    await scrapes.drive(claims.tenantId);
    expect(await states(claims, ['1', '2'])).toEqual(Array(2).fill('completed ingestion_job_completed'));
    expect(await jobsOf(claims)).toHaveLength(2);
  });

  test('replaces one that waited before it, and both end', async () => {
    const claims = await scrapes.tenant();
    const jobId = await pushTwo(claims);
    await scrapes.push(claims, [referenceNamed('a', 'Third.')]);
    await moveJob(claims, jobId, 'success');
    expect(await jobsOf(claims)).toHaveLength(2);
    await scrapes.drive(claims.tenantId);
    expect(await states(claims, ['1', '2', '3'])).toEqual(Array(3).fill('completed ingestion_job_completed'));
    expect((await scrapes.search(claims, 'third')).map(({ text }) => text)).toEqual(['Third.']);
  });

  test('may be the former one again, which is then ingested once more', async () => {
    const claims = await scrapes.tenant();
    const jobId = await pushTwo(claims);
    expect(await scrapes.push(claims, [referenceNamed('a', 'First.')])).toMatchObject({
      handoff_queued_count: 1,
    });
    expect((await states(claims, ['1', '2']))[0]).toBe('queued ingestion_job_already_active');
    await moveJob(claims, jobId, 'success');
    await scrapes.drive(claims.tenantId);
    expect(await states(claims, ['1', '2'])).toEqual(Array(2).fill('completed ingestion_job_completed'));
    expect((await scrapes.search(claims, 'first')).map(({ text }) => text)).toEqual(['First.']);
  });

  test('is not lost if the job ends at the same moment', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'First.')]);
    const [job] = await jobsOf(claims);
    const worker = new pg.Client({ connectionString: database.ownerUrl });
    await worker.connect();
    onTestFinished(() => worker.end());
    await worker.query('begin');
    await worker.query(`update ingestion_jobs set status = 'success' where job_id = $1`, [job?.job_id]);
    const pushed = scrapes.push(claims, [referenceNamed('a', 'Second.')]);
    const isWaiting = `select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(
      async () => (await database.owner(isWaiting)).length > 0,
      'the sync waits for the end of the job',
    );
    await worker.query('commit');
    expect(await pushed).toMatchObject({ handoff_queued_count: 1 });
    expect(await states(claims, ['1', '2'])).toEqual([
      'completed ingestion_job_completed',
      'queued ingestion_job_queued',
    ]);
  });
});

describe('the job that the database makes', () => {
  test('is the job that the program would have made, with the same event', async () => {
    const claims = await scrapes.tenant();
    const { tenantId } = claims;
    await scrapes.push(claims, [referenceNamed('a', 'First.')]);
    const [first] = await jobsOf(claims);
    await scrapes.push(claims, [referenceNamed('a', 'Second.')]);
    await moveJob(claims, first?.job_id ?? '', 'success');
    const [, made] = await jobsOf(claims);
    const referenceId = made?.subject_id ?? '';
    const [handoff] = await scrapes.handoffs(claims);
    await moveJob(claims, made?.job_id ?? '', 'success');
    const twinId = newId();
    await database.db.tenant(tenantId, (tx) =>
      tx.run(
        dispatchStatement(tenantId, {
          jobId: twinId,
          pipeline: 'knowledge',
          subjectId: referenceId,
          maxRetries: 5,
          correlationId: handoff?.scrape_run_id ?? '',
          payload: { kbId: 'kb', referenceId },
          userId: 'scraper',
          createdBy: 'scraper',
        }),
      ),
    );
    const own = ['job_id', 'status', 'run_at', 'created_at', 'updated_at', 'started_at', 'finished_at'];
    const rows = await database.owner<{ job: object; event: object }>(
      `select to_jsonb(j) - $3::text[] as job,
              (select to_jsonb(e) - array['event_id', 'xid', 'horizon', 'occurred_at', 'subject'] #- '{data,job_id}'
                 from events e where e.tenant_id = $1 and e.subject = j.job_id::text and e.type = 'job.queued') as event
         from ingestion_jobs j where j.tenant_id = $1 and j.job_id = any($2::uuid[]) order by j.job_id`,
      [tenantId, [made?.job_id, twinId], own],
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]?.event).not.toBeNull();
    expect(rows[1]).toEqual(rows[0]);
    expect(made?.job_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
    expect(twinId > (made?.job_id ?? ''), 'ids are in the order of time').toBe(true);
  });

  test('a job that support requeues from a dead letter is followed too', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a')]);
    const [dead] = await jobsOf(claims);
    await moveJob(claims, dead?.job_id ?? '', 'dead_letter');
    const { tenantId } = claims;
    const made = await requeue(
      scrapes.held.kernel,
      { tenantId, jobId: dead?.job_id ?? '' },
      { requestedBy: 'support' },
    );
    expect((await scrapes.handoffs(claims))[0]).toMatchObject({ status: 'queued', job_id: made.jobId });
    await scrapes.drive(tenantId);
    expect((await scrapes.handoffs(claims)).map(short)).toEqual(['completed ingestion_job_completed']);
  });
});

describe('ten syncs at once', () => {
  test('ten syncs of the same thousand references make a thousand hand-offs and a thousand jobs', async () => {
    const claims = await scrapes.tenant();
    const references = Array.from({ length: 1_000 }, (_, at) => referenceNamed(`r${at}`));
    const shuffled = () => [...references].sort(() => Math.random() - 0.5);
    const answers = await Promise.all(Array.from({ length: 10 }, () => scrapes.push(claims, shuffled())));
    for (const counts of answers) {
      expect(counts.references_persisted).toBe(1_000);
      expect(counts.handoff_failed_count).toBe(0);
      expect(sumOf(counts)).toBe(1_000);
    }
    expect(answers.reduce((sum, counts) => sum + counts.handoff_queued_count, 0)).toBe(1_000);
    const [counted] = await database.owner<{
      handoffs: string;
      jobs: string;
      queued: string;
      events: string;
    }>(
      `select (select count(*) from ingestion_handoffs where tenant_id = $1) as handoffs,
              (select count(*) from ingestion_jobs where tenant_id = $1) as jobs,
              (select count(distinct job_id) from ingestion_handoffs
                where tenant_id = $1 and reason_code = 'ingestion_job_queued') as queued,
              (select count(*) from events where tenant_id = $1 and type = 'handoff.queued') as events`,
      [claims.tenantId],
    );
    expect(counted).toEqual({ handoffs: '1000', jobs: '1000', queued: '1000', events: '1000' });
  });
});
