import { getHeapStatistics } from 'node:v8';
import { RE2JS } from 're2js';
import { messageOf } from '../errors.ts';
import { translatePattern } from './translate-pattern.ts';

/** A compiled pattern. The time for a text is at most in proportion to `size` times its length. */
export interface LinearPattern {
  readonly size: number;
  /** Whether the pattern is found anywhere in the text. */
  test(text: string): boolean;
}

/** `problem` completes "the pattern …". */
export type Compiled = LinearPattern | { problem: string };

const maxKept = 2_000;
/** A pattern remembers the states that it has seen, up to 8 MB of them. */
const maxHeapBytes = 192 * 1024 * 1024;

/**
 * Compiles patterns of tenants and keeps the last ones. Only for a thread of its own: it forgets all of them when the
 * heap of its thread grows, and a hostile pattern of the largest size takes 150 ms on the longest text.
 */
export class LinearPatterns {
  readonly #kept = new Map<string, Compiled>();
  readonly #heapBytes: () => number;

  constructor(heapBytes: () => number = () => getHeapStatistics().used_heap_size) {
    this.#heapBytes = heapBytes;
  }

  get kept(): number {
    return this.#kept.size;
  }

  get(pattern: string): Compiled {
    const known = this.#kept.get(pattern);
    if (known !== undefined) return known;
    if (this.#kept.size >= maxKept) this.#kept.clear();
    const compiled = compile(pattern);
    this.#kept.set(pattern, compiled);
    return compiled;
  }

  /** Call it between texts: a pattern's memory grows while it runs. */
  limitMemory(): void {
    if (this.#kept.size > 0 && this.#heapBytes() > maxHeapBytes) this.#kept.clear();
  }
}

function compile(pattern: string): Compiled {
  const translated = translatePattern(pattern);
  if ('problem' in translated) return translated;
  try {
    const compiled = RE2JS.compile(translated.source);
    return { size: translated.size, test: (text) => compiled.test(text) };
  } catch (error) {
    return { problem: `is not supported: ${messageOf(error).replace(/^error parsing regexp: /, '')}` };
  }
}
