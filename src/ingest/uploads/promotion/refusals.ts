import { isSluiceError } from '../../../lib/errors.ts';
import { nameTooLong } from '../reports/lines/ids.ts';
import type { RowNote } from './end-store.ts';

/**
 * Whatever the database says about the rows of a statement: one of them may be at fault, and the others can be written.
 * Troubles of the connection, conflicts and timeouts have errors of their own and say nothing about rows.
 */
export function isRowError(error: unknown): boolean {
  return !isSluiceError(error) && stateOf(error) !== null;
}

/** The SQLSTATE of an error of the database, or null. */
export function stateOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** The whole table is closed to us; that is no fault of a row when it is said about every row. */
export const insufficientPrivilege = '42501';

/** Why a row was refused, in words for people. What the database said is for the log. */
export function refusalOf(error: unknown): Omit<RowNote, 'rowIndex'> {
  const state = stateOf(error) ?? '';
  // Only a name that serves as an id can be too long for an index.
  if (state === '54000') return nameTooLong;
  const why = reasons[state] ?? reasons[state.slice(0, 2)] ?? 'a rule of the database does not allow it';
  return {
    code: 'refused_by_database',
    message: `The database refused this row, because ${why} (SQLSTATE ${state}). The server’s log has the details.`,
  };
}

const reasons: Record<string, string> = {
  '22003': 'a figure is too large to be stored',
  '22': 'a value cannot be stored',
  '23502': 'a value is missing',
  '23503': 'something that it belongs to does not exist',
  '23505': 'it exists already',
  '23514': 'a value is outside of what is allowed',
  '42501': 'it may not be written',
  P0: 'a rule that the operator added does not allow it',
};

export const entityLost = {
  code: 'entity_lost',
  message:
    'The campaign, ad set or ad of this row could not be stored, so the row was not stored either. Upload the ' +
    'rejected rows again; if this happens again, tell the operator of this server.',
};

export const batchFailed = {
  code: 'batch_failed',
  message:
    'Other uploads kept writing the same rows, so this row could not be written. Upload the rejected rows again.',
};
