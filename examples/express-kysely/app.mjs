// An Express app whose order and job commit together, in a transaction of Kysely. Run it with `node app.mjs`.
import express from 'express';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { defineTask, openSluice } from 'sluice';
import { z } from 'zod';

const confirm = defineTask({
  name: 'confirm',
  input: z.object({ orderId: z.int() }),
  run: ({ orderId }, { step }) => step('mail', () => `Order ${orderId} is confirmed`),
});

const sluice = await openSluice({ dataDir: './.sluice', tasks: [confirm] });
const db = new Kysely({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: sluice.databaseUrl }) }),
});
await db.schema
  .createTable('orders')
  .ifNotExists()
  .addColumn('id', 'serial', (column) => column.primaryKey())
  .addColumn('article', 'text', (column) => column.notNull())
  .execute();

/** What Sluice needs of a transaction: the `query` of a pg client. */
const clientOf = (trx) => ({ query: (text, values) => trx.executeQuery(CompiledQuery.raw(text, values)) });

const app = express();
app.use('/sluice', sluice.handler);
app.use(express.json());
app.post('/orders', async (request, response) => {
  const { article, fails = false } = request.body;
  const made = await db.transaction().execute(async (trx) => {
    const { id } = await trx
      .insertInto('orders')
      .values({ article })
      .returning('id')
      .executeTakeFirstOrThrow();
    const client = clientOf(trx);
    const { jobId } = await sluice.dispatch('confirm', { orderId: id }, { tenantId: 'shop', client });
    // The order is rolled back, and the job with it.
    if (fails) throw new Error('out of stock');
    return { id, jobId };
  });
  response.status(201).json(made);
});
app.get('/orders/:jobId/confirmation', async (request, response) => {
  response.json(await sluice.wait('shop', request.params.jobId));
});
app.use((error, _request, response, _next) => response.status(409).json({ error: error.message }));

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
process.once('SIGTERM', async () => {
  server.close();
  await db.destroy();
  await sluice.stop();
});
