import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { itemBounds } from '../../../../test/support/worlds/item-bounds.ts';
import { insertHiddenJob } from '../../../kernel/jobs/shared/shared-store.ts';
import { newId } from '../../../lib/ids.ts';
import { correctItem } from '../fixing/store.ts';
import { insertItemJob, resetItems } from '../store.ts';
import { type ClaimedItem, type JobKey, pipelineName } from '../types.ts';
import { changeOf, givenBack } from './outcomes.ts';
import { ClaimedInput } from './processing.ts';
import { noopProcessor } from './processors/noop.ts';
import { changeItems, claimCrashedItem, claimItems, releaseExpired } from './store.ts';

const database = useDatabase();

async function makeRow(): Promise<JobKey> {
  const [tenantId, jobId] = [await newTenant(database), newId()];
  const job = { jobId, pipeline: pipelineName, subjectId: jobId, maxRetries: 0, shared: true };
  const file = { fileId: null, fileName: null, columns: [] };
  const items = { jobType: 'csv' as const, processor: 'noop', options: {}, ...file };
  const user = { userId: 'somebody', userRole: 'member' as const };
  await database.db.tenant(tenantId, async (tx) => {
    await insertHiddenJob(tx, tenantId, { ...job, createdBy: 'somebody', userId: 'somebody' });
    await insertItemJob(tx, { tenantId, jobId, ...items, ...user, ingestingBy: newId() });
  });
  await database.owner(
    `insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json)
     values ($1, $2, 1, 'somebody', 'csv', '{}')`,
    [tenantId, jobId],
  );
  return { tenantId, jobId };
}

const attemptOf = (item: ClaimedItem | undefined) => item && new ClaimedInput(item, noopProcessor).attemptNo;

for (const [holder, expiresAt] of [
  ['dead', '-infinity'],
  ['late', 'yesterday'],
] as const) {
  test(`a row of a ${holder} worker keeps the number of its attempt, also when given back`, async () => {
    const key = await makeRow();
    const lock = () => ({ ...key, workerId: newId(), lockToken: newId(), lockMs: 60_000 });
    const [first] = await database.db.tenant(key.tenantId, (tx) => claimItems(tx, { ...lock(), limit: 1 }));
    expect(attemptOf(first)).toBe(1);
    await database.owner('update job_items set lock_expires_at = $2::timestamptz where job_id = $1', [
      key.jobId,
      expiresAt,
    ]);
    for (let time = 1; time <= 3; time += 1) {
      const claim = lock();
      const [again] = await database.db.tenant(key.tenantId, async (tx) => {
        await releaseExpired(tx, { ...key, limit: 10 });
        return claimCrashedItem(tx, claim);
      });
      expect(attemptOf(again), `claimed for the ${time}. time after the crash`).toBe(1);
      const changes = [givenBack(again as ClaimedItem)];
      await database.db.tenant(key.tenantId, (tx) =>
        changeItems(tx, key, { lockToken: claim.lockToken, changes }),
      );
    }
  });
}

const claimOne = async (key: JobKey) => {
  const lock = { ...key, workerId: newId(), lockToken: newId(), lockMs: 60_000 };
  const [item] = await database.db.tenant(key.tenantId, (tx) => claimItems(tx, { ...lock, limit: 1 }));
  const changes = [changeOf(item as ClaimedItem, failed, itemBounds)];
  await database.db.tenant(key.tenantId, (tx) =>
    changeItems(tx, key, { lockToken: lock.lockToken, changes }),
  );
  return attemptOf(item);
};

test('an attempt after a reset or a correction has a number that no attempt had before', async () => {
  const key = await makeRow();
  const itemId = (await idsOf(key))[0] ?? 0;
  expect(await claimOne(key)).toBe(1);
  await database.db.tenant(key.tenantId, (tx) => resetItems(tx, { ...resetAll, ...key }));
  expect(await claimOne(key)).toBe(2);
  const corrected = { ...key, itemId, inputJson: '{"a":1}', normalizedJson: null };
  await database.db.tenant(key.tenantId, (tx) => correctItem(tx, corrected));
  expect(await claimOne(key)).toBe(3);
  await database.db.tenant(key.tenantId, (tx) =>
    resetItems(tx, { ...resetAll, ...key, resetAttempts: false }),
  );
  expect(await claimOne(key)).toBe(4);
});

const failed = { status: 'ERROR', code: 'broken', message: 'broken', class: 'permanent' } as const;
const resetAll = {
  statuses: ['ERROR' as const],
  itemIds: null,
  errorCode: null,
  resetAttempts: true,
  maxAttemptsError: 5,
  maxAttemptsNotFound: 2,
  afterId: 0,
  limit: 10,
};

async function idsOf({ jobId }: JobKey): Promise<number[]> {
  const rows = await database.owner<{ id: string }>('select id from job_items where job_id = $1', [jobId]);
  return rows.map(({ id }) => Number(id));
}
