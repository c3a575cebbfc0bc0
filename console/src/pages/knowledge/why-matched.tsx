import type { KnowledgeResults } from '../../api/types.ts';

type Found = KnowledgeResults['results'][number];

/** Why a passage was found: its words, or its meaning, and on which page it is. */
export function WhyMatched({ found }: { found: Found }) {
  return <p className="dim small kb-why">{reasonsOf(found).join(' · ')}</p>;
}

const mostWords = 8;

export function reasonsOf({ text, highlights = [], explanation, passages, pages = [] }: Found): string[] {
  const words = new Set(highlights.map(({ start, end }) => text.slice(start, end).toLowerCase()));
  const shown = [...words].slice(0, mostWords).map((word) => `“${word}”`);
  const meaning = explanation?.similarity ?? null;
  return [
    pages.length === 0 ? null : `page ${pages.length > 1 ? `${pages[0]}–${pages.at(-1)}` : pages[0]}`,
    shown.length === 0 ? null : `words: ${shown.join(', ')}`,
    shown.length === 0 && meaning !== null ? 'by its meaning alone' : null,
    meaning === null ? null : `meaning ${Math.round(meaning * 100)} %`,
    passages === undefined ? null : `${passages.length} neighbouring passages`,
  ].filter((reason) => reason !== null);
}
