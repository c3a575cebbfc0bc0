import { setImmediate as nextTurn } from 'node:timers/promises';

/** New memory is filled at about 500 MB a second: this much takes a few milliseconds. */
const turnBytes = 2 * 1024 * 1024;

/** The pieces in one buffer of its own; others have their turn while it is filled. */
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
