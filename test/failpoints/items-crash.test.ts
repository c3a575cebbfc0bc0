import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RuledProvider, startRuledProvider } from '../chaos/items-provider.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { answerProduct, itemsPath, itemsSettings } from './items-path.ts';

const atLeast = 3;
const database = useDatabase();
const servers = useFailpointServers(database, itemsSettings);
let provider: RuledProvider | undefined;
beforeAll(async () => {
  provider = await startRuledProvider(answerProduct);
});
afterAll(() => provider?.close());

test('wherever between request and export of rows the process dies, every row ends once and the file is whole', {
  timeout: crashTimeout,
}, async () => {
  const path = itemsPath(database, { servers, provider: () => provider as RuledProvider });
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes('items', findings));
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(findings.cutOff).toBeGreaterThan(0);
  for (const seam of ['before message: commit', 'after message: commit', 'before request', 'after request']) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
