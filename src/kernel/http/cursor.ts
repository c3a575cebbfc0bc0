import { createHmac, timingSafeEqual } from 'node:crypto';
import { defineErrors, invalid } from '../../lib/errors.ts';

export const cursorErrors = defineErrors({
  invalid_cursor: invalid(
    'The cursor is not valid',
    'Use next_cursor of the previous page, unchanged and for the same list, or omit the cursor to start over.',
    400,
  ),
});

/** Where a page of a keyset list ended: the sort values of its last row. */
export type Position = (string | number | null)[];

export interface Cursors {
  encode(list: string, position: Position): string;
  decode(list: string, cursor: string): Position;
}

const signatureBytes = 16;

/**
 * Cursors are signed, so that nobody can query for values that the list never showed, and bound to their list,
 * so that a cursor of one list is refused by another.
 */
export function createCursors(secret: string): Cursors {
  const key = createHmac('sha256', secret).update('sluice cursors').digest();
  const sign = (list: string, payload: string): Buffer =>
    createHmac('sha256', key).update(`${list}\0${payload}`).digest().subarray(0, signatureBytes);
  return {
    encode(list, position) {
      const payload = Buffer.from(JSON.stringify(position)).toString('base64url');
      return `${payload}.${sign(list, payload).toString('base64url')}`;
    },
    decode(list, cursor) {
      const [payload = '', signature = '', ...rest] = cursor.split('.');
      const given = Buffer.from(signature, 'base64url');
      const expected = sign(list, payload);
      const valid =
        rest.length === 0 &&
        given.length === expected.length &&
        // Base64 has several spellings of the same bytes; only ours counts as unchanged.
        given.toString('base64url') === signature &&
        timingSafeEqual(given, expected);
      if (!valid)
        throw cursorErrors.raise.invalid_cursor('The cursor was changed or belongs to another list');
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Position;
    },
  };
}
