import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCursors } from './cursor.ts';

const cursors = createCursors('the secret');
const invalid = expect.objectContaining({ code: 'invalid_cursor' });

function decodeOrError(list: string, cursor: string): unknown {
  try {
    return cursors.decode(list, cursor);
  } catch (error) {
    return error;
  }
}

describe('a cursor', () => {
  test('returns any position, for its own list only', () => {
    const value = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.constant(null));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 4 }), (position) => {
        const cursor = cursors.encode('things', position);
        expect(cursors.decode('things', cursor)).toEqual(position);
        expect(decodeOrError('other things', cursor)).toEqual(invalid);
      }),
    );
  });

  test('with any one character changed, added or missing is refused', () => {
    const cursor = cursors.encode('things', ['abc', 7]);
    for (let at = 0; at < cursor.length; at += 1) {
      for (const replacement of ['', 'A', '.', `${cursor[at]}A`]) {
        const tampered = cursor.slice(0, at) + replacement + cursor.slice(at + 1);
        if (tampered !== cursor) expect(decodeOrError('things', tampered)).toEqual(invalid);
      }
    }
  });

  test('has one spelling: the last character’s unused bits may not differ either', () => {
    const cursor = cursors.encode('things', ['abc']);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const accepted = [...alphabet].filter((character) => {
      return Array.isArray(decodeOrError('things', cursor.slice(0, -1) + character));
    });
    expect(accepted).toEqual([cursor.at(-1)]);
  });

  test.each(['', '.', 'x', 'a.b', 'a.b.c', '…'])('like %j is refused', (cursor) => {
    expect(decodeOrError('things', cursor)).toEqual(invalid);
  });

  test('from another installation is refused', () => {
    expect(decodeOrError('things', createCursors('another secret').encode('things', [1]))).toEqual(invalid);
  });
});
