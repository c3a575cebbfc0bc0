import { messageOf } from '../../../../lib/errors.ts';
import { documentErrors } from '../errors.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import { Properties } from '../properties.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { type AllocationGuard, guardAllocations } from './allocation-guard.ts';
import { BodySize, blocksOf, linesOf, type PdfItem } from './lines.ts';
import { type PageImages, readScannedPage } from './scanned-page.ts';

type PdfReader = typeof import('unpdf');
type PdfDocument = Awaited<ReturnType<PdfReader['getDocumentProxy']>>;

const maxScanPixels = 60_000_000;

/** Loaded with the first PDF: the library takes 40 MB, and the guard must be installed first. */
let loaded: Promise<{ reader: PdfReader; guard: AllocationGuard }> | undefined;

/** Reads page by page and frees each page before the next. Only call it in a separate thread. */
export async function readPdf(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  loaded ??= load();
  const { reader, guard } = await loaded;
  // The reader takes the bytes over.
  const isScan = hasImages(bytes);
  const document = await open(reader, bytes, { ...options, guard });
  try {
    const images: PageImages = (page) => reader.extractImages(document, page);
    return await readPages(document, { ...options, guard, images, hasImages: () => isScan });
  } finally {
    await document.destroy();
  }
}

async function load() {
  const guard = guardAllocations();
  return { reader: await import('unpdf'), guard };
}

