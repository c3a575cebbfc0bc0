import { bug, defineErrors, isSluiceError, messageOf, transient } from '../errors.ts';

export const databaseErrors = defineErrors({
  database_unavailable: transient(
    'The database cannot be reached',
    'Try again in a few seconds. If this continues, run `sluice doctor` on the server.',
  ),
  query_timeout: transient(
    'The database took too long to respond',
    'Request less at once (a smaller page, a narrower filter), or try again later.',
  ),
  write_conflict: transient('Two transactions conflicted', 'Nothing was changed. Try again.'),
  commit_unknown: transient(
    'The response to a commit was lost',
    'Check whether the change took effect before you repeat it, or repeat it with the same Idempotency-Key.',
  ),
  tenant_not_signed: transient(
    'The database did not accept the signature of a tenant',
    'Nothing was changed. Try again: after the database was restored, the new key is read with the next request.',
  ),
  transaction_aborted: bug(
    'A transaction had already failed when it was committed',
    'Nothing was changed. Report it with the request id.',
  ),
});

/**
 * PostgreSQL's and Node's words for the same few things that a caller can act upon; anything else stays itself.
 * `isReadOnly`: the transaction was opened so. One that tries to write then is our own mistake, and the server is well.
 */
export function toDatabaseError(error: unknown, { isReadOnly = false } = {}): unknown {
  if (isSluiceError(error) || !(error instanceof Error)) return error;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    if (isRecovering(error) || (code === readOnlyState && !isReadOnly)) return unavailable(error);
    if (code === '57014') {
      return databaseErrors.raise.query_timeout(`A statement was stopped: ${error.message}`, {
        cause: error,
      });
    }
    if (code === '40P01' || code === '40001' || isSchemaChange(error)) {
      return databaseErrors.raise.write_conflict(`The transaction was rolled back: ${error.message}`, {
        cause: error,
      });
    }
    if ((error as { constraint?: unknown }).constraint === 'tenant_signature') {
      return databaseErrors.raise.tenant_not_signed(error.message, { cause: error });
    }
    if (isConnectionState(code) || isSocketError(error)) return unavailable(error);
  }
  if (connectionTexts.some((text) => error.message.includes(text))) return unavailable(error);
  return error;
}

/** The driver's own words for a connection that is gone; it gives them no code. */
const connectionTexts = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Client was closed',
  'Query read timeout',
];

/** 08: connection exceptions, 57P: shut down or starting, 53: out of connections or memory, 25P03, 25P04: too long. */
function isConnectionState(code: string): boolean {
  return /^(08|57P|53)/.test(code) || code === '25P03' || code === '25P04';
}

/**
 * Whether the server refused a statement and kept its session. Anything else (a connection that is gone, a server that
 * shuts down) says nothing about a commit that was on its way.
 */
export function saysNothingWasKept(error: unknown): boolean {
  if (isSluiceError(error)) return error.code === 'transaction_aborted';
  const code = (error as { code?: unknown }).code;
  return (
    typeof code === 'string' &&
    /^[0-9A-Z]{5}$/.test(code) &&
    // EPIPE has five letters, too.
    !isSocketError(error as Error) &&
    !isConnectionState(code) &&
    !/^(58|XX)/.test(code)
  );
}

/** A migration added a column while a function that returns whole rows waited for the table: the next call is fine. */
function isSchemaChange({ message }: Error): boolean {
  return schemaChanges.some((text) => message.startsWith(text));
}

const schemaChanges = [
  'wrong record type supplied in RETURN NEXT',
  'structure of query does not match function result type',
  'cached plan must not change result type',
];

/** What a server says that accepts no writes: a replica, or an old primary after a failover. */
const readOnlyState = '25006';

/** A replica has no code of its own for some things, and gives a read-only transaction the code of our own mistake. */
function isRecovering({ message }: Error): boolean {
  return /during recovery|recovery is in progress|conflict with recovery/.test(message);
}

/** Whether it shows that the server accepts no writes: then other connections to it are of no use either. */
export function isReadOnlyServer(error: unknown): boolean {
  if (!isSluiceError(error) || error.code !== 'database_unavailable') return false;
  const { cause } = error;
  return (
    cause instanceof Error && ((cause as { code?: unknown }).code === readOnlyState || isRecovering(cause))
  );
}

export function readOnlyServer(): Error {
  const text = 'it accepts no writes, because it is a replica or its transactions are read-only by default';
  return unavailable(Object.assign(new Error(text), { code: readOnlyState }));
}

/** Only errors of a socket: a missing file inside a transaction has ENOENT too, but another system call. */
function isSocketError(error: Error): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall === 'connect' || syscall === 'getaddrinfo' || socketCodes.has(code ?? '');
}

/** Which of them it is depends on whether the process was reading or writing when the other end went away. */
const socketCodes = new Set([
  'ECONNABORTED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTCONN',
  'EPIPE',
  'ETIMEDOUT',
]);

/** A restart or a failover takes about this long. */
const retryAfterSeconds = 2;

function unavailable(error: Error): Error {
  return databaseErrors.raise.database_unavailable(`The database cannot be reached: ${messageOf(error)}`, {
    cause: error,
    retryAfterSeconds,
  });
}
