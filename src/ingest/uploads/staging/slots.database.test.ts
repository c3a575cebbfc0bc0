import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import {
  adLine,
  adReport,
  gate,
  type Place,
  range,
  useUploadRuns,
} from '../../../../test/support/worlds/upload-runs.ts';
import { cancel, pause, resume } from '../../../kernel/jobs/dispatch/service.ts';
import { failAbandoned } from '../service.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);
const report = adReport(range(3).map((n) => adLine(n)));

async function statuses({ tenantId, workspaceId }: Place): Promise<string[]> {
  const rows = await database.owner<{ status: string }>(
    'select status from data_uploads where tenant_id = $1 and workspace_id = $2 order by created_at, upload_id',
    [tenantId, workspaceId],
  );
  return rows.map(({ status }) => status);
}

const isAtWork = (status: string) => status === 'processing' || status === 'promoting';

/** Uploads stop here until they are released, one by one. */
function holdingHooks(status: string) {
  const held = new Map<string, () => void>();
  const done = new Set<string>();
  const before = async (_count: number, { job }: { job: { subjectId: string } }) => {
    const uploadId = job.subjectId;
    if (done.has(uploadId) || (await uploads.upload({ uploadId })).status !== status) return;
    const { opened, open } = gate();
    held.set(uploadId, open);
    await opened;
  };
  const letGo = (uploadId: string) => {
    done.add(uploadId);
    held.get(uploadId)?.();
  };
  return { held, letGo, hooks: { before } };
}

test('three of five uploads of a workspace run at once on two kernels, and the others follow in order', {
  timeout: 60_000,
}, async () => {
  const place = await uploads.place();
  const { held, letGo, hooks } = holdingHooks('processing');
  const taken = [];
  for (let n = 0; n < 5; n += 1) taken.push(await uploads.take(place, report));
  const ids = taken.map(({ uploadId }) => uploadId);
  for (let n = 0; n < 2; n += 1) await uploads.start({ work: true, concurrency: 5, pollMs: 20, hooks });
  const started: string[][] = [];
  for (const next of [0, 1, 2]) {
    await eventually(
      async () => held.size === Math.min(5, 3 + next),
      `${3 + next} uploads have begun`,
      20_000,
    );
    const now = await statuses(place);
    expect(now.filter(isAtWork).length).toBeLessThanOrEqual(3);
    started.push([...held.keys()].sort());
    letGo(ids[next] as string);
  }
  letGo(ids[3] as string);
  letGo(ids[4] as string);
  await eventually(
    async () => {
      const now = await statuses(place);
      expect(now.filter(isAtWork).length).toBeLessThanOrEqual(3);
      return now.every((status) => status === 'completed');
    },
    'all uploads have completed',
    30_000,
  );
  // Version 7 ids sort by time: the oldest three first, then one after the other.
  expect(started).toEqual([ids.slice(0, 3), ids.slice(0, 4), ids].map((some) => [...some].sort()));
});

test('uploads of another workspace do not wait', { timeout: 60_000 }, async () => {
  const [busy, free] = [await uploads.place(), await uploads.place()];
  const { held, letGo, hooks } = holdingHooks('processing');
  const before = async (
    count: number,
    slice: Parameters<typeof hooks.before>[1] & { job: { tenantId: string } },
  ) => {
    if (slice.job.tenantId === busy.tenantId) await hooks.before(count, slice);
  };
  const taken = [];
  for (let n = 0; n < 4; n += 1) taken.push(await uploads.take(busy, report));
  const other = await uploads.take(free, report);
  await uploads.start({ work: true, concurrency: 8, pollMs: 20, hooks: { before } });
  await eventually(
    async () => (await uploads.upload(other)).status === 'completed',
    'the other one completes',
    20_000,
  );
  await eventually(async () => held.size === 3, 'three of the busy workspace have begun', 20_000);
  expect((await uploads.upload(taken[3] as never)).status).toBe('pending');
  for (const { uploadId } of taken) letGo(uploadId);
  await eventually(
    async () => (await statuses(busy)).every((s) => s === 'completed'),
    'the others follow',
    20_000,
  );
});

