import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { pdfDocument } from '../../../../../test/generators/pdf-document.ts';
import { readDocument } from '../read-document.ts';

const { signal } = new AbortController();
const tesseract = { command: 'tesseract', languages: 'eng' };
const fixture = new URL('../../../../../test/fixtures/documents/scan.png', import.meta.url).pathname;

const read = (name: string, bytes: Buffer, ocr: typeof tesseract | null = tesseract) =>
  readDocument({ name, bytes }, { signal, limits: { ocr } });

async function scannedPdf(pages: string[][]) {
  const image = sharp(fixture).grayscale();
  const { data: jpeg, info } = await image.jpeg({ quality: 90 }).toBuffer({ resolveWithObject: true });
  return pdfDocument({ pages, scan: { jpeg, width: info.width, height: info.height } });
}

describe('text recognition', () => {
  test('reads an image, whatever its format and its name', async () => {
    for (const format of ['png', 'jpeg', 'webp', 'tiff'] as const) {
      const bytes = await sharp(fixture).toFormat(format).toBuffer();
      expect(await read('no-ending', bytes), format).toMatchObject({
        kind: 'text',
        text: expect.stringContaining('The pump is oiled every week'),
        notes: [expect.stringContaining('may have mistakes')],
        metadata: { format: 'image' },
      });
    }
  });

  test('reads the pages of a PDF that are images, each on its page', async () => {
    const found = await read('a.pdf', await scannedPdf([['A page with text.'], []]));
    if (found.kind !== 'text') throw new Error(JSON.stringify(found));
    expect(found.text).toMatch(/^A page with text\.\n\n.*The pump is oiled every week/s);
    expect(found.pageStarts).toEqual([0, 17]);
    expect(found.notes).toEqual([expect.stringContaining('images of pages 2')]);
  });

  test('that is off or missing is said of the document, and pages with text are read all the same', async () => {
    const missing = { command: '/nowhere/tesseract', languages: 'eng' };
    const png = await sharp(fixture).png().toBuffer();
    for (const ocr of [null, missing]) {
      expect(await read('a.png', png, ocr)).toMatchObject({ kind: 'error', code: 'document_needs_ocr' });
      const mixed = await read('a.pdf', await scannedPdf([['A page with text.'], []]), ocr);
      expect(mixed).toMatchObject({ kind: 'text', notes: [expect.stringContaining('left out')] });
      const scan = await read('a.pdf', await scannedPdf([[]]), ocr);
      expect(scan).toMatchObject({ kind: 'error', code: 'pdf_has_no_text' });
    }
  });

  test('that is off is said of pages with images, and not of blank ones', async () => {
    const image = sharp(fixture).grayscale();
    const { data: jpeg, info } = await image.jpeg({ quality: 90 }).toBuffer({ resolveWithObject: true });
    const scan = { jpeg, width: info.width, height: info.height };
    const content = Buffer.from('q Q');
    const mixed = pdfDocument({ pages: [[], [], ['A page with text.']], scan, content });
    for (const ocr of [null, tesseract]) {
      const found = await read('a.pdf', mixed, ocr);
      expect(found).toMatchObject({ kind: 'text', notes: [expect.stringMatching(/(?:pages|off:) 2\b/)] });
    }
  });

  test('of an image that is broken or has no text gives a reason, and no crash', async () => {
    const png = await sharp(fixture).png().toBuffer();
    expect(await read('a.png', png.subarray(0, 60))).toMatchObject({
      kind: 'error',
      code: 'document_is_broken',
    });
    const blank = await sharp({ create: { width: 400, height: 400, channels: 3, background: 'white' } })
      .png()
      .toBuffer();
    expect(await read('a.png', blank)).toMatchObject({ kind: 'empty' });
    const other = { ...tesseract, languages: 'zzz' };
    expect(await read('a.png', png, other)).toMatchObject({ kind: 'error', code: 'document_ocr_failed' });
  });
});
