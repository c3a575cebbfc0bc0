import { describe, expect, test } from 'vitest';
import type { AirbyteJob } from '../airbyte/types.ts';
import { type Candidates, chooseRun } from './runs.ts';

const intent = new Date('2026-08-01T12:00:00Z');

function run(runId: string, status: string, createdAfterMs: number): AirbyteJob {
  return {
    runId,
    status,
    jobType: 'sync',
    connectionId: 'a-connection',
    createdAt: new Date(intent.getTime() + createdAfterMs),
    lastUpdatedAt: null,
    durationSeconds: null,
    bytesSynced: null,
    rowsSynced: null,
    failure: null,
  };
}

function choose(runs: AirbyteJob[], rest: Partial<Candidates> = {}) {
  const found = chooseRun({ runs, since: intent, held: [], past: [], ...rest });
  return found && `${found.run.runId} ${found.isOurs ? 'ours' : 'other'}`;
}

describe('the run to adopt', () => {
  test('is the newest active one, even when it is older than the trigger', () => {
    expect(choose([run('2', 'running', -60_000), run('1', 'succeeded', -90_000)])).toBe('2 other');
  });

  test('may have any status when it was created since the trigger, with half a minute for the clocks', () => {
    expect(choose([run('1', 'succeeded', 5_000)])).toBe('1 ours');
    expect(choose([run('1', 'failed', -29_000)])).toBe('1 ours');
    expect(choose([run('1', 'succeeded', -31_000)])).toBeNull();
  });

  test('is never one that another job holds', () => {
    const runs = [run('2', 'succeeded', 5_000), run('1', 'succeeded', 1_000)];
    expect(choose(runs, { held: [{ runId: '2', status: 'success' }] })).toBe('1 ours');
    const held = runs.map(({ runId }) => ({ runId, status: 'success' }));
    expect(choose(runs, { held })).toBeNull();
    expect(choose([run('1', 'running', 0)], { held: [{ runId: '1', status: 'running' }] })).toBeNull();
  });

  test('may be one that a dead letter gave up, as long as it is active', () => {
    const held = [{ runId: '1', status: 'dead_letter' }];
    expect(choose([run('1', 'running', -60_000)], { held })).toBe('1 other');
    expect(choose([run('1', 'succeeded', 5_000)], { held })).toBeNull();
  });

  test('is never one that this job has followed to its end', () => {
    expect(choose([run('1', 'failed', 5_000)], { past: ['1'] })).toBeNull();
  });

  test('is only an active one when nothing was triggered', () => {
    expect(choose([run('1', 'succeeded', 5_000)], { since: null })).toBeNull();
    expect(choose([run('1', 'hibernating', 5_000)], { since: null })).toBe('1 other');
  });
});
