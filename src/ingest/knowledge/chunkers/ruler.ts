import type { CountTokens } from './chunker.ts';
import { normalise } from './normalise.ts';

/** A part of the document's text, in UTF-16 units; the end is excluded. */
export interface Span {
  start: number;
  end: number;
}

/**
 * No tokeniser reads more of a language's text into one token. It bounds what is counted at once, whatever a counter
 * says of a word of twenty megabytes.
 */
const maxUnitsPerToken = 16;

/** Measures parts of one document in tokens, and knows the sizes that chunks may have. */
export interface Ruler {
  readonly text: string;
  /** No chunk has more. */
  readonly max: number;
  /** What has fewer is short: it looks for company. */
  readonly short: number;
  /** 0 for a part without any text, infinite for one that is too long to be counted. */
  tokens(span: Span): number;
}

export function createRuler(text: string, options: { maxTokens: number; countTokens: CountTokens }): Ruler {
  const { maxTokens, countTokens } = options;
  return {
    text,
    max: maxTokens,
    short: Math.floor(maxTokens / 4),
    tokens({ start, end }) {
      if (end - start > maxTokens * maxUnitsPerToken) return Number.POSITIVE_INFINITY;
      const normalised = normalise(text.slice(start, end));
      // Whatever a counter thinks of single signs, they take up room.
      return normalised === '' ? 0 : Math.max(1, countTokens(normalised));
    },
  };
}
