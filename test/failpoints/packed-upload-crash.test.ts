import { expect, test } from 'vitest';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage } from './crash-stage.ts';
import { packedUploadPath } from './packed-upload-path.ts';

const atLeast = 3;
const stage = useCrashStage();

test('a process that dies anywhere while an archive is unpacked and promoted leaves sums that reconcile', {
  timeout: crashTimeout,
}, async () => {
  const path = packedUploadPath(stage.database, stage.servers);
  const { deaths, cutOff } = await expectCrashes(stage, {
    name: 'packed uploads',
    path,
    atLeast,
    seams: ['before message: commit', 'after message: commit', 'file: sync', 'file: rename'],
  });
  console.log(`${path.orphans} files without a row were left by deaths, and swept`);
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(cutOff).toBeGreaterThan(0);
});
