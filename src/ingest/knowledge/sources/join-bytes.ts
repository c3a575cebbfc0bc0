import { setImmediate as nextTurn } from 'node:timers/promises';

/** New memory is filled at about 500 MB/s, so this takes a few milliseconds. */
const turnBytes = 2 * 1024 * 1024;

/** Joins the pieces in a new buffer, and yields to the event loop meanwhile. */
export async function joinBytes(pieces: readonly Buffer[], sizeBytes: number): Promise<Buffer> {
  const joined = Buffer.allocUnsafeSlow(sizeBytes);
  let at = 0;
  let turnAt = turnBytes;
  for (const piece of pieces) {
    at += piece.copy(joined, at);
    if (at < turnAt) continue;
    await nextTurn();
    turnAt = at + turnBytes;
  }
  return joined;
}
