import { copyVector } from './vector-bytes.ts';

/** Vectors of some chunks, side by side. Immutable: searches may be reading it. */
export interface Segment {
  readonly ids: Float64Array;
  readonly vectors: Float32Array;
}

/** A scan of one segment takes well under a millisecond, and a change of one chunk copies little. */
const segmentBytes = 1024 * 1024;

export function rowsPerSegment(dimensions: number): number {
  return Math.max(16, Math.floor(segmentBytes / (dimensions * Float32Array.BYTES_PER_ELEMENT)));
}

export function bytesPerRow(dimensions: number): number {
  return dimensions * Float32Array.BYTES_PER_ELEMENT + Float64Array.BYTES_PER_ELEMENT;
}

export function sizeOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { ids, vectors }) => sum + ids.byteLength + vectors.byteLength, 0);
}

/** Fills segments row by row; allocates room for `expected` rows, so that a small space stays small. */
export class SegmentWriter {
  readonly #dimensions: number;
  readonly #segments: Segment[] = [];
  #room: number;
  #ids = new Float64Array(0);
  #vectors = new Float32Array(0);
  #count = 0;

  constructor(dimensions: number, expected: number) {
    this.#dimensions = dimensions;
    this.#room = expected;
  }

  push(chunkId: number, bytes: Buffer): void {
    const at = this.#nextRow(chunkId);
    copyVector(bytes, this.#vectors, at);
  }

  copy(segment: Segment, row: number): void {
    const from = row * this.#dimensions;
    const at = this.#nextRow(segment.ids[row] as number);
    this.#vectors.set(segment.vectors.subarray(from, from + this.#dimensions), at);
  }

  finish(): Segment[] {
    this.#seal();
    return this.#segments;
  }

  /** Returns where the vector of this row starts. */
  #nextRow(chunkId: number): number {
    if (this.#count === this.#ids.length) this.#open();
    this.#ids[this.#count] = chunkId;
    this.#count += 1;
    return (this.#count - 1) * this.#dimensions;
  }

  #open(): void {
    this.#seal();
    const rows = Math.max(1, Math.min(rowsPerSegment(this.#dimensions), this.#room));
    this.#room -= rows;
    this.#ids = new Float64Array(rows);
    this.#vectors = new Float32Array(rows * this.#dimensions);
    this.#count = 0;
  }

  /** Gives back the room of chunks that were deleted while they were loaded. */
  #seal(): void {
    if (this.#count === 0) return;
    const isFull = this.#count === this.#ids.length;
    this.#segments.push({
      ids: isFull ? this.#ids : this.#ids.slice(0, this.#count),
      vectors: isFull ? this.#vectors : this.#vectors.slice(0, this.#count * this.#dimensions),
    });
    this.#count = 0;
    this.#ids = new Float64Array(0);
  }
}

export interface Comparison {
  /** Full segments whose chunks all still exist. */
  kept: Segment[];
  /** Chunks that still exist, in segments that have to be rebuilt. */
  loose: { segment: Segment; row: number }[];
  /** Chunks that are in no segment yet, oldest first. */
  missing: number[];
}

/** Decides which segments can stay if `wanted` are the current chunks; removes from `wanted` what it finds. */
export async function compareSegments(
  segments: readonly Segment[],
  wanted: Set<number>,
  { dimensions, takeTurn }: { dimensions: number; takeTurn: () => Promise<void> },
): Promise<Comparison> {
  const kept: Segment[] = [];
  const loose: Comparison['loose'] = [];
  for (const segment of segments) {
    const rows: number[] = [];
    segment.ids.forEach((chunkId, row) => {
      if (wanted.delete(chunkId)) rows.push(row);
    });
    const isWhole = rows.length === segment.ids.length && rows.length >= rowsPerSegment(dimensions);
    if (isWhole) kept.push(segment);
    else loose.push(...rows.map((row) => ({ segment, row })));
    await takeTurn();
  }
  return { kept, loose, missing: [...wanted] };
}
