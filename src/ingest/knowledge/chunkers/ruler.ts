import type { CountTokens } from './chunker.ts';
import { normalise } from './normalise.ts';

/** A part of the document's text, in UTF-16 units; the end is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/**
 * No tokeniser puts more text of a language into one token. It bounds what is counted at once, even for a word of
 * twenty megabytes.
 */
const maxUnitsPerToken = 16;

/** Measures parts of one document in tokens, and knows the limits of chunks. */
export interface Ruler {
  readonly text: string;
  /** The most tokens of a chunk. */
  readonly max: number;
  /** Blocks with fewer tokens are joined with their neighbours. */
  readonly short: number;
  /** 0 for a part without text, infinite for one that is too long to count. */
  tokens(span: Span): number;
}

export function createRuler(
  text: string,
  options: { maxTokens: number; minTokens?: number | undefined; countTokens: CountTokens },
): Ruler {
  const { maxTokens, countTokens, minTokens = Math.floor(maxTokens / 4) } = options;
  return {
    text,
    max: maxTokens,
    short: minTokens,
    tokens({ start, end }) {
      if (end - start > maxTokens * maxUnitsPerToken) return Number.POSITIVE_INFINITY;
      const normalised = normalise(text.slice(start, end));
      // A counter may count 0 for single characters; they still take up room.
      return normalised === '' ? 0 : Math.max(1, countTokens(normalised));
    },
  };
}
