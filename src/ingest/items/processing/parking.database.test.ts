import { expect, onTestFinished, test } from 'vitest';
import { useItemServer } from '../../../../test/support/servers/item-server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { getJob } from '../../../kernel/jobs/dispatch/service.ts';
import { defineProcessor } from './processors/custom/define-processor.ts';
import type { ItemOutcome } from './processors/types.ts';

const database = useDatabase();
let outcomeOf: (attempt: number) => Promise<ItemOutcome> = async () => ({ status: 'DONE', result: {} });
const patient = defineProcessor({
  name: 'patient',
  strategies: 2,
  process: (items) => Promise.all(items.map(({ attempts }) => outcomeOf(attempts))),
});
const { held, server } = useItemServer(database, { customProcessors: [patient] });

async function importRow(tenantId: string): Promise<{ tenantId: string; jobId: string }> {
  const form = new FormData();
  form.set('processor', 'patient');
  form.set('file', new Blob(['name\na\n']), 'rows.csv');
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  expect(answer.status).toBe(201);
  return { tenantId, jobId: ((await answer.json()) as { jobId: string }).jobId };
}

test('a row that is due at once waits for nobody who found nothing while it was worked on', async () => {
  const key = await importRow(await newTenant(database));
  let letGo = (): void => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  onTestFinished(() => letGo());
  const reached = new Promise<void>((resolve) => {
    outcomeOf = async (attempt) => {
      if (attempt > 1) return { status: 'DONE', result: {} };
      resolve();
      await gate;
      return { status: 'NOT_FOUND', reason: 'not in this way', retry: 'at_once' };
    };
  });
  const first = held.kernel.kickOff({ ...key, durationMs: 30_000 });
  await reached;
  const [before] = await database.owner<{ now: string }>('select clock_timestamp()::text as now');
  expect((await held.kernel.kickOff({ ...key, durationMs: 30_000 })).processed, 'nothing is free').toBe(0);
  const [parked] = await database.owner<{ rests: boolean }>(
    `select run_at > $2::timestamptz as rests from ingestion_jobs where job_id = $1`,
    [key.jobId, before?.now],
  );
  expect(parked, 'the second puts the job to rest').toEqual({ rests: true });
  letGo();
  await first;
  expect(await getJob(held.kernel, key)).toMatchObject({ status: 'success', counters: { done: 1 } });
});
