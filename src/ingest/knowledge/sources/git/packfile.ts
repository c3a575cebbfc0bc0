import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { type InputType, inflate, type ZlibOptions } from 'node:zlib';
import type { TemporaryFile } from '../../../../lib/formats/spool.ts';
import { type Breaks, takeBreaks } from './breaks.ts';
import { applyDelta } from './delta.ts';
import { gitErrors } from './errors.ts';

const kinds: Record<number, GitObjectKind | undefined> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };

export type GitObjectKind = 'commit' | 'tree' | 'blob' | 'tag';

/** Where an object is in the pack, and what it is made of. */
interface Entry {
  offset: number;
  dataOffset: number;
  packedBytes: number;
  sizeBytes: number;
  kind: GitObjectKind | null;
  /** Of a delta: the entry that it changes, by its offset or its name. */
  base: number | string | null;
}

export interface PackLimits {
  maxObjects: number;
  maxObjectBytes: number;
}

/** What is done with one object in one go takes longer the larger it is, and blocks everybody else meanwhile. */
const packLimits: PackLimits = { maxObjects: 2_000_000, maxObjectBytes: 32 * 1024 * 1024 };

const windowBytes = 64 * 1024;
const keptBytes = 32 * 1024 * 1024;
const maxDeltaChain = 4_096;
const trailerBytes = 20;

/** The objects of a pack by their names, which are the hashes of what is in them. */
export class Packfile {
  readonly #file: TemporaryFile;
  readonly #limits: PackLimits;
  readonly breaks: Breaks;
  readonly #byOffset = new Map<number, Entry>();
  readonly #byName = new Map<string, Entry>();
  /** Contents that other objects are likely to be based on. */
  readonly #kept = new Map<number, { kind: GitObjectKind; content: Buffer }>();
  #keptBytes = 0;

  private constructor(file: TemporaryFile, { limits, signal }: { limits: PackLimits; signal: AbortSignal }) {
    this.#file = file;
    this.#limits = limits;
    this.breaks = takeBreaks(signal);
  }

  /** The pack closes the file, also when it cannot be read. */
  static async open(
    file: TemporaryFile,
    { signal, limits = packLimits }: { signal: AbortSignal; limits?: PackLimits },
  ): Promise<Packfile> {
    const pack = new Packfile(file, { limits, signal });
    try {
      await pack.#index();
      return pack;
    } catch (error) {
      // Nobody else has it by now: a pack that cannot be read must not stay open.
      await pack.close();
      throw error;
    }
  }

  /** Null if the pack has no such object. */
  async read(name: string, kind: GitObjectKind): Promise<Buffer | null> {
    const entry = this.#byName.get(name);
    if (entry === undefined) return null;
    const found = await this.#contentOf(entry, 0);
    if (found.kind !== kind) throw broken(`its object ${name} is a ${found.kind} and no ${kind}`);
    return found.content;
  }

  close(): Promise<void> {
    this.#kept.clear();
    return this.#file.close();
  }

  async #index(): Promise<void> {
    const header = this.#bytes(0, 12);
    if (header.toString('latin1', 0, 4) !== 'PACK' || header.readUInt32BE(4) !== 2)
      throw broken('it is no pack');
    const count = header.readUInt32BE(8);
    if (count > this.#limits.maxObjects) {
      throw gitErrors.raise.git_repository_too_large(
        `The commit has ${count} objects; at most ${this.#limits.maxObjects} are read`,
      );
    }
    let at = 12;
    for (let index = 0; index < count; index += 1) {
      const entry = await this.#entryAt(at);
      this.#byOffset.set(at, entry);
      at = entry.dataOffset + entry.packedBytes;
      await this.breaks();
    }
    if (at + trailerBytes !== this.#file.sizeBytes) throw broken('it has another length than its objects');
    await this.#name();
  }

  /** Objects whose base has no name yet wait until it has one. */
  async #name(): Promise<void> {
    let waiting = [...this.#byOffset.values()];
    while (waiting.length > 0) {
      const unresolved: Entry[] = [];
      for (const entry of waiting) {
        if (!this.#isResolvable(entry)) {
          unresolved.push(entry);
          continue;
        }
        const { kind, content } = await this.#contentOf(entry, 0);
        const name = createHash('sha1').update(`${kind} ${content.length}\0`).update(content).digest('hex');
        this.#byName.set(name, entry);
        await this.breaks();
      }
      if (unresolved.length === waiting.length) throw broken('a base of its objects is missing');
      waiting = unresolved;
    }
  }

