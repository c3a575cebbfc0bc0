import { anchorRank, cutRank } from './cut-rank.ts';
import { isBlank, safeCut } from './normalise.ts';
import type { Span } from './ruler.ts';

/**
 * Cuts a span into smaller ones, lazily and in one pass that never reads past the end of the span. A search past the
 * end would read a long line again for each of its sentences.
 */
export type Splitter = (text: string, span: Span) => Iterable<Span>;

const newline = 10;

export function* lines(text: string, { start, end }: Span): Generator<Span> {
  let from = start;
  for (let at = start; at < end; at += 1) {
    if (text.charCodeAt(at) !== newline) continue;
    yield* trimmed(text, { start: from, end: at });
    from = at + 1;
  }
  yield* trimmed(text, { start: from, end });
}

const sentenceEnds = new Set([...'.!?…。！？'].map((sign) => sign.charCodeAt(0)));
/** No blank follows these. */
const wideEnds = new Set([...'。！？'].map((sign) => sign.charCodeAt(0)));
const closers = new Set([...'"\')]}”’»」』）*_`'].map((sign) => sign.charCodeAt(0)));

export function* sentences(text: string, { start, end }: Span): Generator<Span> {
  let from = start;
  let at = start;
  while (at < end) {
    const unit = text.charCodeAt(at);
    at += 1;
    if (isLetterLike(unit) || !sentenceEnds.has(unit)) continue;
    let isWide = wideEnds.has(unit);
    while (at < end && (sentenceEnds.has(text.charCodeAt(at)) || closers.has(text.charCodeAt(at)))) {
      isWide ||= wideEnds.has(text.charCodeAt(at));
      at += 1;
    }
    if (at < end && !isWide && !isBlank(text.charCodeAt(at))) continue;
    yield* trimmed(text, { start: from, end: at });
    from = at;
  }
  yield* trimmed(text, { start: from, end });
}

/** From `@` to general punctuation: most characters, recognised without a lookup. */
function isLetterLike(unit: number): boolean {
  return unit > 0x3f && unit < 0x2000;
}

export function* words(text: string, { start, end }: Span): Generator<Span> {
  let from = start;
  for (let at = start; at < end; at += 1) {
    if (!isBlank(text.charCodeAt(at))) continue;
    if (at > from) yield { start: from, end: at };
    from = at + 1;
  }
  if (end > from) yield { start: from, end };
}

const phraseUnits = 64;
/** One word in four. */
const phraseMask = 3;

/** A few words each, cut at places that depend on the words: counting a million single words would take too long. */
export function* phrases(text: string, span: Span): Generator<Span> {
  let open: Span | null = null;
  for (const word of words(text, span)) {
    const isNew: boolean =
      !open || word.end - open.start > phraseUnits || (cutRank(text, word.start) & phraseMask) === 0;
    if (open && isNew) yield open;
    open = { start: open && !isNew ? open.start : word.start, end: word.end };
  }
  if (open) yield open;
}

const syllableUnits = 16;
/** One place in eight. */
const anchorMask = 7;

/**
 * Short pieces of a very long word: a key, encoded data, a language without blanks. They end at places that depend on
 * the letters, because pieces of equal length would all move when a letter is inserted.
 */
export function* syllables(text: string, span: Span): Generator<Span> {
  let from = span.start;
  for (const { end } of graphemes(text, span)) {
    const isEnd = end - from >= syllableUnits || (anchorRank(text, end) & anchorMask) === 0;
    if (!isEnd && end < span.end) continue;
    yield { start: from, end };
    from = end;
  }
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** How much is segmented at once; a longer cluster is not a letter of any language and is cut. */
const windowUnits = 1_024;
/** Letters that never join their neighbours: segmenting them would cost a hundred times as much. */
const plain =
  /^[ -~\u00c0-\u024f\u0391-\u03c9\u0400-\u0481\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3]*$/;

export function* graphemes(text: string, { start, end }: Span): Generator<Span> {
  let from = start;
  while (from < end) {
    const isLast = from + windowUnits >= end;
    const window = text.slice(from, isLast ? end : safeCut(text, from + windowUnits));
    const ends = plain.test(window) ? unitEnds(window) : clusterEnds(window);
    // The last cluster of a window may continue after it.
    if (!isLast && ends.length > 1) ends.pop();
    else if (!isLast) ends[0] = safeCut(window, windowUnits - 1);
    const base = from;
    for (const place of ends) {
      yield { start: from, end: base + place };
      from = base + place;
    }
  }
}

export function* codePoints(text: string, { start, end }: Span): Generator<Span> {
  let from = start;
  while (from < end) {
    const next = safeCut(text, from + 1) === from ? from + 2 : from + 1;
    yield { start: from, end: Math.min(end, next) };
    from = next;
  }
}

/** The span without surrounding blanks; nothing if only blanks are left. */
export function* trimmed(text: string, span: Span): Generator<Span> {
  let { start, end } = span;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  if (end > start) yield { start, end };
}

function unitEnds(window: string): number[] {
  return Array.from({ length: window.length }, (_, index) => index + 1);
}

function clusterEnds(window: string): number[] {
  const ends: number[] = [];
  for (const { index, segment } of segmenter.segment(window)) ends.push(index + segment.length);
  return ends;
}
