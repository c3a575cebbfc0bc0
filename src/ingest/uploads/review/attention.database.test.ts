import { beforeAll, expect, test } from 'vitest';
import { readingOf } from '../../../../test/support/probes/statement-reading.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { newId } from '../../../lib/ids.ts';
import { listUploadAttention } from './attention-store.ts';

const database = useDatabase();
const dayMs = 86_400_000;
const since = new Date(Date.now() - dayMs);
const period = { since, stepSeconds: 900 };
let tenantId = '';
let workspaceId = '';

interface Made {
  status: string;
  daysAgo: number;
  userId?: string;
  review?: boolean;
  errorCode?: string;
  count?: number;
}

async function make({ status, daysAgo, userId = 'ada', review = false, errorCode, count = 1 }: Made) {
  const at = new Date(Date.now() - daysAgo * dayMs);
  const ids = Array.from({ length: count }, () => newId(at.getTime()));
  await database.owner(
    `insert into data_uploads (tenant_id, upload_id, workspace_id, platform, source, file_id, file_url, status, review,
                               job_id, error_code, created_by, user_id, created_at, finished_at)
     select $1, id, $2, 'meta', 'manual', gen_random_uuid(), 'f', $3, $4, gen_random_uuid(), $5, $6, $6, $7,
            case when $3 = any(array['completed', 'failed']) then $7::timestamptz end
       from unnest($8::uuid[]) id`,
    [tenantId, workspaceId, status, review, errorCode ?? null, userId, at, ids],
  );
  return ids;
}

const read = (ownerId?: string) =>
  database.db.tenant(tenantId, (tx) => listUploadAttention(tx, { tenantId, ownerId }, period));

beforeAll(async () => {
  tenantId = await newTenant(database);
  workspaceId = newId();
  await database.owner(`insert into workspaces (tenant_id, workspace_id, name) values ($1, $2, 'w')`, [
    tenantId,
    workspaceId,
  ]);
});

test('uploads in review and those that failed today are listed, and a member sees only its own', async () => {
  const [held] = await make({ status: 'staging_complete', review: true, daysAgo: 20 });
  await make({ status: 'staging_complete', daysAgo: 0 });
  await make({ status: 'failed', errorCode: 'no_date', daysAgo: 0.1, count: 2 });
  await make({ status: 'failed', errorCode: 'no_date', daysAgo: 0.1, userId: 'bob' });
  await make({ status: 'failed', errorCode: 'too_old', daysAgo: 1.1 });
  expect(await read()).toMatchObject([
    { kind: 'uploads_in_review', code: null, count: 1, subjectId: held },
    { kind: 'uploads_failed', code: 'no_date', count: 3, subjectId: null },
  ]);
  expect(await read('bob')).toMatchObject([
    { kind: 'uploads_in_review', count: 0 },
    { kind: 'uploads_failed', code: 'no_date', count: 1 },
  ]);
});

test.each([false, true])(
  'uploads that ended long ago are not read (statistics: %s)',
  async (withStatistics) => {
    await make({ status: 'completed', daysAgo: 30, count: 10_000 });
    if (withStatistics) await database.owner('analyze data_uploads');
    const { rows, scans } = await readingOf(database.db, {
      context: { role: 'sluice_tenant', tenantId },
      work: (tx) => listUploadAttention(tx, { tenantId }, period),
    });
    expect(rows, scans.join(', ')).toBeLessThan(200);
  },
);
