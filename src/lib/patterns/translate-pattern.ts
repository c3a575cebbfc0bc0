import { readClass, readEscape, type Translated } from './pattern-escapes.ts';
import { Unsupported } from './unsupported.ts';

/** A pattern for the linear-time engine, or what is wrong with it; `problem` completes "the pattern …". */
export type Translation = { source: string; size: number } | { problem: string };

/** Longer patterns are refused. */
export const maxPatternLength = 200;
/**
 * Instructions that a compiled pattern may have. The worst one of this size takes about 150 ms on the longest text;
 * ordinary patterns have 10 to 50.
 */
const maxPatternSize = 1_000;
/** The engine writes repetitions out, and accepts no more than this. */
const maxRepetitions = 1_000;

/**
 * Translates a pattern of ECMAScript (with the flag u) to the syntax of RE2. Both mean the same texts: `\s` and `.` are
 * written out, because RE2 understands fewer spaces and line breaks. Groups capture nothing: only the match counts.
 */
export function translatePattern(pattern: string): Translation {
  try {
    // Parses the pattern without running it, so the time is bounded by its length.
    new RegExp(pattern, 'u');
  } catch {
    return { problem: 'is not a regular expression (ECMAScript, with the flag u)' };
  }
  try {
    const { source, size } = new Translator(pattern).translate();
    if (size <= maxPatternSize) return { source, size };
    const limit = `at most ${maxPatternSize} are allowed`;
    return { problem: `needs ${size} steps per character with its repetitions written out; ${limit}` };
  } catch (error) {
    if (error instanceof Unsupported) return { problem: error.message };
    throw error;
  }
}

/** The parts of one group, or of the whole pattern. */
interface Group {
  size: number;
  /** How often its innermost repetitions multiply. */
  repetitions: number;
}

class Translator {
  readonly #pattern: string;
  readonly #open: Group[] = [{ size: 1, repetitions: 1 }];
  #source = '';
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  translate(): { source: string; size: number } {
    while (this.#at < this.#pattern.length) this.#takeNext();
    return { source: this.#source, size: this.#top.size };
  }

  get #top(): Group {
    return this.#open.at(-1) as Group;
  }

  #takeNext(): void {
    const character = this.#pattern[this.#at];
    switch (character) {
      case '(':
        this.#openGroup();
        return;
      case ')':
        this.#write(')', 1);
        this.#add(this.#open.pop() as Group);
        return;
      case '|':
        this.#write('|', 1);
        this.#top.size += 1;
        return;
      default:
        this.#takeAtom(this.#readAtom(character ?? ''));
    }
  }

  #readAtom(character: string): Translated {
    const from = { pattern: this.#pattern, at: this.#at };
    if (character === '\\') return readEscape(from);
    if (character === '[') return readClass(from);
    if (character === '.') return { source: '[^\\n\\r\\x{2028}\\x{2029}]', length: 1 };
    const whole = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    return { source: whole, length: whole.length };
  }

  #takeAtom({ source, length }: Translated): void {
    this.#write(source, length);
    this.#add({ size: 1, repetitions: 1 });
  }

  /** Adds an atom or a group, with the quantifier that follows it. */
  #add({ size, repetitions }: Group): void {
    const quantifier = this.#readQuantifier();
    const { least, most } = quantifier;
    const times = repetitions * Math.max(1, most ?? least);
    if (quantifier.length > 0 && times > maxRepetitions) {
      const text = this.#pattern.slice(this.#at, this.#at + quantifier.length);
      throw new Unsupported(`more than ${maxRepetitions} repetitions with`, { text, at: this.#at });
    }
    this.#write(quantifier.source, quantifier.length);
    const optional = most === null ? size + 1 : (most - least) * (size + 1);
    const top = this.#top;
    top.size += least * size + optional;
    top.repetitions = Math.max(top.repetitions, times);
  }

  #readQuantifier(): { source: string; least: number; most: number | null; length: number } {
    const rest = this.#pattern.slice(this.#at, this.#at + maxPatternLength);
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(rest);
    if (found === null) return { source: '', least: 1, most: 1, length: 0 };
    const [{ length }, sign, from = '', comma, to] = found;
    if (sign !== undefined) {
      return { source: sign, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : null, length };
    }
    const least = Number(from);
    const most = comma === '' ? least : to === '' ? null : Number(to);
    return { source: `{${least}${comma}${most === null || comma === '' ? '' : most}}`, least, most, length };
  }

  #openGroup(): void {
    const rest = this.#pattern.slice(this.#at, this.#at + maxPatternLength);
    const name = /^\(\?<[^=!>][^>]*>/.exec(rest)?.[0];
    if (name === undefined && rest.startsWith('(?') && !rest.startsWith('(?:')) {
      const text = /^\(\?(?:<?[=!]|[^:)]*:?)/.exec(rest)?.[0] ?? '(?';
      throw new Unsupported(groupNames[text] ?? 'the group', { text, at: this.#at });
    }
    this.#write('(?:', name?.length ?? (rest.startsWith('(?:') ? 3 : 1));
    this.#open.push({ size: 0, repetitions: 1 });
  }

  #write(source: string, length: number): void {
    this.#source += source;
    this.#at += length;
  }
}

const groupNames: Record<string, string> = {
  '(?=': 'the lookahead',
  '(?!': 'the negative lookahead',
  '(?<=': 'the lookbehind',
  '(?<!': 'the negative lookbehind',
};
