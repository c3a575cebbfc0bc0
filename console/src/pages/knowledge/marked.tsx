import { useMemo } from 'react';

const shortestWord = 3;

/** The text with the words of the question marked, as whole words or their beginnings. */
export function Marked({ text, query }: { text: string; query: string }) {
  const parts = useMemo(() => splitAtWords(text, query), [text, query]);
  return <>{parts.map(({ at, part, isMatch }) => (isMatch ? <mark key={at}>{part}</mark> : part))}</>;
}

export function splitAtWords(text: string, query: string): { at: number; part: string; isMatch: boolean }[] {
  const words = [...query.matchAll(/[\p{L}\p{N}]+/gu)].map(([word]) => word);
  const wanted = words.filter((word) => [...word].length >= shortestWord);
  if (wanted.length === 0) return [{ at: 0, part: text, isMatch: false }];
  // Only letters and numbers are in it, so nothing has to be escaped.
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${wanted.join('|')})[\\p{L}\\p{N}]*`, 'giu');
  const parts: { at: number; part: string; isMatch: boolean }[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) parts.push({ at: end, part: text.slice(end, match.index), isMatch: false });
    parts.push({ at: match.index, part: match[0], isMatch: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ at: end, part: text.slice(end), isMatch: false });
  return parts;
}
