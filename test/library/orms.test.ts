import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTask } from '../../src/library.ts';
import { openTestSluice } from '../../src/testing.ts';

const confirm = defineTask({
  name: 'confirm',
  input: z.object({ article: z.string() }),
  run: ({ article }) => article,
});
const open = () => openTestSluice({ tasks: [confirm] });
let sluice: Awaited<ReturnType<typeof open>>;
let client: pg.Client;

beforeAll(async () => {
  sluice = await open();
  client = new pg.Client({ connectionString: sluice.databaseUrl });
  await client.connect();
  await client.query('create table orders (article text)');
});
afterAll(async () => {
  await client.end();
  await sluice.stop();
});

const counts = async () => {
  const counted = `select (select count(*)::int from orders) as orders,
                          (select count(*)::int from ingestion_jobs) as jobs`;
  return (await client.query(counted)).rows[0];
};

type Order = (fails: boolean) => Promise<{ jobId: string }>;

async function commitsTogether(order: Order): Promise<void> {
  const before = await counts();
  await expect(order(true)).rejects.toThrow('out of stock');
  expect(await counts()).toEqual(before);
  const { jobId } = await order(false);
  expect(await counts()).toEqual({ orders: before.orders + 1, jobs: before.jobs + 1 });
  await sluice.runUntilIdle();
  expect(await sluice.job('shop', jobId)).toMatchObject({ status: 'success', result: 'lamp' });
}

describe('an order and its job commit together, or neither', () => {
  test('with Drizzle, by the client that it was given', () => {
    const db = drizzle(client);
    return commitsTogether((fails) =>
      db.transaction(async (tx) => {
        await tx.execute(sql`insert into orders values ('lamp')`);
        const made = await sluice.dispatch('confirm', { article: 'lamp' }, { tenantId: 'shop', client });
        if (fails) throw new Error('out of stock');
        return made;
      }),
    );
  });

  test('with Kysely, by an adapter of one line', async () => {
    const db = new Kysely<{ orders: { article: string } }>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: sluice.databaseUrl }) }),
    });
    const clientOf = (trx: Transaction<never>) => ({
      query: (text: string, values: unknown[]) =>
        trx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, values)),
    });
    await commitsTogether((fails) =>
      db.transaction().execute(async (trx) => {
        await trx.insertInto('orders').values({ article: 'lamp' }).execute();
        const wish = { tenantId: 'shop', client: clientOf(trx as unknown as Transaction<never>) };
        const made = await sluice.dispatch('confirm', { article: 'lamp' }, wish);
        if (fails) throw new Error('out of stock');
        return made;
      }),
    );
    await db.destroy();
  });
});
