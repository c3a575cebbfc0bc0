import { expect, test } from 'vitest';
import type { Breakage } from './simulated-state.ts';
import { simulate } from './simulation.ts';
import { describeFailure, runSeeds } from './simulation-run.ts';

// SIM_SEED=<seed that a run has printed> replays that one alone; SIM_SEEDS says how many otherwise.
const isFull = process.env.SLUICE_CHAOS === 'full';
const replayed = process.env.SIM_SEED === undefined ? null : Number(process.env.SIM_SEED);
const count = replayed === null ? Number(process.env.SIM_SEEDS ?? (isFull ? 20_000 : 200)) : 1;
// The short run is the same everywhere; the long one looks elsewhere each time.
const first = replayed ?? (count > 200 ? Math.floor(Math.random() * 2 ** 31) : 1);

test('the rules of the kernel hold after every event, whatever happens to workers, connections and clocks', {
  timeout: 30 * 60_000,
}, async () => {
  const run = await runSeeds({ first, count });
  console.log(run.text);
  if (replayed !== null) console.log(simulate({ seed: replayed }).lastEvents.join('\n'));
  expect(run.failures.join('\n\n')).toBe('');
  expect(run.seeds).toBe(count);
  if (replayed === null) expectEnough(run);
});

/** A run with few events proves little. */
function expectEnough(run: Awaited<ReturnType<typeof runSeeds>>): void {
  expect(run.events).toBeGreaterThanOrEqual(1_000 * run.seeds);
  const happenings = [
    'crash',
    'stopped',
    'guard cut',
    'clock set',
    'flood',
    'limits',
    'leave',
    'outside call',
    'settle: refused',
    'settle: answer lost',
    'settle: late',
    'save: refused',
    'claim: answer lost',
    'dispatch: refused',
    'rescued by lock',
    'rescued by expiry',
    'struck',
    'poison',
    'given up alive',
    'claimed queued',
    'claimed running',
    'claimed failed',
    'claimed canceled',
    'settled continue',
    'settled wait',
    'settled done',
    'settled retry',
    'settled dead',
    'settled cleanup',
    'requeue',
  ];
  const rare = happenings.filter((what) => (run.tally.get(what) ?? 0) < run.seeds / 20);
  expect(rare, 'what happened in less than every twentieth seed').toEqual([]);
  // Tenants did wait for their turns while others were served.
  expect(run.longestWait).toBeGreaterThan(1);
}

test('a seed replays event by event', () => {
  for (const seed of [1, 2, 3, 1_000_003]) {
    const { hash, events, lastEvents } = simulate({ seed });
    expect(simulate({ seed })).toMatchObject({ hash, events, lastEvents });
  }
  expect(simulate({ seed: 1 }).hash).not.toBe(simulate({ seed: 2 }).hash);
});

const breakages: [Breakage, RegExp][] = [
  ['no epoch check', /took a late write of epoch/],
  ['rescue before expiry', /who was there and had time left/],
  ['retry without limit', /is at retry \d+; \w+ allows \d/],
  ['turns by tenant id', /claims passed tenant-\d by/],
  ['no tenant limit', /has \d+ leases and may have/],
  ['no active check', /is a second active job of its subject/],
  ['rescue forgets the job', /is put off to Infinity/],
  ['retry after ignored', /was claimed before its Retry-After/],
  ['settle without event', /left the events "" behind, not "job\./],
];

test.each(breakages)(
  'the simulation notices a kernel with "%s", and its failure replays',
  (breakage, expected) => {
    const seeds = Array.from({ length: 40 }, (_, index) => index + 1);
    const failed = seeds
      .map((seed) => simulate({ seed, breakage }))
      .find(({ violation }) => violation !== null);
    expect(failed?.violation).toMatch(expected);
    if (!failed) return;
    const told = describeFailure(failed);
    expect(told).toContain(`SIM_SEED=${failed.seed} npm run simulate`);
    expect(failed.lastEvents.at(-1)).toMatch(new RegExp(`^${failed.events} `));
    expect(describeFailure(simulate({ seed: failed.seed, breakage }))).toBe(told);
  },
);
