/** A byte source that counts what was read and whether it was released. */
export interface CountedStream extends AsyncIterable<Uint8Array> {
  takenBytes: number;
  takenPieces: number;
  isClosed: boolean;
}

/** The bytes, cut at the given offsets (in any order; those outside are ignored). */
export function cutAt(bytes: Uint8Array, offsets: readonly number[]): CountedStream {
  const inside = offsets.filter((offset) => offset > 0 && offset < bytes.length);
  const cuts = [0, ...new Set(inside.toSorted((a, b) => a - b)), bytes.length];
  return counted(cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end)));
}

/** `first` and then `piece` again and again, up to `totalBytes`: a large upload that is never in memory. */
export function endless(options: { first: string; piece: string; totalBytes: number }): CountedStream {
  const piece = Buffer.from(options.piece.repeat(Math.ceil(65_536 / options.piece.length)));
  return counted(
    (function* () {
      yield Buffer.from(options.first);
      for (let sent = 0; sent < options.totalBytes; sent += piece.length) yield piece;
    })(),
  );
}

function counted(pieces: Iterable<Uint8Array>): CountedStream {
  const stream: CountedStream = {
    takenBytes: 0,
    takenPieces: 0,
    isClosed: false,
    async *[Symbol.asyncIterator]() {
      try {
        for (const piece of pieces) {
          stream.takenBytes += piece.length;
          stream.takenPieces += 1;
          yield piece;
        }
      } finally {
        stream.isClosed = true;
      }
    },
  };
  return stream;
}
