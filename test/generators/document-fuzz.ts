import { DocumentReader } from '../../src/ingest/knowledge/formats/document-reader.ts';
import { documentErrors } from '../../src/ingest/knowledge/formats/errors.ts';
import { readDocument } from '../../src/ingest/knowledge/formats/read-document.ts';
import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import {
  bulletAndNumberLists,
  docxDocument,
  germanStyles,
  listed,
  paragraph,
  styled,
  table,
} from './docx-document.ts';
import { pdfDocument } from './pdf-document.ts';
import { type FuzzReport, mutate } from './reader-fuzz.ts';

const body = [
  paragraph('Gates', styled('berschrift1')),
  paragraph('one', listed(1)),
  paragraph('two', listed(2, 1)),
  table([['Name', 'Height']]),
].join('');

const page = `<!doctype html><html><head><title>T</title><meta charset="utf-8"></head><body><article><h1>Locks</h1>
  ${'<p>Some words, and some <b>more</b> words of a longer paragraph.</p>'.repeat(12)}<ul><li>a<ul><li>b</ul></ul>
  <table><tr><th>x<td>y</table><pre>code</pre><blockquote>q</blockquote></article></body></html>`;

const originals: Record<string, Buffer[]> = {
  pdf: [
    pdfDocument({ pages: [['Some words', { text: 'Head', size: 20 }], ['More']], title: 'T' }),
    pdfDocument({ pages: [['Some words'], [], ['More']], isCompressed: true }),
    pdfDocument({ pages: [['Some words']], isEncrypted: true }),
  ],
  docx: [docxDocument({ body, styles: germanStyles, numbering: bulletAndNumberLists, title: 'T' })],
  html: [Buffer.from(page), Buffer.from(`\ufeff${page}`, 'utf16le')],
  vtt: [Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Water <i>flows</i>\n\nNOTE x\n')],
};

/**
 * Reads damaged documents of every kind: each is answered with text that the database can store, or with what is
 * wrong with it. Throws at the first that is not.
 */
export async function fuzzDocuments(inputs: number, from: number): Promise<FuzzReport> {
  const report: FuzzReport = { inputs: 0, accepted: 0, refused: {} };
  const reader = new DocumentReader();
  try {
    for (let seed = from; seed < from + inputs; seed += 1) {
      const code = await readDamaged(reader, seed);
      report.inputs += 1;
      if (code === null) report.accepted += 1;
      else report.refused[code] = (report.refused[code] ?? 0) + 1;
    }
  } finally {
    await reader.close();
  }
  return report;
}

async function readDamaged(reader: DocumentReader, seed: number): Promise<string | null> {
  const random = seededRandom(seed);
  const kinds = Object.keys(originals);
  const kind = kinds[seed % kinds.length] ?? '';
  const bytes = kind === 'docx' && random.below(2) === 0 ? damagedInside(random) : damaged(kind, random);
  const { signal } = new AbortController();
  const result = await readDocument({ bytes, name: `a.${kind}` }, { signal, reader });
  if (result.kind === 'empty') return 'empty';
  if (result.kind === 'error') {
    const isForeseen = result.code in documentErrors.definitions && result.code !== 'document_reader_failed';
    if (!isForeseen) throw new Error(`${kind}, seed ${seed}: ${result.code}: ${result.message}`);
    return result.code;
  }
  for (const text of [result.text, result.title, ...result.notes]) {
    if (text.includes('\0') || Buffer.from(text).toString() !== text)
      throw new Error(`${kind}, seed ${seed}: the text cannot be stored`);
  }
  return null;
}

function damaged(kind: string, random: SeededRandom): Buffer {
  return mutate(random.pick(originals[kind] ?? []) ?? Buffer.alloc(0), random);
}

/** Most damage to an archive is caught by its checksums and sizes. */
function damagedInside(random: SeededRandom): Buffer {
  const xml = `<w:document xmlns:w="w"><w:body>${body}${paragraph('words '.repeat(100))}</w:body></w:document>`;
  return docxDocument({
    body,
    parts: { 'word/document.xml': mutate(Buffer.from(xml), random).toString('latin1') },
  });
}
