import { expect, test } from 'vitest';
import { isLegal as isLegalOnServer } from '../../../../src/kernel/jobs/transitions.ts';
import { jobStatuses as serverStatuses } from '../../../../src/kernel/jobs/types.ts';
import type { Event, Job } from '../../api/types.ts';
import { bulkSentence, controls, forEachJob, isLegal } from './job-control.ts';
import { figuresOf } from './job-figures.ts';
import { stateSentence } from './job-sentence.ts';
import { jobStatuses } from './search.ts';
import { attemptsOf, comparePositions, timelineOf } from './timeline.ts';

const now = Date.parse('2026-03-12T14:00:00Z');
const before = (seconds: number) => new Date(now - seconds * 1_000).toISOString();

const job: Job = {
  jobId: 'j1',
  name: 'rows.csv',
  pipeline: 'sync',
  subjectId: 'meta',
  workspaceId: null,
  status: 'running',
  queueState: 'RUNNING',
  stage: null,
  runAt: before(60),
  nextRetryAt: null,
  retryCount: 0,
  maxRetries: 5,
  runId: null,
  correlationId: 'c',
  errorCode: null,
  errorMessage: null,
  checkpoint: {},
  counters: {},
  leasedBy: null,
  heartbeatAt: null,
  cleanupOpen: false,
  requeuedFrom: null,
  createdBy: 'ann',
  createdAt: before(120),
  startedAt: before(100),
  finishedAt: null,
  updatedAt: before(30),
};

test('the filters offer the server’s states, and a button exists exactly where the server allows the move', () => {
  expect([...jobStatuses]).toEqual([...serverStatuses]);
  for (const control of controls) {
    const offered = jobStatuses.filter((status) => isLegal(control, status));
    expect(offered).toEqual(jobStatuses.filter((status) => isLegalOnServer(control, status)));
  }
});

test.each([
  [{ status: 'queued', startedAt: null }, 'Queued 2 min ago, will start as soon as a worker is free.'],
  [{ stage: 'promote' }, 'Running for 1 min 40 s, now at promote.'],
  [
    { status: 'failed', retryCount: 2, nextRetryAt: new Date(now + 300_000).toISOString() },
    /^Attempt 2 of 6 failed 30 s ago; it will be retried at \d\d:\d\d, in 5 min\.$/,
  ],
  [
    { status: 'dead_letter', retryCount: 5, finishedAt: before(60) },
    'Failed for good 1 min ago after 6 attempts. It is not retried by itself.',
  ],
  [{ status: 'success', finishedAt: before(40) }, 'Done 40 s ago, took 1 min.'],
  [
    { status: 'canceled', cleanupOpen: true, finishedAt: before(10) },
    'Canceled 10 s ago; what it added is being removed.',
  ],
] as [Partial<Job>, string | RegExp][])('%o shows its state and the next step', (change, sentence) => {
  expect(stateSentence({ ...job, ...change }, now)).toMatch(sentence);
});

test.each([
  ['items', { total: 10, done: 4, error: 1, notFound: 1, skipped: 1, processing: 1, pending: 2 }],
  ['uploads', { total_rows: 300, valid_rows: 282, invalid_rows: 18 }],
  ['knowledge', { docs_seen: 9, docs_unchanged: 3, docs_empty: 1, docs_error: 2, docs_gone: 4 }],
  ['scrapes', { persisted: 7, created: 2, changed: 1 }],
])('the counts of %s add up', (pipeline, counters) => {
  const figures = figuresOf({ ...job, pipeline, counters });
  expect(figures?.parts.reduce((sum, { value }) => sum + value, 0)).toBe(figures?.total);
});

test('the progress of an items job counts ended rows, whatever their outcome', () => {
  const counters = { total: 10, done: 4, error: 1, notFound: 1, skipped: 1, processing: 1, pending: 2 };
  expect(figuresOf({ ...job, pipeline: 'items', counters })?.progress).toEqual({ done: 7, total: 10 });
});

test('the row count of a file is a total only after the file was read', () => {
  const counters = { total_rows: 300, valid_rows: 300, invalid_rows: 0 };
  const progressAt = (stage: string) => figuresOf({ ...job, pipeline: 'uploads', stage, counters })?.progress;
  expect(progressAt('parse')?.total).toBeNull();
  expect(progressAt('promote')?.total).toBe(300);
});

function event(id: string, type: string, data: Record<string, unknown> = {}): Event {
  const seconds = Number(id.split('-')[1]);
  const time = new Date(now + seconds * 1_000).toISOString();
  return {
    specversion: '1.0',
    id,
    source: '/',
    type,
    subject: 'j1',
    time,
    datacontenttype: 'application/json',
    data,
    tenantid: 't',
  };
}

test('the timeline lists each event once, in order, with repeated progress reports as one line', () => {
  const events = [
    event('10-3', 'item.processed', { counts: { DONE: 5 }, open: 5 }),
    event('9-1', 'job.queued'),
    event('10-2', 'job.started'),
    event('11-4', 'item.processed', { counts: { DONE: 5 }, open: 0 }),
    event('10-2', 'job.started'),
    event('12-5', 'job.completed', { duration_seconds: 3 }),
  ];
  const lines = timelineOf(events);
  expect(lines.map(({ sentence }) => sentence)).toEqual([
    'queued',
    'started',
    'processed 10 done; 0 rows open (2 reports)',
    'done in 3 s',
  ]);
});

test('positions are compared as numbers', () => {
  expect(['10-1', '9-12', '9-2'].sort(comparePositions)).toEqual(['9-2', '9-12', '10-1']);
});

test('every start is an attempt and has the end that followed it', () => {
  const events = [
    event('1-1', 'job.started'),
    event('2-2', 'job.failed', { error_message: 'no' }),
    event('2-3', 'job.retry'),
    event('3-4', 'job.started'),
    event('4-5', 'job.dead_lettered', { error_message: 'never' }),
  ];
  expect(attemptsOf(events).map(({ number, outcome, reason }) => [number, outcome, reason])).toEqual([
    [1, 'failed', 'no'],
    [2, 'dead', 'never'],
  ]);
});

test('an action on many jobs reports how many succeeded and why others did not', async () => {
  const result = await forEachJob(['a', 'b', 'c', 'd', 'e'], async (id) => {
    if (id === 'c') throw new Error('not now');
  });
  expect(bulkSentence('Paused', result)).toBe('Paused 4 jobs. 1 could not be: Error: not now (1).');
  expect(bulkSentence('Paused', { done: 1, refused: new Map() })).toBe('Paused 1 job.');
});
