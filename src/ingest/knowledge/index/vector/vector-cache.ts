import { type Segment, sizeOf } from './segments.ts';
import type { VectorSpace } from './types.ts';

/** The version of a space that a transaction has read before it uses the cache. */
export interface SpaceVersion {
  /** Tells spaces with the same key apart: one that was deleted and created again starts with version 0 again. */
  incarnation: string;
  /** Grows with each transaction that adds or deletes chunks. */
  version: number;
}

interface Snapshot extends SpaceVersion {
  /** Null if too large for the cache. */
  segments: readonly Segment[] | null;
}

interface Entry {
  snapshot: Snapshot | null;
  filling: Promise<void> | null;
}

/** Counts for each entry, so that a million empty spaces are not free. */
const entryBytes = 1024;

/** After so many fills by others that failed or did not reach our version, the search does without the cache. */
const maxFills = 20;

/**
 * Keeps the vectors of the spaces that were searched last, up to a number of bytes. The first search that finds a space
 * outdated updates it in its own transaction; other searches of the space wait for it. During an update the new
 * segments exist beside the old ones.
 */
export class VectorCache {
  readonly #maxBytes: number;
  /** In the order of use; the most recent entry is last. */
  readonly #entries = new Map<string, Entry>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** `fill` gets the cached segments and returns all current ones, or null if they are too many. */
  async get(
    space: VectorSpace,
    wanted: SpaceVersion,
    fill: (segments: readonly Segment[]) => Promise<Segment[] | null>,
  ): Promise<readonly Segment[] | null> {
    const key = JSON.stringify([space.tenantId, space.kbId, space.generation]);
    for (let fills = 0; fills < maxFills; fills += 1) {
      const entry = this.#use(key);
      if (entry.snapshot !== null && satisfies(entry.snapshot, wanted)) return entry.snapshot.segments;
      if (entry.filling === null) return this.#fill(entry, wanted, fill);
      // A failure is reported to the search that filled the entry; this one tries again in its own transaction.
      await entry.filling.catch(() => {});
    }
    return null;
  }

  /** For metrics and tests. */
  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, entry) => sum + bytesOf(entry), 0);
  }

  #use(key: string): Entry {
    const entry = this.#entries.get(key) ?? { snapshot: null, filling: null };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  async #fill(
    entry: Entry,
    wanted: SpaceVersion,
    fill: (segments: readonly Segment[]) => Promise<Segment[] | null>,
  ): Promise<readonly Segment[] | null> {
    const isSame = entry.snapshot?.incarnation === wanted.incarnation;
    const old = isSame ? (entry.snapshot?.segments ?? []) : [];
    const filled = fill(old);
    entry.filling = filled.then(
      (segments) => {
        entry.snapshot = { incarnation: wanted.incarnation, version: wanted.version, segments };
        entry.filling = null;
        this.#evict(entry);
      },
      (error: unknown) => {
        entry.filling = null;
        throw error;
      },
    );
    await entry.filling;
    return filled;
  }

  #evict(newest: Entry): void {
    let excess = this.bytes - this.#maxBytes;
    for (const [key, entry] of this.#entries) {
      if (excess <= 0) return;
      if (entry === newest || entry.filling !== null) continue;
      excess -= bytesOf(entry);
      this.#entries.delete(key);
    }
  }
}

/** A newer version is fine: it was committed meanwhile. */
function satisfies(snapshot: Snapshot, wanted: SpaceVersion): boolean {
  return snapshot.incarnation === wanted.incarnation && snapshot.version >= wanted.version;
}

function bytesOf({ snapshot }: Entry): number {
  return entryBytes + sizeOf(snapshot?.segments ?? []);
}
