import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { useDatabase } from '../support/worlds/database.ts';
import { adapterEnv, scanPath } from './adapters-path.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';

const atLeast = 3;
const root = mkdtempSync(path.join(tmpdir(), 'sluice-failpoint-folders-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const database = useDatabase();
const servers = useFailpointServers(database, { ...adapterEnv, ADAPTER_FOLDER: root });

test('wherever between found and moved the process dies, each content makes one job and no file is lost', {
  timeout: crashTimeout,
}, async () => {
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({
    ...{ database, servers, choose, enough: atLeast },
    path: scanPath(servers, root),
  });
  console.log(describeCrashes('scan', findings));
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  for (const seam of ['insert into adapter_files', 'update adapter_files', 'after message: commit']) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
