import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { describeItems, runItemsChaos } from './items-chaos.ts';
import { fullItemsQuota, type ItemsQuota, itemsFaults, rowsOf, shortItemsQuota } from './items-quota.ts';

// `npm run chaos` runs the same test with the full quota; a printed seed repeats the choices of a run.
const isFull = process.env.SLUICE_CHAOS === 'full';
const quota: ItemsQuota = isFull ? fullItemsQuota : shortItemsQuota;
const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const sluice = useCommandLine();
const database = useDatabase();

test('every row ends once and every count is right under killed and stopped workers, pauses and kickoffs', {
  timeout: isFull ? 40 * 60_000 : 5 * 60_000,
}, async () => {
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  const findings = await runItemsChaos(sluice, database, { quota, seed });
  console.log(describeItems(findings, seed));
  expect(findings.run.breaches.slice(0, 20)).toEqual([]);
  // A run that did less than it claims proves nothing.
  expect(rowsOf(quota)).toBeGreaterThanOrEqual(20_000);
  expect(findings.rows).toBeGreaterThanOrEqual(rowsOf(quota));
  for (const kind of itemsFaults) expect(findings.run.done[kind], kind).toBe(quota[kind]);
  expect(findings.run.killedWithItems).toBe(Math.ceil(quota.kills / 2));
  expect(findings.run.takenFromZombies).toBeGreaterThanOrEqual(quota.zombies);
  expect(findings.run.kickoffs).toBeGreaterThanOrEqual(quota.kickoffs);
  expect(findings.run.probes).toBeGreaterThanOrEqual(quota.probes);
  expect(findings.reset).toBeGreaterThan(0);
  // Late results came and were refused: the rows are right.
  expect(findings.lateCalls).toBeGreaterThan(0);
});