  #isResolvable(entry: Entry): boolean {
    let current: Entry | undefined = entry;
    for (let depth = 0; current !== undefined && depth < maxDeltaChain; depth += 1) {
      if (current.base === null) return true;
      current =
        typeof current.base === 'number' ? this.#byOffset.get(current.base) : this.#byName.get(current.base);
    }
    return false;
  }

  async #entryAt(offset: number): Promise<Entry> {
    let at = offset;
    let bytes = this.#bytes(at, 64);
    let place = 0;
    const next = () => {
      const byte = bytes[place];
      if (byte === undefined) throw broken('it ends within an object');
      place += 1;
      return byte;
    };
    let byte = next();
    const type = (byte >> 4) & 7;
    let sizeBytes = byte & 15;
    for (let factor = 16; byte & 128; factor *= 128) {
      byte = next();
      sizeBytes += (byte & 127) * factor;
    }
    if (sizeBytes > this.#limits.maxObjectBytes) {
      throw gitErrors.raise.git_repository_too_large(
        `The commit has an object of ${sizeBytes} bytes; at most ${this.#limits.maxObjectBytes} are read`,
      );
    }
    let base: number | string | null = null;
    if (type === 6) {
      byte = next();
      let distance = byte & 127;
      while (byte & 128) {
        byte = next();
        distance = (distance + 1) * 128 + (byte & 127);
      }
      base = offset - distance;
    } else if (type === 7) {
      base = bytes.toString('hex', place, place + 20);
      place += 20;
    } else if (kinds[type] === undefined) {
      throw broken(`it has an object of the unknown kind ${type}`);
    }
    at += place;
    bytes = Buffer.alloc(0);
    const { packedBytes } = await this.#inflate(at, sizeBytes);
    return { offset, dataOffset: at, packedBytes, sizeBytes, kind: kinds[type] ?? null, base };
  }

  /** How long the packed bytes are is only known once they are unpacked. */
  async #inflate(at: number, sizeBytes: number): Promise<{ content: Buffer; packedBytes: number }> {
    // Packed bytes are hardly ever longer than what is in them.
    for (let most = sizeBytes + Math.ceil(sizeBytes / 1_000) + windowBytes; ; most *= 2) {
      const packed = this.#bytes(at, most);
      try {
        const { buffer, engine } = await unpack(packed, {
          info: true,
          maxOutputLength: Math.max(1, sizeBytes),
        });
        if (buffer.length !== sizeBytes) throw broken('an object has another size than it says');
        return { content: buffer, packedBytes: engine.bytesWritten };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        const isCut = code === 'Z_BUF_ERROR' && at + packed.length < this.#file.sizeBytes - trailerBytes;
        if (!isCut || most > 4 * (sizeBytes + windowBytes)) throw broken('an object cannot be unpacked');
      }
    }
  }

  async #contentOf(entry: Entry, depth: number): Promise<{ kind: GitObjectKind; content: Buffer }> {
    const known = this.#kept.get(entry.offset);
    if (known !== undefined) return known;
    if (depth > maxDeltaChain) throw broken('its objects are based on each other in a circle');
    const { content } = await this.#inflate(entry.dataOffset, entry.sizeBytes);
    if (entry.base === null) return this.#keep(entry, { kind: entry.kind ?? 'blob', content });
    const base =
      typeof entry.base === 'number' ? this.#byOffset.get(entry.base) : this.#byName.get(entry.base);
    if (base === undefined) throw broken('a base of its objects is missing');
    const below = await this.#contentOf(base, depth + 1);
    const { maxObjectBytes: maxBytes } = this.#limits;
    const made = await applyDelta(below.content, content, { maxBytes, breaks: this.breaks });
    return this.#keep(entry, { kind: below.kind, content: made });
  }

  #keep(entry: Entry, found: { kind: GitObjectKind; content: Buffer }) {
    if (found.content.length > keptBytes / 4) return found;
    this.#kept.set(entry.offset, found);
    this.#keptBytes += found.content.length;
    for (const [offset, { content }] of this.#kept) {
      if (this.#keptBytes <= keptBytes) break;
      this.#kept.delete(offset);
      this.#keptBytes -= content.length;
    }
    return found;
  }

  /** As many as there are. */
  #bytes(at: number, most: number): Buffer {
    const length = Math.min(most, this.#file.sizeBytes - at);
    if (length <= 0) throw broken('it ends early');
    return this.#file.readNow(at, length);
  }
}

/** With how many of the bytes were used, which only the engine knows. Not on this thread: others have work here too. */
const unpack = promisify(inflate) as unknown as (
  packed: InputType,
  options: ZlibOptions,
) => Promise<{ buffer: Buffer; engine: { bytesWritten: number } }>;

function broken(why: string): Error {
  return gitErrors.raise.git_pack_broken(`The pack of the Git server cannot be used: ${why}`);
}
