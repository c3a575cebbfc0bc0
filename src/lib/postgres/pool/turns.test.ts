import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

const patience = 60_000;

/** Who got a place, in order, when every place that is taken is given back before the next one. */
async function orderOf(turns: Turns, asking: string[]): Promise<string[]> {
  const order: string[] = [];
  const waits = asking.map((tenant) => turns.take(tenant, patience).then(() => order.push(tenant)));
  for (const _ of asking) {
    turns.release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(waits);
  return order;
}

test('a tenant that asks for much does not delay another by more than one turn', async () => {
  const turns = new Turns(1);
  expect(await turns.take('greedy', patience)).toBe(false);
  const asking = [...Array.from({ length: 6 }, () => 'greedy'), 'small', 'other', 'small'];
  expect(await orderOf(turns, asking)).toEqual([
    ...['greedy', 'small', 'other', 'greedy', 'small'],
    ...['greedy', 'greedy', 'greedy', 'greedy'],
  ]);
});

test('a place that nobody waits for stays free, and no more are given than there are', async () => {
  const turns = new Turns(2);
  const taken = await Promise.all([turns.take('a', patience), turns.take('b', patience)]);
  expect(taken).toEqual([false, false]);
  const third = turns.take('c', patience);
  turns.release();
  expect(await third).toBe(true);
  turns.release();
  turns.release();
  expect(await Promise.all([turns.take('a', patience), turns.take('a', patience)])).toEqual([false, false]);
});

test('whoever gave up waiting gets no turn', async () => {
  const turns = new Turns(1);
  await turns.take('a', patience);
  await expect(turns.take('b', 1)).rejects.toMatchObject({ code: 'database_unavailable' });
  const next = turns.take('c', patience);
  turns.release();
  expect(await next).toBe(true);
});
