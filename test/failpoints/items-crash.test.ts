import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RuledProvider, startRuledProvider } from '../chaos/items-provider.ts';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage } from './crash-stage.ts';
import { answerProduct, itemsPath, itemsSettings } from './items-path.ts';

const atLeast = 3;
const stage = useCrashStage(itemsSettings);
let provider: RuledProvider | undefined;
beforeAll(async () => {
  provider = await startRuledProvider(answerProduct);
});
afterAll(() => provider?.close());

test('a process that dies anywhere between request and export ends every row once and exports the whole file', {
  timeout: crashTimeout,
}, async () => {
  const { deaths, cutOff } = await expectCrashes(stage, {
    name: 'items',
    path: itemsPath(stage, () => provider as RuledProvider),
    atLeast,
    seams: ['before message: commit', 'after message: commit', 'before request', 'after request'],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(cutOff).toBeGreaterThan(0);
});
