import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openSession, untilWaitedFor } from '../../../test/support/probes/sessions.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { insertHiddenJob } from '../../kernel/jobs/shared/shared-store.ts';
import { newId } from '../../lib/ids.ts';
import { insertItemJob } from './store.ts';
import { pipelineName } from './types.ts';

const database = useDatabase();

interface Key {
  tenantId: string;
  jobId: string;
}

async function makeJob(): Promise<Key> {
  const tenantId = await newTenant(database);
  const jobId = newId();
  const job = { jobId, pipeline: pipelineName, subjectId: jobId, maxRetries: 0, shared: true };
  const items = {
    jobType: 'csv' as const,
    processor: 'noop',
    options: {},
    columns: [],
    fileId: null,
    fileName: null,
  };
  await database.db.tenant(tenantId, async (tx) => {
    await insertHiddenJob(tx, tenantId, { ...job, createdBy: 'somebody', userId: 'somebody' });
    await insertItemJob(tx, {
      tenantId,
      jobId,
      ...items,
      userId: 'somebody',
      userRole: 'member',
      ingestingBy: newId(),
    });
  });
  return { tenantId, jobId };
}

const insertItems = `insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json)
                     select $1, $2, n, 'somebody', 'csv', '{}' from generate_series(1, 3) n`;

const countItems = async ({ jobId }: Key) => {
  const [row] = await database.owner<{ n: number }>(
    'select count(*)::int as n from job_items where job_id = $1',
    [jobId],
  );
  return row?.n;
};

test('items of a missing job, or of another tenant’s job, are refused', async () => {
  const { jobId } = await makeJob();
  const other = await newTenant(database);
  await expect(database.owner(insertItems, [other, jobId])).rejects.toMatchObject({ code: '23503' });
  await expect(database.owner(insertItems, [other, randomUUID()])).rejects.toMatchObject({ code: '23503' });
});

test('deleting the record of a job deletes its items and no others', async () => {
  const [gone, stays] = [await makeJob(), await makeJob()];
  for (const { tenantId, jobId } of [gone, stays]) await database.owner(insertItems, [tenantId, jobId]);
  await database.db.kernel((tx) =>
    tx.client.query('delete from item_jobs where job_id = $1', [gone.jobId]).then(() => {}),
  );
  expect(await countItems(gone)).toBe(0);
  expect(await countItems(stays)).toBe(3);
});

test('deleting the record of a job waits for rows that are being written, and deletes them too', async () => {
  const key = await makeJob();
  const [writer, deleter] = [await openSession(database), await openSession(database)];
  await writer.query('begin');
  await writer.query(insertItems, [key.tenantId, key.jobId]);
  const deletion = deleter.query('delete from item_jobs where job_id = $1', [key.jobId]);
  await untilWaitedFor(database, writer);
  await writer.query('commit');
  await deletion;
  expect(await countItems(key)).toBe(0);
});

test('writing rows waits for a running deletion of the record of their job, and is then refused', async () => {
  const key = await makeJob();
  const [writer, deleter] = [await openSession(database), await openSession(database)];
  await deleter.query('begin');
  await deleter.query('delete from item_jobs where job_id = $1', [key.jobId]);
  const writing = writer.query(insertItems, [key.tenantId, key.jobId]).then(
    () => 'written',
    (error: { code: string }) => error.code,
  );
  await untilWaitedFor(database, deleter);
  await deleter.query('commit');
  expect(await writing).toBe('23503');
  expect(await countItems(key)).toBe(0);
});
