import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { joinBytes } from './join-bytes.ts';

const mebibyte = 1024 * 1024;

test('pieces are joined in order, in a buffer of their own', async () => {
  const pieces = Array.from({ length: 9 }, (_, at) => randomBytes(at * 300_000));
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const joined = await joinBytes(pieces, sizeBytes);
  expect(joined.equals(Buffer.concat(pieces))).toBe(true);
  expect(joined.buffer.byteLength).toBe(sizeBytes);
});

test('joining much data does not block the event loop', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    if (isJoining) setImmediate(count);
  };
  let isJoining = true;
  setImmediate(count);
  await joinBytes(
    Array.from({ length: 16 }, () => Buffer.alloc(mebibyte)),
    16 * mebibyte,
  );
  isJoining = false;
  expect(turns).toBeGreaterThanOrEqual(7);
});
