import { describe, expect, test } from 'vitest';
import { answerFaults, requestFaults } from './airbyte-document.ts';
import { FakeAirbyte } from './fake-airbyte.ts';
import { ask } from './fake-airbyte-questions.ts';

const connectionId = 'b53a6c5e-3b6f-4a60-8c7e-5f2f1f0f6a11';
const request = { path: '/jobs', query: {}, body: '' };
const job = { jobId: 7, status: 'running', jobType: 'sync', startTime: '2026-01-01T00:00:00Z', connectionId };

describe('a request that the API document of Airbyte does not have', () => {
  const sent = (body: object) =>
    ({ ...request, kind: 'trigger', method: 'POST', body: JSON.stringify(body) }) as const;
  const listed = (query: Record<string, string>) =>
    ({ ...request, kind: 'list_jobs', method: 'GET', query }) as const;
  test.each([
    ['a trigger without a connection', sent({ jobType: 'sync' }), 'connectionId'],
    ['a trigger of an unknown kind', sent({ jobType: 'full', connectionId }), 'jobType'],
    ['a connection that is no UUID', sent({ jobType: 'sync', connectionId: 'shop' }), 'connectionId'],
    ['a page that is too large', listed({ limit: '500' }), 'limit'],
    ['an unknown parameter', listed({ connection_id: connectionId }), 'no parameter connection_id'],
    ['a time that is no date-time', listed({ createdAtStart: 'yesterday' }), 'createdAtStart'],
    ['a body where none belongs', { ...listed({}), body: '{}' }, 'no body'],
    [
      'an id that is no number',
      { ...request, kind: 'get_job', method: 'GET', path: '/jobs/latest' } as const,
      '/jobs/{jobId}',
    ],
  ])('%s is named', (_what, wrong, words) => {
    expect(requestFaults(wrong)).toEqual([expect.stringContaining(words)]);
  });

  test('is refused with 400, and closing the fake fails', async () => {
    const airbyte = await FakeAirbyte.start();
    const { connectionId: known } = airbyte.addConnection();
    const body = { connectionId: known, jobType: 'full' };
    expect((await ask(airbyte, 'POST /jobs', { body })).status).toBe(400);
    await expect(airbyte.close()).rejects.toThrow('jobType');
  });

  test('is told from one that it has', () => {
    expect(requestFaults(sent({ connectionId, jobType: 'sync' }))).toEqual([]);
    expect(requestFaults(listed({ connectionId, limit: '20', orderBy: 'createdAt|DESC' }))).toEqual([]);
  });
});

test('an answer without a required field, or with a value outside of its list, is named', () => {
  const { connectionId: _id, ...withoutConnection } = job;
  expect(answerFaults('get_job', job)).toEqual([]);
  expect(answerFaults('get_job', withoutConnection)).toEqual([expect.stringContaining('connectionId')]);
  expect(answerFaults('list_jobs', { data: [{ ...job, jobType: 'full' }] })).toEqual([
    expect.stringContaining('data.0.jobType'),
  ]);
  expect(answerFaults('list_jobs', { jobs: [] })).toEqual([expect.stringContaining('data')]);
});
