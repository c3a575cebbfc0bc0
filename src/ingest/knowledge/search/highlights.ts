import type { Embedder } from '../embedders/embedder.ts';

/** A part of the text of a result; the end is exclusive. */
export interface TextRange {
  start: number;
  end: number;
}

const mostHighlights = 200;

/** Where these words are in a text, as whole words. */
export function rangesOf(text: string, words: readonly string[]): TextRange[] {
  if (words.length === 0) return [];
  const ranges: TextRange[] = [];
  // The longer word first: a part of it is not marked once more.
  for (const word of words.toSorted((one, other) => other.length - one.length)) {
    for (let start = text.indexOf(word); start >= 0; start = text.indexOf(word, start + 1)) {
      const end = start + word.length;
      if (ranges.length === mostHighlights) break;
      const isTaken = ranges.some((range) => range.start < end && start < range.end);
      if (!isTaken && !isInWord(text, start, end)) ranges.push({ start, end });
    }
  }
  return ranges.toSorted((one, other) => one.start - other.start);
}

/** Whether a letter or digit goes on before or behind the range. */
function isInWord(text: string, start: number, end: number): boolean {
  const before = [...text.slice(Math.max(0, start - 2), start)].at(-1) ?? '';
  const after = [...text.slice(end, end + 2)].at(0) ?? '';
  return isLetter.test(before) || isLetter.test(after);
}

const isLetter = /[\p{L}\p{N}]/u;

/** One call of an embedder, and about a quarter of a second of the built-in one. */
const mostSentences = 64;
const shortestSentence = 12;

interface Sentence extends TextRange {
  /** Which of the texts it is in. */
  place: number;
}

/** The sentence of each text that is nearest to the question; null for texts with a single one. */
export async function findBestSentences(
  texts: readonly string[],
  {
    embedder,
    vector,
    ...call
  }: { embedder: Embedder; vector: Float32Array; signal: AbortSignal; tenantId: string },
): Promise<(TextRange | null)[]> {
  const sentences = texts
    .map((text, place) => sentencesOf(text).map((range) => ({ ...range, place })))
    .filter((own) => own.length > 1)
    .flat()
    .slice(0, mostSentences);
  const best: ({ sentence: Sentence; score: number } | undefined)[] = [];
  if (sentences.length === 0) return texts.map(() => null);
  const vectors = await embedAll(
    embedder,
    sentences.map(({ place, start, end }) => texts[place]?.slice(start, end) ?? ''),
    call,
  );
  for (const [index, sentence] of sentences.entries()) {
    const score = cosine(vectors[index], vector);
    const known = best[sentence.place];
    if (known === undefined || score > known.score) best[sentence.place] = { sentence, score };
  }
  return texts.map((_, place) => {
    const found = best[place]?.sentence;
    return found === undefined ? null : { start: found.start, end: found.end };
  });
}

async function embedAll(
  embedder: Embedder,
  texts: readonly string[],
  call: { signal: AbortSignal; tenantId: string },
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  const atOnce = Math.max(1, embedder.limits.textsPerCall);
  for (let from = 0; from < texts.length; from += atOnce) {
    vectors.push(...(await embedder.embed(texts.slice(from, from + atOnce), call)));
  }
  return vectors;
}

const splitter = new Intl.Segmenter('en', { granularity: 'sentence' });

function sentencesOf(text: string): TextRange[] {
  const ranges: TextRange[] = [];
  for (const { index, segment } of splitter.segment(text)) {
    const trimmed = segment.trim();
    if (trimmed.length < shortestSentence) continue;
    const start = index + segment.indexOf(trimmed);
    ranges.push({ start, end: start + trimmed.length });
  }
  return ranges;
}

function cosine(one: Float32Array | undefined, other: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < other.length; index += 1) sum += (one?.[index] ?? 0) * (other[index] ?? 0);
  return sum;
}
