// The minimum for job_items: claim a batch and complete it, in one transaction, in plain SQL.
import pg from 'pg';
import { settings, untilGo } from './protocol.mjs';

const { ownerUrl, tenantId, jobId, best } = settings;
const clients = await Promise.all(
  Array.from({ length: best.connections }, async () => {
    const client = new pg.Client({ connectionString: ownerUrl });
    await client.connect();
    return client;
  }),
);
await untilGo();
const counts = await Promise.all(clients.map(drain));
await Promise.all(clients.map((client) => client.end()));
process.send({ is: 'handled', count: counts.reduce((sum, count) => sum + count, 0) }, () =>
  process.disconnect(),
);

async function drain(client) {
  let drained = 0;
  for (;;) {
    await client.query('begin');
    const { rows } = await client.query({
      name: 'claim',
      text: `select id, input_json::text as input
               from job_items
              where tenant_id = $1
                and job_id = $2
                and status = 'PENDING'
                and due_at <= clock_timestamp()
              order by due_at, id
              limit $3
                for update skip locked`,
      values: [tenantId, jobId, best.batchSize],
    });
    if (rows.length > 0) await complete(client, rows);
    await client.query('commit');
    if (rows.length === 0) return drained;
    drained += rows.length;
  }
}

async function complete(client, rows) {
  await client.query({
    name: 'complete',
    text: `update job_items j
              set status = 'DONE',
                  attempts = j.attempts + 1,
                  result_json = c.result::json,
                  updated_at = clock_timestamp()
             from unnest($3::bigint[], $4::text[]) as c (id, result)
            where j.tenant_id = $1
              and j.job_id = $2
              and j.id = any($3::bigint[])
              and j.id = c.id`,
    values: [tenantId, jobId, rows.map(({ id }) => id), rows.map(({ input }) => input)],
  });
}
