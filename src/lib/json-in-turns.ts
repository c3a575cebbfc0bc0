import { maxJsonDepth } from './json-depth.ts';
import { createTurns } from './timing/event-loop-turns.ts';

/** Parses a text that is known to be shallow; throws when it is not JSON. */
export type ParseJson = (json: string) => unknown;

export type ParsedJson = { value: unknown } | { problem: 'too_deep' | 'too_many' | 'not_json' };

export interface JsonBounds {
  /** Values and names altogether. */
  maxValues?: number;
  /** Of one object that is longer than a piece. */
  maxMembers?: number;
}

/** What is parsed at once takes a few milliseconds, whatever is in it. */
const pieceBytes = 64 * 1024;

const quote = 34;
const comma = 44;
const openArray = 91;
const backslash = 92;
const closeArray = 93;
const openObject = 123;
const closeObject = 125;

/**
 * JSON of somebody else, however large, without keeping the event loop busy: JSON.parse takes 200 ms for 4 MB of empty
 * objects. Containers of more than a piece are taken apart; the rest goes to `parse`.
 */
export async function parseJsonInTurns(
  bytes: Uint8Array,
  parse: ParseJson = (json) => JSON.parse(json) as unknown,
  bounds: JsonBounds = {},
): Promise<ParsedJson> {
  const text = new JsonText(withoutMark(bytes), parse, bounds);
  const large = await text.findLarge();
  if (typeof large === 'string') return { problem: large };
  try {
    return { value: await text.read(large) };
  } catch (error) {
    if (error instanceof TooManyMembers) return { problem: 'too_many' };
    if (error instanceof SyntaxError) return { problem: 'not_json' };
    throw error;
  }
}

function withoutMark(bytes: Uint8Array): Buffer {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return all[0] === 0xef && all[1] === 0xbb && all[2] === 0xbf ? all.subarray(3) : all;
}

class TooManyMembers extends Error {}

/** Where the large containers end, by where they begin. */
type Large = ReadonlyMap<number, number>;

interface Piece {
  /** Where its members end. */
  to: number;
  /** Where the member behind them begins. */
  memberAt: number;
  /** Where its value begins, if that is large. */
  largeAt: number | null;
}

class JsonText {
  readonly #bytes: Buffer;
  readonly #parse: ParseJson;
  readonly #bounds: JsonBounds;
  readonly #takeTurn = createTurns();

  constructor(bytes: Buffer, parse: ParseJson, bounds: JsonBounds) {
    this.#bytes = bytes;
    this.#parse = parse;
    this.#bounds = bounds;
  }

  async findLarge(): Promise<Large | 'too_deep' | 'too_many'> {
    const { maxValues = Number.POSITIVE_INFINITY } = this.#bounds;
    const large = new Map<number, number>();
    let values = 1;
    const open: number[] = [];
    for (let at = 0, nextTurn = pieceBytes; at < this.#bytes.length; at += 1) {
      if (at >= nextTurn) {
        nextTurn = at + pieceBytes;
        await this.#takeTurn();
      }
      const code = this.#bytes[at];
      if (code === quote) at = this.#endOfText(at);
      else if (code === openArray || code === openObject) {
        values += 1;
        if (open.push(at) > maxJsonDepth) return 'too_deep';
      } else if (code === closeArray || code === closeObject) {
        const start = open.pop() ?? at;
        if (at - start > pieceBytes) large.set(start, at);
      } else if (code === comma) values += 1;
      if (values > maxValues) return 'too_many';
    }
    return large;
  }

