import { expect, test } from 'vitest';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage } from './crash-stage.ts';
import { imagesPath, imagesSettings } from './images-path.ts';

const atLeast = 3;
const stage = useCrashStage(imagesSettings);

test('a process that dies anywhere between request and thumbnail leaves each image once and no stray file', {
  timeout: crashTimeout,
}, async () => {
  const path = imagesPath(stage);
  const { deaths, cutOff } = await expectCrashes(stage, {
    name: 'images',
    path,
    atLeast,
    seams: ['before message: commit', 'after message: commit', 'after file: rename', 'after file: sync'],
  });
  console.log(`${path.orphans} files were left behind, and swept.`);
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(cutOff).toBeGreaterThan(0);
});
