import { docxDocument, paragraph } from '../generators/docx-document.ts';
import { pdfDocument } from '../generators/pdf-document.ts';

const mebibyte = 1024 * 1024;
/** Most are smaller in `npm test`: less is enough to see a blocked thread. */
const isFull = process.env.SLUICE_CHAOS === 'full';
const words = 'the keeper of the lock lets the barges through one by one and writes each of them down';

/** Documents that are large or dirty enough to keep a thread busy for seconds, by their names. */
export const hostileDocuments: Record<string, () => Buffer> = {
  'book.pdf': () => {
    const line = (page: number, at: number) => `Page ${page + 1} line ${at + 1} has words of its own`;
    const pages = Array.from({ length: 1_600 }, (_, page) =>
      Array.from({ length: 30 }, (_, at) => line(page, at)),
    );
    return pdfDocument({ pages, isCompressed: true });
  },
  'one-line.txt': () => numbered((isFull ? 20 : 3) * mebibyte, (at) => `${at} ${words} `),
  'one-word.txt': () => Buffer.alloc((isFull ? 4 : 1) * mebibyte, 'a'),
  'nul.txt': () => numbered((isFull ? 4 : 1) * mebibyte, (at) => `${at} \0\0${words}\0\n`),
  'beyond-ascii.md': () =>
    numbered((isFull ? 6 : 0.5) * mebibyte, (at) => `## § ${at}\n\n„${words}“ – 水門 ${at}。\n\n`),
  'no-paragraphs.md': () => numbered((isFull ? 2 : 1) * mebibyte, (at) => `- [ ] ${at} ${words}\n`),
  'table.md': () =>
    Buffer.from(
      `| a | b |\n| --- | --- |\n${numbered((isFull ? 2 : 1) * mebibyte, (at) => `| ${at} | ${words} |\n`)}`,
    ),
  'letters.docx': () =>
    docxDocument({ body: Array.from({ length: 15_000 }, (_, at) => paragraph(`${at} ${words}`)).join('') }),
  'page.html': () => {
    const body = numbered(2 * mebibyte, (at) => `<p>${at} ${words}</p>\n`);
    return Buffer.from(`<!doctype html><title>A page</title><main><article>${body}</article></main>`);
  },
};

function numbered(sizeBytes: number, part: (at: number) => string): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0, size = 0; size < sizeBytes; at += 1) {
    const bytes = Buffer.from(part(at));
    parts.push(bytes);
    size += bytes.length;
  }
  return Buffer.concat(parts);
}
