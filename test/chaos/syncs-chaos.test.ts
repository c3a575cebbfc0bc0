import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseSeed, isFull } from './expect-quotas.ts';
import { describeSyncs, runSyncsChaos } from './syncs-chaos.ts';
import { moodCount } from './syncs-moods.ts';
import { fullSyncsQuota, shortSyncsQuota, syncsFaults } from './syncs-quota.ts';

const quota = isFull ? fullSyncsQuota : shortSyncsQuota;
const sluice = useCommandLine();
const database = useDatabase();

test('every sync runs once and is recorded with its rows under killed and stopped workers and a flaky Airbyte', {
  timeout: isFull ? 40 * 60_000 : 5 * 60_000,
}, async () => {
  const seed = chooseSeed();
  const findings = await runSyncsChaos(sluice, database, { quota, seed });
  console.log(describeSyncs(findings, seed));
  expect(findings.breaches.slice(0, 20)).toEqual([]);
  // A run that did less than it claims proves nothing.
  const { stage } = findings;
  for (const kind of syncsFaults) expect(stage.done[kind], kind).toBe(quota[kind]);
  expect(stage.asked.length).toBeGreaterThanOrEqual(quota.syncs);
  expect(stage.killedAtTrigger).toBe(Math.ceil(quota.kills / 2));
  expect(Object.keys(stage.moodsByKind)).toHaveLength(moodCount);
  const { airbyte } = stage;
  expect(airbyte.requestsOf('trigger').filter(({ status }) => status === null).length).toBeGreaterThan(0);
  for (const status of [429, 503]) {
    expect(airbyte.requests.filter((request) => request.status === status).length).toBeGreaterThan(0);
  }
});
