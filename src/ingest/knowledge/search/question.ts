import type { Question } from './types.ts';

const maxParts = 16;
/** A minus before a digit belongs to a number. */
const excludedPart = /(^|\s)-(?:"([^"]*)"|(\p{L}[^\s"]*))/gu;
const quotedPart = /"([^"]*)"/g;

export function parseQuestion(query: string): Question {
  const excluded: string[] = [];
  const rest = query.replace(excludedPart, (_, before: string, phrase?: string, word?: string) => {
    excluded.push(phrase ?? word ?? '');
    return before;
  });
  const phrases = [...rest.matchAll(quotedPart)].map(([, phrase]) => phrase ?? '');
  return { words: rest.replaceAll('"', ' ').trim(), phrases: filled(phrases), excluded: filled(excluded) };
}

function filled(parts: readonly string[]): string[] {
  return parts.filter((part) => part.trim() !== '').slice(0, maxParts);
}
