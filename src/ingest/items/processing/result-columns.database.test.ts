import { expect, test } from 'vitest';
import { useItemServer } from '../../../../test/support/servers/item-server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { defineProcessor } from './processors/custom/define-processor.ts';

const database = useDatabase();
const brander = defineProcessor({
  name: 'brander',
  processItem: ({ input }) => ({ status: 'DONE', result: { ...input, brand: 'Acme' } }),
});
const { held, server } = useItemServer(database, { customProcessors: [brander] });

/** The first transaction that names a result column fails after it was written; sequences remember that. */
async function failFirstColumns(jobId: string): Promise<void> {
  await database.owner(`
    create sequence column_writes;
    grant usage on sequence column_writes to public;
    create function fail_first_columns() returns trigger language plpgsql as $$
    begin
      if nextval('public.column_writes') = 1 then
        raise serialization_failure;
      end if;
      return null;
    end
    $$;
    create constraint trigger fail_first_columns
      after update of result_columns on item_jobs deferrable initially deferred
      for each row when (new.job_id = '${jobId}' and new.result_columns <> old.result_columns)
      execute function fail_first_columns()`);
}

test('result columns whose first COMMIT fails are stored with the answers that are committed again', async () => {
  const tenantId = await newTenant(database);
  const form = new FormData();
  form.set('processor', 'brander');
  form.set('file', new Blob(['sku\nA1\nA2\n']), 'rows.csv');
  const headers = await server.bearer({ tenantId });
  const made = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  const { jobId } = (await made.json()) as { jobId: string };
  await failFirstColumns(jobId);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId });
  const [job] = await database.owner<{ columns: string[]; writes: string }>(
    `select result_columns as columns, (select last_value from column_writes)::text as writes
       from item_jobs where job_id = $1`,
    [jobId],
  );
  expect(job).toEqual({ columns: ['sku', 'brand'], writes: '2' });
  const exported = await fetch(`${server.url}/api/jobs/${jobId}/export?format=csv`, {
    method: 'POST',
    headers,
  });
  expect(exported.status).toBe(200);
  expect(await exported.text()).toBe('row_no,status,sku,brand\r\n1,DONE,A1,Acme\r\n2,DONE,A2,Acme\r\n');
});
