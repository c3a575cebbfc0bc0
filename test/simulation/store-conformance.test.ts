import { beforeAll, expect, test } from 'vitest';
import { useDatabase } from '../support/worlds/database.ts';
import type { Breakage } from './simulated-state.ts';
import { SimulatedStore } from './simulated-store.ts';
import { SqlStore } from './sql-store.ts';
import { describeStore } from './store-conformance.ts';
import { runSideBySide } from './store-differential.ts';
import { virtualClock } from './virtual-clock.ts';

const database = useDatabase();
beforeAll(() => database.owner(virtualClock));

describeStore('the simulated store', async () => ({ store: new SimulatedStore(), close: async () => {} }));

describeStore('the kernel on PostgreSQL', async () => {
  const store = await SqlStore.open(database);
  return { store, close: () => store.close() };
});

// `npm run chaos` goes on where these end: each seed is another sequence.
const quota = { sequences: process.env.SLUICE_CHAOS === 'full' ? 500 : 40, commands: 50 };

/** Returns how often each kind of command had an effect. */
async function compare(seeds: number[], breakage?: Breakage): Promise<Map<string, number>> {
  const kinds = new Map<string, number>();
  for (const seed of seeds) {
    const real = await SqlStore.open(database);
    try {
      await runSideBySide({ seed, commands: quota.commands, real, kinds, breakage });
    } finally {
      await real.close();
    }
  }
  return kinds;
}

test('the simulated store and PostgreSQL return and store the same after the same commands', {
  timeout: 20 * 60_000,
}, async () => {
  const kinds = await compare(Array.from({ length: quota.sequences }, (_, index) => index + 1));
  const counts = [...kinds].sort().map(([kind, count]) => `  ${kind} ${count}`);
  console.log(`${quota.sequences} sequences of ${quota.commands} commands\n${counts.join('\n')}`);
  // A sequence in which everything is refused would compare nothing.
  const effective = ['claim', 'settle', 'save', 'renew', 'release', 'rescue', 'requeue', 'beat'];
  const controls = ['dispatch', 'pause', 'resume', 'cancel'];
  const missing = [...effective, ...controls].filter((kind) => (kinds.get(`${kind} some`) ?? 0) < 5);
  expect(missing, 'what hardly ever did anything').toEqual([]);
  expect(kinds.get('settle none')).toBeGreaterThan(10);
});

const drifts: Breakage[] = [
  'no epoch check',
  'no worker check',
  'no tenant limit',
  'rescue before expiry',
  'turns by tenant id',
  'retry after ignored',
];

test.each(drifts)(
  'a simulated store with "%s" is distinguished from PostgreSQL',
  { timeout: 120_000 },
  async (drift) => {
    const seeds = Array.from({ length: 60 }, (_, index) => index + 1);
    await expect(compare(seeds, drift)).rejects.toThrow(/the answer; seed|what is remembered; seed/);
  },
);
