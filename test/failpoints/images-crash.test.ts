import { expect, test } from 'vitest';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { imagesPath, imagesSettings } from './images-path.ts';

const atLeast = 3;
const database = useDatabase();
const servers = useFailpointServers(database, imagesSettings);

test('wherever between request and thumbnail of images the process dies, each is there once and no file is left', {
  timeout: crashTimeout,
}, async () => {
  const path = imagesPath(database, servers);
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes('images', findings));
  console.log(`${path.orphans} files were left behind, and swept.`);
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(findings.cutOff).toBeGreaterThan(0);
  for (const seam of [
    'before message: commit',
    'after message: commit',
    'after file: rename',
    'after file: sync',
  ]) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
