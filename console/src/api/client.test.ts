import { expect, test } from 'vitest';
import { ApiProblem, queryText, urlOf } from './client.ts';

test('names in a path are filled in and escaped', () => {
  expect(urlOf('/api/connectors/{connector_id}/sync', { path: { connector_id: 'a/b c' } })).toBe(
    '/api/connectors/a%2Fb%20c/sync',
  );
});

test('a query leaves out what is not set and joins lists', () => {
  expect(queryText({ status: undefined, cursor: null, q: '', limit: 50, statuses: ['A', 'B'] })).toBe(
    'limit=50&statuses=A%2CB',
  );
});

test('a problem keeps its sentence, its code and the fields of its kind', () => {
  const problem = new ApiProblem(409, {
    title: 'Active',
    detail: 'There is a job.',
    code: 'job_already_active',
    active_job_id: 'j1',
  });
  expect(problem).toMatchObject({
    status: 409,
    code: 'job_already_active',
    detail: 'There is a job.',
    errors: [],
    requestId: null,
  });
  expect(problem.document.active_job_id).toBe('j1');
});

test('an error response without a problem document becomes a problem too', () => {
  expect(new ApiProblem(502, {})).toMatchObject({ code: 'http_502', detail: 'The server returned 502.' });
});
