import { expect, test } from 'vitest';
import { saysNothingWasKept, toDatabaseError } from './db-errors.ts';

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

function serverError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

test.each([
  ['25006', 'cannot execute INSERT in a read-only transaction'],
  ['25006', 'cannot execute nextval() during recovery'],
  ['55000', 'recovery is in progress'],
  ['40001', 'canceling statement due to conflict with recovery'],
  ['25P03', 'terminating connection due to idle-in-transaction timeout'],
  ['25P04', 'terminating connection due to transaction timeout'],
  ['57P01', 'terminating connection due to administrator command'],
  ['57P05', 'terminating connection due to idle-session timeout'],
  ['08006', 'connection failure'],
])('SQLSTATE %s (%s) means that the database is away', (code, message) => {
  const away = toDatabaseError(serverError(code, message));
  expect(away).toMatchObject({ code: 'database_unavailable', retryAfterSeconds: 2 });
});

test('a write in a transaction that was opened to read is a mistake of ours, unless the server is a replica', () => {
  const mistake = serverError('25006', 'cannot execute INSERT in a read-only transaction');
  expect(toDatabaseError(mistake, { isReadOnly: true })).toBe(mistake);
  const replica = serverError('25006', 'cannot execute nextval() during recovery');
  expect(toDatabaseError(replica, { isReadOnly: true })).toMatchObject({ code: 'database_unavailable' });
});

test('a statement in a transaction that has failed is not the server’s fault', () => {
  const failed = serverError('25P02', 'current transaction is aborted');
  expect(toDatabaseError(failed)).toBe(failed);
});

test('a missing file inside a transaction stays what it is', () => {
  const missing = systemError('ENOENT', 'open');
  expect(toDatabaseError(missing)).toBe(missing);
});

test.each([
  ['42804', 'wrong record type supplied in RETURN NEXT'],
  ['42804', 'structure of query does not match function result type'],
  ['0A000', 'cached plan must not change result type'],
])('SQLSTATE %s (%s) is a conflict with a migration that runs, and worth another try', (code, text) => {
  const error = Object.assign(new Error(text), { code });
  expect(toDatabaseError(error)).toMatchObject({ code: 'write_conflict', kind: 'transient' });
});

test.each([
  ['23505', true],
  ['40P01', true],
  ['57014', true],
  ['P0001', true],
  // A server that goes away, or a full disk: the commit may have been on its way.
  ['57P01', false],
  ['08006', false],
  ['53100', false],
  ['XX000', false],
  // Codes of sockets look like SQLSTATEs.
  ['EPIPE', false],
  ['ECONNRESET', false],
])('the code %s says that nothing was kept: %s', (code, isKnown) => {
  expect(saysNothingWasKept(Object.assign(new Error('some'), { code }))).toBe(isKnown);
});
