import { type Segment, sizeOf } from './segments.ts';
import type { VectorSpace } from './types.ts';

/** What a transaction has read of a space before it looks into the cache. */
export interface SpaceVersion {
  /** Which of the spaces that ever had this key: one that is deleted and made again starts with version 0 again. */
  incarnation: string;
  /** Grows with every transaction that adds or deletes chunks. */
  version: number;
}

interface Snapshot extends SpaceVersion {
  /** Null: too large to be kept. */
  segments: readonly Segment[] | null;
}

interface Entry {
  snapshot: Snapshot | null;
  filling: Promise<void> | null;
}

/** So that a million empty spaces are not free either. */
const entryBytes = 1024;

/** After this many others that filled it without reaching our version, or failed at it, we do without. */
const maxTurns = 20;

/**
 * Vectors of the spaces that were searched last, up to a number of bytes. Whoever finds a space outdated brings it up
 * to date in its own transaction, and all others who want it then wait for that one. While a space is being brought
 * up to date, the new segments stand beside the old ones that they replace.
 */
export class VectorCache {
  readonly #maxBytes: number;
  /** The one that was used last stands last. */
  readonly #entries = new Map<string, Entry>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** `fill` gets the segments that there are, and answers all there should be, or null where they are too many. */
  async get(
    space: VectorSpace,
    wanted: SpaceVersion,
    fill: (segments: readonly Segment[]) => Promise<Segment[] | null>,
  ): Promise<readonly Segment[] | null> {
    const key = JSON.stringify([space.tenantId, space.kbId, space.generation]);
    for (let turn = 0; turn < maxTurns; turn += 1) {
      const entry = this.#use(key);
      if (entry.snapshot !== null && satisfies(entry.snapshot, wanted)) return entry.snapshot.segments;
      if (entry.filling === null) return this.#fill(entry, wanted, fill);
      // A failure is reported to the one whose transaction it was; we try again in ours.
      await entry.filling.catch(() => {});
    }
    return null;
  }

  /** How much is held, for metrics and tests. */
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

/** One that is newer than what we have read will do: it has been committed since. */
function satisfies(snapshot: Snapshot, wanted: SpaceVersion): boolean {
  return snapshot.incarnation === wanted.incarnation && snapshot.version >= wanted.version;
}

function bytesOf({ snapshot }: Entry): number {
  return entryBytes + sizeOf(snapshot?.segments ?? []);
}
