import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { insertHiddenJob } from '../../../kernel/jobs/shared/shared-store.ts';
import { newId } from '../../../lib/ids.ts';
import { insertItemJob } from '../store.ts';
import { type ClaimedItem, type JobKey, pipelineName } from '../types.ts';
import { givenBack } from './outcomes.ts';
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