  async read(large: Large): Promise<unknown> {
    const start = this.#skipSpace(0);
    const end = large.get(start);
    if (end === undefined) return this.#parse(this.#slice(0, this.#bytes.length));
    if (this.#slice(end + 1, this.#bytes.length).trim() !== '') throw new SyntaxError('more than one value');
    return this.#container(start, large);
  }

  /** A container that is known to be large, as pieces of whole members and as further large containers. */
  async #container(start: number, large: Large): Promise<unknown> {
    const isArray = this.#bytes[start] === openArray;
    const end = large.get(start) ?? start;
    if (this.#bytes[end] !== (isArray ? closeArray : closeObject)) throw new SyntaxError('it is not closed');
    const made = isArray ? new LargeArray() : new LargeObject(this.#parse, this.#bounds.maxMembers);
    let from = start + 1;
    if (this.#skipSpace(from) === end) return made.value;
    while (from <= end) {
      const { to, largeAt, memberAt } = this.#pieceFrom(from, end, large);
      if (largeAt === null || memberAt > from) {
        const inside = this.#slice(from, to);
        if (inside.trim() === '') throw new SyntaxError('a value is missing');
        made.addPiece(this.#parse(isArray ? `[${inside}]` : `{${inside}}`));
      }
      if (largeAt === null) from = to + 1;
      else {
        made.addMember(this.#slice(memberAt, largeAt), await this.#container(largeAt, large));
        const next = this.#skipSpace((large.get(largeAt) ?? largeAt) + 1);
        if (next !== end && this.#bytes[next] !== comma) throw new SyntaxError('a comma is missing');
        from = next + 1;
      }
      await this.#takeTurn();
    }
    return made.value;
  }

  /**
   * Whole members, up to a comma or the end of the container. With `largeAt`, the member behind them has a large value,
   * which begins there.
   */
  #pieceFrom(from: number, end: number, large: Large): Piece {
    let depth = 0;
    let memberAt = from;
    for (let at = from; at < end; at += 1) {
      const code = this.#bytes[at];
      if (code === quote) at = this.#endOfText(at);
      else if (code === openArray || code === openObject) {
        if (depth === 0 && large.has(at)) return { to: Math.max(from, memberAt - 1), memberAt, largeAt: at };
        depth += 1;
      } else if (code === closeArray || code === closeObject) depth -= 1;
      else if (code === comma && depth === 0) {
        memberAt = at + 1;
        if (at - from > pieceBytes) return { to: at, memberAt, largeAt: null };
      }
    }
    return { to: end, memberAt, largeAt: null };
  }

  /** At its closing quote, or behind the last byte. */
  #endOfText(start: number): number {
    for (let at = start + 1; at < this.#bytes.length; at += 1) {
      const code = this.#bytes[at];
      if (code === backslash) at += 1;
      else if (code === quote) return at;
    }
    return this.#bytes.length;
  }

  #skipSpace(start: number): number {
    let at = start;
    for (let code = this.#bytes[at]; code === 32 || code === 10 || code === 13 || code === 9; ) {
      at += 1;
      code = this.#bytes[at];
    }
    return at;
  }

  #slice(from: number, to: number): string {
    return this.#bytes.toString('utf8', from, to);
  }
}

class LargeArray {
  readonly value: unknown[] = [];

  addPiece(values: unknown): void {
    for (const each of values as unknown[]) this.value.push(each);
  }

  addMember(before: string, value: unknown): void {
    if (before.trim() !== '') throw new SyntaxError('a comma is missing');
    this.value.push(value);
  }
}

class LargeObject {
  readonly value: Record<string, unknown> = {};
  readonly #parse: ParseJson;
  #left: number;

  constructor(parse: ParseJson, maxMembers = Number.POSITIVE_INFINITY) {
    this.#parse = parse;
    this.#left = maxMembers;
  }

  addPiece(members: unknown): void {
    for (const [name, value] of Object.entries(members as object)) this.#set(name, value);
  }

  addMember(before: string, value: unknown): void {
    // As a member of its own: the parser may refuse some names.
    const names = Object.keys(this.#parse(`{${before}0}`) as object);
    if (names.length !== 1) throw new SyntaxError('a name is missing');
    this.#set(names[0] ?? '', value);
  }

  /** An assignment of `__proto__` would change the object instead of its members. */
  #set(name: string, value: unknown): void {
    this.#left -= 1;
    if (this.#left < 0) throw new TooManyMembers();
    Object.defineProperty(this.value, name, { value, enumerable: true, configurable: true, writable: true });
  }
}
