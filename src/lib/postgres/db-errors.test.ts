import { expect, test } from 'vitest';
import { toDatabaseError } from './db-errors.ts';

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}

test.each([
  ['EPIPE', 'write'],
  ['ECONNRESET', 'read'],
  ['ECONNRESET', 'write'],
  ['ETIMEDOUT', 'read'],
  ['EHOSTUNREACH', 'read'],
  ['ECONNREFUSED', 'connect'],
  ['ENOENT', 'connect'],
])('%s at the %s of a socket means that the database is away', (code, syscall) => {
  expect(toDatabaseError(systemError(code, syscall))).toMatchObject({ code: 'database_unavailable' });
});

test('an answer that does not come in time means that the database is away', () => {
  expect(toDatabaseError(new Error('Query read timeout'))).toMatchObject({ code: 'database_unavailable' });
});

test('a missing file inside a transaction stays what it is', () => {
  const missing = systemError('ENOENT', 'open');
  expect(toDatabaseError(missing)).toBe(missing);
});
