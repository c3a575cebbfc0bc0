import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { crashTimeout, drawOffset, isFull } from './crash-choice.ts';
import { describeCrashes, drawEvenly, runCrashes } from './crash-run.ts';
import { useCrashStage } from './crash-stage.ts';
import { syncPath, syncSettings } from './sync-path.ts';

const env: Record<string, string> = { ...syncSettings };
let airbyte: FakeAirbyte | undefined;
beforeAll(async () => {
  airbyte = await FakeAirbyte.start();
  env.AIRBYTE_BASE_URL = airbyte.url;
  env.AIRBYTE_API_TOKEN = airbyte.settings.fixedToken;
});
afterAll(() => airbyte?.close());
const stage = useCrashStage(env);

/** From the commit that records the intent to the commit that saves the run. */
function aroundTrigger(points: string[]): string[] {
  const first = points.findIndex((point) => point.includes('request: /v1/jobs #'));
  const last = points.findLastIndex((point) => point.includes('request: /v1/jobs #'));
  return points.slice(Math.max(0, first - 4), last + 5);
}

test('a process that dies anywhere in a sync makes Airbyte run it exactly once', {
  timeout: crashTimeout,
}, async () => {
  const offset = drawOffset();
  const path = syncPath(stage.servers, () => {
    if (!airbyte) throw new Error('The fake Airbyte is available only after beforeAll has run');
    return airbyte;
  });
  const choose = (points: string[]) =>
    isFull ? points : [...new Set([...aroundTrigger(points), ...drawEvenly(points, { count: 4, offset })])];
  const findings = await runCrashes({ ...stage, path, choose });
  console.log(describeCrashes('syncs', findings));
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  expect(findings.deaths.length).toBeGreaterThanOrEqual(10);
  const died = findings.deaths.join('\n');
  expect(died).toContain('before request: /v1/jobs #1');
  expect(died).toContain('after request: /v1/jobs #1');
  // A checkpoint and its commit are one message.
  expect(died).toMatch(/^before message: select save_job.*; commit/m);
});
