import { describe, expect, test } from 'vitest';
import { type PdfSpec, pdfDocument } from '../../../../../test/generators/pdf-document.ts';
import { DocumentReader } from '../document-reader.ts';
import { readDocument } from '../read-document.ts';
import type { DocumentLimits } from '../types.ts';

const { signal } = new AbortController();
const read = (bytes: Buffer, limits: Partial<DocumentLimits> = {}, name = 'dir/report.pdf') =>
  readDocument({ bytes, name }, { signal, limits });

const codeOf = async (bytes: Buffer, limits: Partial<DocumentLimits> = {}) => {
  const result = await read(bytes, limits);
  return result.kind === 'error' ? result.code : `kind ${result.kind}`;
};

async function textOf(spec: PdfSpec): Promise<string> {
  const result = await read(pdfDocument(spec));
  if (result.kind !== 'text') throw new Error(`No text: ${JSON.stringify(result)}`);
  return result.text;
}

describe('a PDF document', () => {
  test('has its lines joined to paragraphs, headings by font size, and hyphenated words joined', async () => {
    const page = [
      { text: 'Of gates', size: 20 },
      'A sluice is a water chan-',
      'nel controlled at its head by a gate.',
      { text: 'It was built in 1842, and its walls are made of stone.', y: 620 },
      { text: 'Materials', size: 14, y: 580 },
      { text: 'Oak and iron. (And \\ stone.)', y: 560 },
    ];
    expect(await textOf({ pages: [page] })).toBe(
      [
        '# Of gates',
        'A sluice is a water channel controlled at its head by a gate.',
        'It was built in 1842, and its walls are made of stone.',
        '## Materials',
        'Oak and iron. (And \\ stone.)',
      ].join('\n\n'),
    );
  });

  test('has the items of its lists', async () => {
    // Byte 0x95 is a bullet in the encoding of the page.
    const page = [
      'They are made of',
      '\x95 oak that is',
      'tarred',
      '\x95 iron',
      { text: 'After them', y: 500 },
    ];
    expect(await textOf({ pages: [page] })).toBe(
      'They are made of\n\n- oak that is tarred\n- iron\n\nAfter them',
    );
  });

  test('has its tables as tables, also with an empty cell and a row of one', async () => {
    const row = (y: number, ...cells: string[]) =>
      cells.flatMap((text, at) => (text === '' ? [] : [{ text, x: 72 + at * 150, y }]));
    const page = [
      { text: 'The parts are these.', y: 740 },
      ...row(700, 'Part', 'Code', 'Price'),
      ...row(686, 'Seal', 'KX-4410', '19.99'),
      ...row(672, 'Hose', '', '7.50'),
      ...row(658, 'Valves'),
      ...row(644, 'Gate', 'V-1', '120.00'),
      { text: 'Prices are without tax, and everything that follows is prose again.', y: 600 },
    ];
    expect(await textOf({ pages: [page] })).toBe(
      [
        'The parts are these.',
        [
          '| Part | Code | Price |',
          '| --- | --- | --- |',
          '| Seal | KX-4410 | 19.99 |',
          '| Hose |  | 7.50 |',
          '| Valves |  |  |',
          '| Gate | V-1 | 120.00 |',
        ].join('\n'),
        'Prices are without tax, and everything that follows is prose again.',
      ].join('\n\n'),
    );
  });

  test('says where each page starts, also an empty one', async () => {
    const found = await read(pdfDocument({ pages: [['One page.'], [], ['Another page.']] }));
    if (found.kind !== 'text') throw new Error('no text');
    expect(found.pageStarts).toEqual([0, 9, 9]);
    expect(found.text.slice(9)).toBe('\n\nAnother page.');
  });

  test('gets its title from the document, unless that is a file name', async () => {
    const pages = [['Some words']];
    expect(await read(pdfDocument({ pages, title: 'On locks' }))).toMatchObject({
      kind: 'text',
      title: 'On locks',
      mediaType: 'application/pdf',
    });
    expect(await read(pdfDocument({ pages, title: 'Microsoft Word - x.docx' }))).toMatchObject({
      title: 'report',
    });
    expect(await read(pdfDocument({ pages }))).toMatchObject({ title: 'report' });
  });

  test('is detected by its bytes, even after the lines of a mail program', async () => {
    const bytes = pdfDocument({ pages: [['Some words']] });
    expect(await read(bytes, {}, 'without-ending')).toMatchObject({ text: 'Some words' });
    expect(await read(Buffer.concat([Buffer.from('From: x\n\n'), bytes]))).toMatchObject({
      text: 'Some words',
    });
  });

  test('a PDF document of 1,600 pages is read from the first to the last, in bounded memory', async () => {
    const reader = new DocumentReader({ heapMb: 64 });
    const pages = Array.from({ length: 1_600 }, (_, at) =>
      Array.from({ length: 30 }, (_, line) => `Page ${at + 1} line ${line + 1} has words of its own`),
    );
    const bytes = pdfDocument({ pages, isCompressed: true });
    const result = await readDocument({ bytes, name: 'book.pdf' }, { signal, reader });
    await reader.close();
    const text = result.kind === 'text' ? result.text : JSON.stringify(result);
    expect(text.startsWith('Page 1 line 1 has')).toBe(true);
    expect(text.endsWith('Page 1600 line 30 has words of its own')).toBe(true);
    expect(text.match(/has words of its own/g)).toHaveLength(48_000);
  }, 120_000);
});

describe('a PDF document that cannot be read', () => {
  const lines = [['Some words']];

  test('says whether it is broken, encrypted or a scan', async () => {
    expect(await codeOf(pdfDocument({ pages: lines, isEncrypted: true }))).toBe('pdf_is_encrypted');
    expect(await codeOf(Buffer.from('%PDF-1.7\nnothing of a document'))).toBe('pdf_is_broken');
    expect(await codeOf(pdfDocument({ pages: [[], []] }))).toBe('pdf_has_no_text');
    const blank = await read(pdfDocument({ pages: [[]] }));
    expect(blank).toMatchObject({ message: expect.not.stringContaining('scan') });
    const scan = await read(pdfDocument({ pages: [[]], title: 'x /Subtype /Image' }));
    expect(scan).toMatchObject({ message: expect.stringContaining('probably a scan') });
  });

  test('because a page decompresses too far does not use the memory for it', async () => {
    const content = Buffer.alloc(8 * 1024 * 1024, ' ');
    const bomb = pdfDocument({ pages: lines, isCompressed: true, content });
    expect(bomb.length).toBeLessThan(20_000);
    expect(await codeOf(bomb, { maxInflatedBytes: 1024 * 1024 })).toBe('document_unfolds_too_far');
    expect(await codeOf(bomb)).toBe('pdf_has_no_text');
    expect(await codeOf(pdfDocument({ pages: lines }), { maxInflatedBytes: 1024 * 1024 })).toBe('kind text');
  });

  test('has more text than the limit', async () => {
    const pages = [Array.from({ length: 40 }, () => 'many words')];
    expect(await codeOf(pdfDocument({ pages }), { maxTextUnits: 100 })).toBe('document_too_large');
  });
});
