import type { KnowledgeResults } from '../../api/types.ts';

type Found = Pick<KnowledgeResults['results'][number], 'text' | 'highlights' | 'best_sentence'>;

interface Part {
  at: number;
  text: string;
  isWord: boolean;
  isSentence: boolean;
}

/** A passage with the words of the question marked, and the sentence that is nearest in meaning underlined. */
export function CitedText({ found }: { found: Found }) {
  return (
    <>
      {partsOf(found).map(({ at, isSentence, ...part }) =>
        isSentence ? (
          <span key={at} className="kb-nearest" title="Nearest in meaning">
            <Word {...part} />
          </span>
        ) : (
          <Word key={at} {...part} />
        ),
      )}
    </>
  );
}

function Word({ text, isWord }: Pick<Part, 'text' | 'isWord'>) {
  return isWord ? <mark>{text}</mark> : text;
}

export function partsOf({ text, highlights = [], best_sentence: sentence }: Found): Part[] {
  const borders = [0, text.length, ...highlights.flatMap(({ start, end }) => [start, end])];
  if (sentence !== undefined) borders.push(sentence.start, sentence.end);
  const sorted = [...new Set(borders)].sort((one, other) => one - other);
  return sorted.slice(0, -1).map((at, index) => {
    const end = sorted[index + 1] ?? text.length;
    const isWord = highlights.some((range) => range.start <= at && at < range.end);
    const isSentence = sentence !== undefined && sentence.start <= at && at < sentence.end;
    return { at, text: text.slice(at, end), isWord, isSentence };
  });
}
