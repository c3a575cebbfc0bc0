import { expect, test } from 'vitest';
import { costOf } from '../../../test/support/probes/job-cost.ts';
import { useItemServer } from '../../../test/support/servers/item-server.ts';
import { newTenant } from '../../../test/support/worlds/database.ts';
import { useOwnDatabase } from '../../../test/support/worlds/own-database.ts';

const database = useOwnDatabase();
const { held, server } = useItemServer(database);

const ofHouse = /item_jobs|job_items|move_item_counts|_items\(|_items_at_once\(/;

async function send(tenantId: string, name: string): Promise<string> {
  const form = new FormData();
  form.set('processor', 'noop');
  form.set('file', new Blob([`id,name\n1,${name}\n`], { type: 'text/csv' }), 'rows.csv');
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { jobId: string }).jobId;
}

test('a job of one row costs a handful of statements and transactions', { timeout: 120_000 }, async () => {
  const tenantId = await newTenant(database);
  const cost = await costOf(database, {
    names: [ofHouse],
    work: async (n) => {
      await send(tenantId, `row-${n}`);
      await held.kernel.cycle({ budgetMs: 20_000, tenantId });
    },
  });
  const ended = await database.owner<{ status: string; done: string }>(
    `select j.status, i.done
       from ingestion_jobs j join item_jobs i using (tenant_id, job_id)
      where j.tenant_id = $1`,
    [tenantId],
  );
  expect(ended.every(({ status, done }) => status === 'success' && done === '1')).toBe(true);
  // Taken in by one; opened, locked, finished and counted by four. A look at the quota is remembered for a second.
  expect(cost.naming[ofHouse.source], JSON.stringify(cost)).toBeLessThanOrEqual(7);
  // With the kernel's own for its tenant: the job, its end, an event.
  expect(cost.statements, JSON.stringify(cost)).toBeLessThanOrEqual(12);
  expect(cost.transactions, JSON.stringify(cost)).toBeLessThanOrEqual(5);
  // It was 11.0 KB, of which 6 KB are the kernel's; a busy machine adds heartbeats.
  expect(cost.walBytes, JSON.stringify(cost)).toBeLessThan(9_900);
});
