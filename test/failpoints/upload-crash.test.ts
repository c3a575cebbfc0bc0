import { expect, test } from 'vitest';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { uploadPath } from './upload-path.ts';

const atLeast = 3;
const database = useDatabase();
const servers = useFailpointServers(database);

test('wherever between request and event of an upload the process dies, every row arrives once and is told once', {
  timeout: crashTimeout,
}, async () => {
  const path = uploadPath(database, servers);
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes('uploads', findings));
  console.log(`${path.orphans} files without a row were left by deaths, and swept`);
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(findings.cutOff).toBeGreaterThan(0);
  for (const seam of ['before message: commit', 'after message: commit', 'file: sync', 'file: rename']) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
