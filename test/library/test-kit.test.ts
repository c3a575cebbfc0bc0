import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePipeline, defineTask } from '../../src/library.ts';
import { openTestSluice } from '../../src/testing.ts';

const calls: string[] = [];
const charge = defineTask({
  name: 'charge',
  input: z.object({ card: z.string() }),
  run: async ({ card }, { step, sleep }) => {
    const receipt = await step('charge', ({ idempotencyKey }) => {
      calls.push(idempotencyKey);
      return `receipt for ${card}`;
    });
    await sleep(3 * 24 * 3_600_000);
    return step('remind', () => `${receipt}, reminded`);
  },
});

const ledger = definePipeline({
  name: 'ledger',
  input: z.object({ amounts: z.array(z.number()) }),
  advance: async ({ job }) => {
    const at = job.checkpoint.at ?? 0;
    return {
      outcome: { type: at + 1 < job.input.amounts.length ? 'continue' : 'done' },
      checkpoint: { at: at + 1 },
      effects: (tx) => tx.query('insert into ledger (amount) values ($1)', [job.input.amounts[at]]),
    };
  },
});

const open = () => openTestSluice({ pipelines: [ledger], tasks: [charge] });
let sluice: Awaited<ReturnType<typeof open>>;
let client: pg.Client;
beforeAll(async () => {
  sluice = await open();
  client = new pg.Client({ connectionString: sluice.databaseUrl });
  await client.connect();
  await client.query('create table ledger (id serial primary key, amount int)');
});
afterAll(async () => {
  await client.end();
  await sluice.stop();
});

const amounts = async () =>
  (await client.query('select amount from ledger order by id')).rows.map((row) => row.amount);

describe('the test kit', () => {
  test('runs nothing by itself, and then all that is due', async () => {
    const { jobId } = await sluice.dispatch('ledger', { amounts: [1, 2, 3] }, { tenantId: 'acme' });
    expect(await sluice.job('acme', jobId)).toMatchObject({ status: 'queued' });
    await sluice.runUntilIdle();
    expect(await sluice.job('acme', jobId)).toMatchObject({ status: 'success' });
    expect(await amounts()).toEqual([1, 2, 3]);
  });

  test('moves sleeps by its clock, and not before', async () => {
    const { jobId } = await sluice.dispatch('charge', { card: '4242' }, { tenantId: 'acme' });
    await sluice.runUntilIdle();
    await sluice.clock.advance(2 * 24 * 3_600_000);
    await sluice.runUntilIdle();
    expect(await sluice.job('acme', jobId)).toMatchObject({ status: 'running', counters: { steps: 2 } });
    await sluice.clock.advance(24 * 3_600_000);
    await sluice.runUntilIdle();
    const ended = await sluice.job('acme', jobId);
    expect(ended).toMatchObject({ status: 'success', result: 'receipt for 4242, reminded' });
  });

  test('kills a slice before and after its effects, and they count once', async () => {
    await client.query('delete from ledger');
    for (const seam of ['before-effects', 'after-effects'] as const) {
      sluice.killAt(seam, { times: 2 });
      const { jobId } = await sluice.dispatch('ledger', { amounts: [5, 6] }, { tenantId: 'acme' });
      await sluice.runUntilIdle();
      expect(await sluice.job('acme', jobId)).toMatchObject({ status: 'success' });
    }
    expect(await amounts()).toEqual([5, 6, 5, 6]);
  });

  test('kills a task after a step that nothing remembers yet: it is done again under the same key', async () => {
    calls.length = 0;
    sluice.killAfterStep();
    const { jobId } = await sluice.dispatch('charge', { card: '4242' }, { tenantId: 'acme' });
    await sluice.runUntilIdle();
    expect(calls).toEqual([`${jobId}/charge`, `${jobId}/charge`]);
  });

  test('gives each a database of its own', async () => {
    const other = await open();
    expect(other.databaseUrl).not.toBe(sluice.databaseUrl);
    await other.stop();
  });
});
