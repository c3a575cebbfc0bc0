import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { adapterEnv, scanPath } from './adapters-path.ts';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage } from './crash-stage.ts';

const atLeast = 3;
const root = mkdtempSync(path.join(tmpdir(), 'sluice-failpoint-folders-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const stage = useCrashStage({ ...adapterEnv, ADAPTER_FOLDER: root });

test('a process that dies anywhere in a scan makes one job of each content and loses no file', {
  timeout: crashTimeout,
}, async () => {
  const { deaths } = await expectCrashes(stage, {
    name: 'scan',
    path: scanPath(stage.servers, root),
    atLeast,
    seams: ['insert into adapter_files', 'update adapter_files', 'after message: commit'],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
});
