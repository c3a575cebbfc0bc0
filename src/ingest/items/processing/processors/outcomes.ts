import { type ErrorKind, isSluiceError, messageOf } from '../../../../lib/errors.ts';
import type { ErrorClass, ItemError } from './types.ts';

const maxMessageLength = 1000;
const classes: Partial<Record<ErrorKind, ErrorClass>> = {
  transient: 'transient',
  rate_limited: 'throttled',
  // Unexpected, so it may pass: retried within limits.
  bug: 'transient',
};

export function failure(
  error: Pick<ItemError, 'code' | 'message' | 'class'> & Partial<ItemError>,
): ItemError {
  return { ...error, status: 'ERROR', message: error.message.slice(0, maxMessageLength) };
}

/** An error that was thrown while an item was processed, as the item's outcome. */
export function failureOf(error: unknown): ItemError {
  if (!isSluiceError(error)) {
    return failure({ code: 'processor_failed', message: messageOf(error), class: 'transient' });
  }
  const { code, message, kind, retryAfterSeconds } = error;
  return failure({
    code,
    message,
    class: classes[kind] ?? 'permanent',
    ...(retryAfterSeconds === undefined ? {} : { retryAfterMs: retryAfterSeconds * 1000 }),
  });
}

export function stoppedOutcome(): ItemError {
  return failure({
    code: 'slice_stopped',
    message: 'The slice was stopped before this item was finished; it will be processed again',
    class: 'transient',
    attemptUnused: true,
  });
}

/** Thrown for a call that waited for its provider's pace when the job was paused or the turn's time was up. */
export class CallNotBegun extends Error {
  constructor() {
    super('The call was not begun: its job is paused, or the time of the turn is up');
  }
}

/** Whether an item was interrupted rather than failed. */
export function isStopped(error: unknown, { signal }: { signal: AbortSignal }): boolean {
  return signal.aborted || error instanceof CallNotBegun;
}

/** Errors of this worker rather than of an item: they use no attempt and change no strategy. */
export function isOurTrouble(error: unknown): boolean {
  if (error instanceof CallNotBegun) return true;
  return isSluiceError(error) && ourTroubles.has(error.code);
}

/** Not a query that takes too long: that may well be because of the row. */
const ourTroubles = new Set([
  'lease_lost',
  'database_unavailable',
  'commit_unknown',
  'write_conflict',
  'tenant_not_signed',
  'files_unavailable',
]);

/** Errors of this worker that end the whole slice. */
export function endsSlice(error: unknown): boolean {
  return isOurTrouble(error) && !(error instanceof CallNotBegun);
}