test('uploads that are held for review, failed or canceled free their slots', async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const drive = () => kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const held = await uploads.take(place, report, { review: true });
  const failed = await uploads.take(place, 'no report at all');
  const canceled = await uploads.take(place, report, { review: true });
  await drive();
  await cancel(kernel, canceled);
  await drive();
  const rest = [];
  for (let n = 0; n < 4; n += 1) rest.push(await uploads.take(place, report, { review: n < 3 }));
  await drive();
  for (const one of rest) await uploads.bringForward(one);
  await drive();
  expect((await uploads.upload(failed)).status).toBe('failed');
  expect((await uploads.upload(held)).status).toBe('staging_complete');
  expect(await statuses(place)).toEqual([
    'staging_complete',
    'failed',
    'failed',
    'staging_complete',
    'staging_complete',
    'staging_complete',
    'completed',
  ]);
  const taken = await database.owner(
    'select from upload_slots where tenant_id = $1 and upload_id is not null',
    [place.tenantId],
  );
  expect(taken).toHaveLength(0);
});

test('a paused upload at the head of the queue blocks no other, and runs when it is resumed', async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const drive = () => kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const heads = [];
  for (let n = 0; n < 3; n += 1) heads.push(await uploads.take(place, report));
  for (const head of heads) await pause(kernel, head);
  const next = await uploads.take(place, report);
  await drive();
  expect((await uploads.upload(next)).status).toBe('completed');
  for (const head of heads) await resume(kernel, head);
  await drive();
  expect(await statuses(place)).toEqual(['completed', 'completed', 'completed', 'completed']);
});

test.each(['processing', 'promoting'])(
  'an upload whose worker died too often while it was %s fails and frees its slot',
  async (status) => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const upload = await uploads.take(place, report);
    await database.owner(
      `with s as (
         insert into upload_slots (tenant_id, workspace_id, slot_no, upload_id, taken_at)
         select tenant_id, workspace_id, 1, upload_id, clock_timestamp() from data_uploads where upload_id = $1)
       update data_uploads set status = $2 where upload_id = $1`,
      [upload.uploadId, status],
    );
    await database.owner(
      `update ingestion_jobs
          set status = 'dead_letter', error_message = 'The worker process died 3 times in a row with this job',
              finished_at = clock_timestamp()
        where job_id = $1`,
      [upload.jobId],
    );
    expect(await failAbandoned(deps)).toEqual({ failed: 1 });
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'failed',
      error_code: 'upload_abandoned',
      error_text: 'The worker process died 3 times in a row with this job',
    });
    const others = [];
    for (let n = 0; n < 3; n += 1) others.push(await uploads.take(place, report));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await statuses(place)).toEqual(['failed', 'completed', 'completed', 'completed']);
    expect(await failAbandoned(deps)).toEqual({ failed: 0 });
  },
);

test('an abandoned upload that cannot be failed does not stop the others', async () => {
  const [stuck, free] = [await uploads.place(), await uploads.place()];
  const { deps } = await uploads.start();
  const both = [await uploads.take(stuck, report), await uploads.take(free, report)];
  for (const { jobId } of both) {
    await database.owner(
      `update ingestion_jobs set status = 'dead_letter', finished_at = clock_timestamp() where job_id = $1`,
      [jobId],
    );
  }
  await database.owner(`
    create function refuse_end() returns trigger language plpgsql as $$
    begin
      if new.tenant_id = '${stuck.tenantId}' then raise exception 'not this one'; end if;
      return new;
    end $$;
    create trigger refuse_end before update on data_uploads for each row execute function refuse_end()`);
  try {
    await expect(failAbandoned(deps)).rejects.toThrow(/not this one/);
    expect((await uploads.upload(both[1] as never)).status).toBe('failed');
  } finally {
    await database.owner('drop trigger refuse_end on data_uploads');
  }
});