async function open(reader: PdfReader, bytes: Buffer, { guard, limits }: PageOptions): Promise<PdfDocument> {
  guard.restart(limits.maxInflatedBytes);
  try {
    return await reader.getDocumentProxy(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength), {
      verbosity: 0,
      isEvalSupported: false,
      useSystemFonts: false,
      disableFontFace: true,
      // Images are only decoded where they are all that a page has.
      maxImageSize: maxScanPixels,
      enableXfa: false,
    });
  } catch (error) {
    if ((error as Error).name === 'PasswordException') {
      throw documentErrors.raise.pdf_is_encrypted('The document is protected by a password', {
        cause: error,
      });
    }
    if (guard.isExceeded()) throw unfoldsTooFar('The document', limits.maxInflatedBytes);
    throw documentErrors.raise.pdf_is_broken(`The document cannot be opened: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

interface PageOptions extends ConvertOptions {
  guard: AllocationGuard;
}

async function readPages(
  document: PdfDocument,
  options: PageOptions & { hasImages(): boolean; images: PageImages },
): Promise<Converted> {
  const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
  const bodySize = new BodySize();
  const broken: number[] = [];
  const pageStarts: number[] = [];
  const recognised: number[] = [];
  const unread: number[] = [];
  for (let page = 1; page <= document.numPages; page += 1) {
    options.onProgress();
    pageStarts.push(writer.position);
    const { guard, limits } = options;
    guard.restart(limits.maxInflatedBytes);
    const items = await readPage(document, page);
    if (guard.isExceeded()) throw unfoldsTooFar(`Page ${page}`, limits.maxInflatedBytes);
    if (items === null) broken.push(page);
    else if (items.some(({ str }) => str.trim() !== '')) writePage(items, { writer, bodySize });
    else if (options.hasImages()) {
      const isRead = await readScannedPage(page, { ...options, writer, unread });
      if (isRead !== null) (isRead ? recognised : unread).push(page);
    }
    if (page % pagesPerCleaning === 0) await document.cleanup();
  }
  const isScan = writer.isEmpty() && options.hasImages();
  const notes = notesOn({ broken, recognised, unread });
  return { ...(await finish(document, { writer, broken, isScan, notes })), pageStarts };
}

function unfoldsTooFar(what: string, maxBytes: number) {
  return documentErrors.raise.document_unfolds_too_far(
    `${what} decompresses to more than ${maxBytes} bytes, which is the limit`,
  );
}

/** Fonts stay in memory until a cleanup. */
const pagesPerCleaning = 50;

/** Null if the page is broken; the others can still be read. */
async function readPage(document: PdfDocument, number: number): Promise<PdfItem[] | null> {
  try {
    const page = await document.getPage(number);
    try {
      const { items } = await page.getTextContent();
      return items.filter((item): item is typeof item & PdfItem => 'str' in item);
    } finally {
      page.cleanup();
    }
  } catch {
    return null;
  }
}

function writePage(items: PdfItem[], into: { writer: MarkdownWriter; bodySize: BodySize }): void {
  const lines = linesOf(items);
  into.bodySize.add(lines);
  for (const block of blocksOf(lines, into.bodySize.get())) {
    if (block.kind === 'heading') into.writer.heading(block.level, block.text);
    else if (block.kind === 'item') into.writer.listItem(block.text, { depth: 0, number: null });
    else if (block.kind !== 'table') into.writer.paragraph(block.text);
    else {
      into.writer.beginTable();
      for (const row of block.rows) into.writer.tableRow(row);
    }
  }
}

async function finish(
  document: PdfDocument,
  {
    writer,
    broken,
    isScan,
    notes,
  }: { writer: MarkdownWriter; broken: number[]; isScan: boolean; notes: string[] },
): Promise<Converted> {
  const pages = document.numPages;
  if (broken.length > pages / 2) {
    throw documentErrors.raise.pdf_is_broken(`${broken.length} of ${pages} pages cannot be read`);
  }
  writeFields(await fieldsOf(document), writer);
  if (writer.isEmpty()) {
    throw documentErrors.raise.pdf_has_no_text(
      isScan
        ? `None of the ${pages} pages has text, and there are images: the document is probably a scan`
        : `None of the ${pages} pages has text or images`,
    );
  }
  return { ...(await propertiesOf(document)), text: writer.toString(), notes };
}

function notesOn(pages: Record<'broken' | 'recognised' | 'unread', number[]>): string[] {
  const { broken, recognised, unread } = pages;
  const say = (some: number[], text: (named: string) => string) =>
    some.length > 0 ? [text(some.slice(0, 20).join(', '))] : [];
  return [
    ...say(broken, (named) => `Pages that cannot be read were left out: ${named}.`),
    ...say(
      recognised,
      (named) => `Text was recognised in the images of pages ${named}, and may have mistakes.`,
    ),
    ...say(
      unread,
      (named) => `Pages that are images were left out, because text recognition is off: ${named}.`,
    ),
  ];
}

interface Field {
  name: string;
  value: string;
}

const maxFields = 10_000;

/** What was filled into a form; its own text is that of the pages. */
async function fieldsOf(document: PdfDocument): Promise<Field[]> {
  try {
    const byName = (await document.getFieldObjects()) as Record<string, { value?: unknown }[]> | null;
    const fields = Object.entries(byName ?? {}).map(([name, parts]) => {
      const values = parts.map(({ value }) => value).filter((value) => typeof value === 'string');
      return { name, value: [...new Set(values)].join(' ').trim() };
    });
    return fields.filter(({ value }) => value !== '' && value !== 'Off').slice(0, maxFields);
  } catch {
    return [];
  }
}

function writeFields(fields: readonly Field[], writer: MarkdownWriter): void {
  for (const { name, value } of fields) writer.listItem(`${name}: ${value}`, { depth: 0, number: null });
}

/** The dictionaries of images are never compressed. Looking at pages instead would mean decoding their images. */
function hasImages(bytes: Buffer): boolean {
  return ['/Subtype /Image', '/Subtype/Image'].some((dictionary) => bytes.includes(dictionary, 0, 'latin1'));
}

/** Many programs write the file name into the title; such titles are ignored. */
async function propertiesOf(document: PdfDocument): Promise<Pick<Converted, 'title' | 'metadata'>> {
  try {
    const { info } = await document.getMetadata();
    const properties = new Properties();
    // The creator of a PDF is a program.
    const { Title, Creator: _, ...others } = info as Record<string, unknown>;
    for (const [name, value] of Object.entries(others)) properties.add(name, value);
    const title = String(Title ?? '').trim();
    const isFileName = /^untitled|^microsoft word - |\.(?:docx?|pdf|tex|indd|dvi)$/i.test(title);
    return { title: title === '' || isFileName ? null : title, metadata: properties.fields };
  } catch {
    return { title: null };
  }
}
