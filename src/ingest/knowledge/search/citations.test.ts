import { describe, expect, test } from 'vitest';
import { pagesOf } from '../chunkers/pages.ts';
import { rangesOf } from './highlights.ts';
import { joinNeighbours, type ScoredChunk } from './neighbours.ts';
import { linkOf } from './passage-link.ts';

function chunk(ordinal: number, score: number, more: Partial<ScoredChunk> = {}): ScoredChunk {
  return {
    chunkId: ordinal,
    documentId: 'd',
    uri: 'file:d.md',
    title: 'd',
    metadata: {},
    mediaType: null,
    headingPath: [],
    text: `Text ${ordinal}.`,
    startAt: ordinal * 10,
    endAt: ordinal * 10 + 7,
    ordinal,
    pageFrom: null,
    pageTo: null,
    alsoIn: [],
    score,
    ...more,
  };
}

const joined = (chunks: ScoredChunk[]) =>
  joinNeighbours(chunks, { merges: true }).map(({ chunks: own }) => own.map(({ ordinal }) => ordinal));

describe('neighbouring chunks', () => {
  test('become one passage in the order of the document, with the score of the best', () => {
    const [passage, other] = joinNeighbours([chunk(4, 0.9), chunk(9, 0.8), chunk(3, 0.7), chunk(5, 0.6)], {
      merges: true,
    });
    expect(passage?.text).toBe('Text 3.\n\nText 4.\n\nText 5.');
    expect(passage?.best.score).toBe(0.9);
    expect(other?.text).toBe('Text 9.');
  });

  test('stay apart in different documents, if one is far worse, and beyond four', () => {
    expect(joined([chunk(1, 0.9), chunk(2, 0.8, { documentId: 'e' })])).toEqual([[1], [2]]);
    expect(joined([chunk(1, 0.9), chunk(2, 0.3)])).toEqual([[1], [2]]);
    expect(joined([1, 2, 3, 4, 5].map((at) => chunk(at, 0.9)))).toEqual([[1, 2, 3, 4], [5]]);
    expect(joinNeighbours([chunk(1, 1), chunk(2, 1)], { merges: false })).toHaveLength(2);
  });

  test('that overlap show their common words once, and sentences of one paragraph stay on one line', () => {
    const windows = [
      chunk(1, 1, { text: 'one two three', startAt: 0, endAt: 13 }),
      chunk(2, 1, { text: 'three four', startAt: 8, endAt: 18 }),
      chunk(3, 1, { text: 'Five.', startAt: 19, endAt: 24 }),
      chunk(4, 1, { text: '- six', startAt: 25, endAt: 30 }),
    ];
    expect(joinNeighbours(windows, { merges: true })[0]?.text).toBe('one two three four Five.\n- six');
  });
});

describe('pages', () => {
  test('are those that a passage is on, counted from one', () => {
    const starts = [0, 100, 200, 200, 300];
    expect(pagesOf({ start: 0, end: 100 }, starts)).toEqual({ from: 1, to: 1 });
    expect(pagesOf({ start: 90, end: 110 }, starts)).toEqual({ from: 1, to: 2 });
    expect(pagesOf({ start: 202, end: 301 }, starts)).toEqual({ from: 4, to: 5 });
    expect(pagesOf({ start: 0, end: 9 }, [])).toBeNull();
  });
});

describe('the link of a passage', () => {
  const place = {
    kbId: 'k b',
    documentId: 'd1',
    start: 7,
    page: null,
    mediaType: 'text/html',
    address: undefined,
  };

  test('leads to the sentence of a web page, without the marks of Markdown', () => {
    const text = '| a | b |\n## Oil [the pump](x.html), well-made: **every** two weeks or more often';
    expect(linkOf({ ...place, uri: 'https://e.org/a', text })).toBe(
      'https://e.org/a#:~:text=Oil%20the%20pump%2C%20well%2Dmade%3A%20every%20two%20weeks%20or',
    );
    expect(linkOf({ ...place, uri: 'https://e.org/a#b', text: 'One two three' })).toBe(
      'https://e.org/a#b:~:text=One%20two%20three',
    );
  });

  test('leads to the page of a PDF on the web, and to the console for everything else', () => {
    const pdf = {
      ...place,
      uri: 'https://e.org/a.pdf#x',
      text: 'One two three',
      mediaType: 'application/pdf',
    };
    expect(linkOf({ ...pdf, page: 12 })).toBe('https://e.org/a.pdf#page=12');
    const given = { ...pdf, uri: 'git:a.pdf', page: 12, address: 'https://e.org/r/a.pdf' };
    expect(linkOf(given)).toBe('https://e.org/r/a.pdf#page=12');
    expect(linkOf({ ...given, address: 'javascript:alert(1)' })).toMatch(/^\/knowledge\//);
    expect(linkOf({ ...pdf, uri: 'file:a.pdf', page: 12 })).toBe('/knowledge/k%20b?document=d1&at=7');
  });
});

test('highlights are whole words, wherever they are', () => {
  const text = 'Oiling: oil the KX-4410 (C++), not the soil.';
  const shown = rangesOf(text, ['Oiling', 'oil', 'KX-4410', 'C++']).map(({ start, end }) =>
    text.slice(start, end),
  );
  expect(shown).toEqual(['Oiling', 'oil', 'KX-4410', 'C++']);
});
