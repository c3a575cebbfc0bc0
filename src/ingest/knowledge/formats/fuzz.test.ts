import { afterAll, expect, test } from 'vitest';
import { type SeededRandom, seededRandom } from '../../../../test/chaos/seeded-random.ts';
import {
  bulletAndNumberLists,
  docxDocument,
  germanStyles,
  listed,
  paragraph,
  styled,
  table,
} from '../../../../test/generators/docx-document.ts';
import { pdfDocument } from '../../../../test/generators/pdf-document.ts';
import { mutate } from '../../../../test/generators/reader-fuzz.ts';
import { DocumentReader } from './document-reader.ts';
import { documentErrors } from './errors.ts';
import { readDocument } from './read-document.ts';

const reader = new DocumentReader();
afterAll(() => reader.close());

const body = [
  paragraph('Gates', styled('berschrift1')),
  paragraph('one', listed(1)),
  paragraph('two', listed(2, 1)),
  table([['Name', 'Height']]),
].join('');

const page = `<!doctype html><html><head><title>T</title><meta charset="utf-8"></head><body><article><h1>Locks</h1>
  ${'<p>Some words, and some <b>more</b> words of a longer paragraph.</p>'.repeat(12)}<ul><li>a<ul><li>b</ul></ul>
  <table><tr><th>x<td>y</table><pre>code</pre><blockquote>q</blockquote></article></body></html>`;

const seeds: Record<string, Buffer[]> = {
  pdf: [
    pdfDocument({ pages: [['Some words', { text: 'Head', size: 20 }], ['More']], title: 'T' }),
    pdfDocument({ pages: [['Some words'], [], ['More']], isCompressed: true }),
    pdfDocument({ pages: [['Some words']], isEncrypted: true }),
  ],
  docx: [docxDocument({ body, styles: germanStyles, numbering: bulletAndNumberLists, title: 'T' })],
  html: [Buffer.from(page), Buffer.from(`\ufeff${page}`, 'utf16le')],
  vtt: [Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Water <i>flows</i>\n\nNOTE x\n')],
};

/** Damage to an archive hardly ever gets past its checksums and sizes. */
function damagedInside(random: SeededRandom): Buffer {
  const xml = `<w:document xmlns:w="w"><w:body>${body}${paragraph('words '.repeat(100))}</w:body></w:document>`;
  return docxDocument({
    body,
    parts: { 'word/document.xml': mutate(Buffer.from(xml), random).toString('latin1') },
  });
}

const expected = new Set(Object.keys(documentErrors.definitions));
expected.delete('document_reader_failed');

test.each(Object.keys(seeds))(
  'damaged %s documents are answered: with text, or with what is wrong',
  async (kind) => {
    const { signal } = new AbortController();
    const counts = { text: 0, empty: 0, error: 0 };
    for (let seed = 1; seed <= 150; seed += 1) {
      const random = seededRandom(seed);
      const document = mutate(random.pick(seeds[kind] ?? []) ?? Buffer.alloc(0), random);
      const bytes = kind === 'docx' && seed % 2 === 0 ? damagedInside(random) : document;
      const result = await readDocument({ bytes, name: `a.${kind}` }, { signal, reader });
      counts[result.kind] += 1;
      if (result.kind === 'error')
        expect([...expected], `seed ${seed}: ${result.message}`).toContain(result.code);
      if (result.kind !== 'text') continue;
      for (const value of [result.text, result.title, ...result.notes]) {
        expect(value.includes('\0'), `seed ${seed}`).toBe(false);
        expect(Buffer.from(value).toString() === value, `seed ${seed}`).toBe(true);
      }
    }
    // A fuzz whose documents are all alike proves nothing.
    expect(counts.text, JSON.stringify(counts)).toBeGreaterThan(5);
  },
  120_000,
);

test('damage that the reader of PDFs tells by a promise that nobody holds does not cost its thread', async () => {
  const { signal } = new AbortController();
  const documents = [
    pdfDocument({ pages: [['Some words'], ['More']], title: 'T' }),
    pdfDocument({ pages: [['Some words'], [], ['More']], isCompressed: true }),
  ];
  for (const seed of [1308, 1320, 1495, 1709, 1717]) {
    const random = seededRandom(seed);
    const once = mutate(random.pick(documents) ?? Buffer.alloc(0), random);
    const result = await readDocument({ bytes: mutate(once, random), name: 'a.pdf' }, { signal, reader });
    expect(result, `seed ${seed}`).not.toMatchObject({ code: 'document_reader_failed' });
  }
});
