import { setTimeout } from 'node:timers/promises';
import { fanOutOnce } from '../../src/kernel/webhooks/deliveries/fan-out.ts';
import { newId } from '../../src/lib/ids.ts';
import { arrangeJobs, type Expected, tenants } from './arranged.ts';
import type { Installation } from './installation.ts';
import { reopenSharedJob } from './old-shared.ts';

// What only the new version leaves behind, for a migration down.

/** Jobs in every state, and ended ones in several periods. */
export async function arrangeNewTables(installation: Installation, liveWorker: string): Promise<Expected> {
  const jobs: Expected = new Map();
  for (let period = 0; period < 3; period += 1) {
    for (const [id, end] of await arrangeJobs(installation, { liveWorker, count: 2 })) jobs.set(id, end);
    await installation.query('select move_ended_jobs(100000)');
    if (period === 2) break;
    // A period is named after the second in which it ended.
    await setTimeout(1_100);
    await installation.query('select rotate_ended_jobs()');
  }
  const [ended] = await installation.query<{ tenantId: string; jobId: string }>(
    `select tenant_id as "tenantId", job_id as "jobId"
       from ingestion_jobs_ended
      where shared and status = 'success'
      limit 1`,
  );
  if (!ended) throw new Error('No shared job has ended');
  await installation.db.tenant(ended.tenantId, (tx) => reopenSharedJob(tx, ended));
  // The job of these items is past its retention; upkeep has not removed them yet.
  await installation.query(
    `insert into item_jobs (tenant_id, job_id, job_type, processor, user_id) values ('acme', $1, 'csv', 'noop', 'u')`,
    [newId()],
  );
  return jobs;
}

/**
 * Events in several partitions and eras. Webhooks have read some of them: all up to a point, except for what was
 * written then and committed later; one has come half through a page.
 */
export async function arrangeNewLog(installation: Installation): Promise<void> {
  const { db } = installation;
  while (await fanOutOnce(db));
  await write(installation, 'before late');
  let commit = () => {};
  const gate = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const late = db.tenant('acme', async (tx) => {
    await tx.client.query(insertion('late'));
    await gate;
  });
  await setTimeout(200);
  await write(installation, 'after late');
  while (await fanOutOnce(db));
  commit();
  await late;
  await installation.query(`select roll_event_log('0 s')`);
  await write(installation, 'in the next partition');
  // Of a cluster that had used up many more transactions than this one.
  await installation.query(
    `insert into events (tenant_id, xid, type, subject, data)
     select t.name, (900000000000 + t.n)::text::xid8, 'job.queued', 'of another cluster', '{}'
       from unnest($1::text[]) with ordinality t (name, n)`,
    [tenants],
  );
  await installation.query(
    `update event_eras set incarnation = '1:1:1:1' where era = (select max(era) from event_eras)`,
  );
  await installation.query('select ensure_event_era()');
  await write(installation, 'in the next era');
  await fanOutOnce(db, { batchSize: 2 });
  await write(installation, 'last');
}

const insertion = (subject: string) =>
  `insert into events (tenant_id, type, subject, data) values ('acme', 'job.queued', '${subject}', '{}')`;

async function write(installation: Installation, subject: string): Promise<void> {
  for (const tenantId of tenants) {
    await installation.query(insertion(subject).replace('acme', tenantId));
  }
}
