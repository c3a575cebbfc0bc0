import { describe, expect, test } from 'vitest';
import type { Job } from '../../../kernel/jobs/types.ts';
import { reportRun, statusOf } from './report.ts';

const now = new Date('2026-03-01T12:00:00Z');
const secondsAgo = (seconds: number) => new Date(now.getTime() - seconds * 1000);

function jobOf(more: Partial<Job>): Job {
  const job = {
    status: 'running',
    cleanupOpen: false,
    checkpoint: {},
    counters: {},
    runAt: secondsAgo(100),
    startedAt: secondsAgo(100),
    heartbeatAt: secondsAgo(2),
    finishedAt: null,
    ...more,
  };
  return job as Job;
}

const report = (more: Partial<Job>, known = 0) => reportRun('kb', jobOf(more), { now, known });

test.each([
  ['queued', false, 'running'],
  ['running', false, 'running'],
  ['failed', false, 'running'],
  ['paused', false, 'paused'],
  ['canceled', true, 'canceled'],
  ['canceled', false, 'not_started'],
  ['success', false, 'completed'],
  ['dead_letter', false, 'failed'],
] as const)('a job that is %s (cleanup open: %s) is a run that is %s', (status, cleanupOpen, word) => {
  expect(statusOf({ status, cleanupOpen })).toBe(word);
});

test('a knowledge base that never ran has no job, no figures and nothing to wait for', () => {
  expect(statusOf(null)).toBe('not_started');
  expect(reportRun('kb', null, { now, known: 7 })).toMatchObject({
    job: null,
    checkpoint: null,
    counters: { docs_seen: 0, chunks_error: 0 },
    heartbeatAgeSeconds: null,
    isStalled: false,
    docsPerSecond: 0,
    etaSeconds: null,
  });
});

describe('rates', () => {
  test('count the time at work, and tell when the documents that are known will be done', () => {
    const counters = { docs_seen: 50, chunks_seen: 400 };
    const checkpoint = { active_ms: 10_000, docs_expected: 80 };
    expect(report({ counters, checkpoint })).toMatchObject({
      docsPerSecond: 5,
      chunksPerSecond: 40,
      docsExpected: 80,
      etaSeconds: 6,
    });
  });

  test('count from the start as long as nobody has measured the work', () => {
    const counters = { docs_seen: 50 };
    expect(report({ counters }, 100)).toMatchObject({
      docsPerSecond: 0.5,
      docsExpected: 100,
      etaSeconds: 100,
    });
    const finishedAt = secondsAgo(50);
    const ended = report({ status: 'success', counters, finishedAt }, 100);
    expect(ended).toMatchObject({ docsPerSecond: 1, etaSeconds: null });
  });

  test('promise nothing when more was found than was known, or the run rests', () => {
    const counters = { docs_seen: 50 };
    expect(report({ counters }, 50).etaSeconds).toBeNull();
    expect(report({ counters, status: 'paused' }, 100).etaSeconds).toBeNull();
  });
});

describe('a run is stalled', () => {
  test('when nobody was heard of for half a minute though it is due', () => {
    expect(report({ heartbeatAt: secondsAgo(31) }).isStalled).toBe(true);
    expect(report({ heartbeatAt: null, status: 'queued', runAt: secondsAgo(31) }).isStalled).toBe(true);
  });

  test('not while its worker lives, while it waits for its time, while it rests, or when it has ended', () => {
    expect(report({ heartbeatAt: secondsAgo(5) }).isStalled).toBe(false);
    const old = secondsAgo(600);
    expect(report({ heartbeatAt: old, status: 'failed', runAt: secondsAgo(-60) }).isStalled).toBe(false);
    expect(report({ heartbeatAt: old, status: 'paused' }).isStalled).toBe(false);
    expect(report({ heartbeatAt: old, status: 'success' }).isStalled).toBe(false);
  });
});

test('a checkpoint shows only its place, and nothing when it was cleared', () => {
  const cursor = { source_id: 's', position: { name: 'a' }, is_over: false };
  const checkpoint = { last_batch_id: 3, cursor, step: 9, target: { generation: 1 } };
  expect(report({ checkpoint }).checkpoint).toEqual({ last_batch_id: 3, cursor });
  expect(report({ checkpoint: {} }).checkpoint).toBeNull();
});

test('a run that rests says until when, and one that is at work, paused or over does not', () => {
  const later = secondsAgo(-60);
  expect(report({ runAt: later, leasedBy: null }).waitingUntil).toEqual(later);
  expect(report({ runAt: later, leasedBy: null, status: 'failed' }).waitingUntil).toEqual(later);
  expect(report({ runAt: later, leasedBy: 'somebody' }).waitingUntil).toBeNull();
  const checkpoint = { waiting: 'The embedder is down' };
  expect(report({ runAt: later, leasedBy: null, checkpoint }).waitingReason).toBe('The embedder is down');
  expect(report({ runAt: later, leasedBy: 'somebody', checkpoint }).waitingReason).toBeNull();
  expect(report({ runAt: secondsAgo(1), leasedBy: null }).waitingUntil).toBeNull();
  for (const status of ['paused', 'success', 'dead_letter'] as const) {
    expect(report({ runAt: later, leasedBy: null, status }).waitingUntil).toBeNull();
  }
});
