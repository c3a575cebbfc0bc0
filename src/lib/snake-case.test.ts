import { expect, test } from 'vitest';
import { toCamelCase, toSnakeCase } from './snake-case.ts';

test('a record gets the names of the API, and its times become text', () => {
  const record = {
    jobId: 'j',
    sha256: 'ab',
    createdAt: new Date(0),
    finishedAt: null,
    lastResult: { seenBy: 1 },
  };
  expect(toSnakeCase(record)).toEqual({
    job_id: 'j',
    sha256: 'ab',
    created_at: '1970-01-01T00:00:00.000Z',
    finished_at: null,
    last_result: { seenBy: 1 },
  });
});

test('names of the API become those of the program, and back', () => {
  const given = { access_key_id_secret: 's', tls: true, path: '' };
  expect(toCamelCase(given)).toEqual({ accessKeyIdSecret: 's', tls: true, path: '' });
  expect(toSnakeCase(toCamelCase(given))).toEqual(given);
});
