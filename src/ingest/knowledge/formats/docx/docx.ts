import { type Archive, openArchive } from '../../../../lib/formats/archive.ts';
import { readXml, type XmlEvents } from '../../../../lib/formats/xml.ts';
import { documentErrors } from '../errors.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import { Properties } from '../properties.ts';
import type { Converted, ConvertOptions, DocumentLimits } from '../types.ts';
import { DocxBody } from './body.ts';
import { DocxNumbering, DocxStyles } from './styles.ts';

/** Converts headings (by style), lists, tables, then foot- and endnotes to Markdown. Only text parts are unpacked. */
export async function readDocx(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const archive = await openDocxArchive(bytes, options.limits);
  try {
    const read = (part: string, events: XmlEvents) => readPart(archive, { part, events, options });
    const main = await findMainPart(read);
    const folder = main.slice(0, main.lastIndexOf('/') + 1);
    const styles = new DocxStyles();
    const numbering = new DocxNumbering();
    await read(`${folder}styles.xml`, styles.events());
    await read(`${folder}numbering.xml`, numbering.events());
    const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
    const body = new DocxBody({ writer, styles, numbering });
    if (!(await read(main, body)))
      throw documentErrors.raise.docx_is_broken(`The document has no part ${main}`);
    for (const part of ['footnotes', 'endnotes']) {
      await read(`${folder}${part}.xml`, new DocxBody({ writer, styles, numbering }));
    }
    const { title, metadata } = await readProperties(read);
    return { title: title ?? body.title, text: writer.toString(), notes: notesOn(body), metadata };
  } finally {
    archive.close();
  }
}

function notesOn({ embedded }: DocxBody): string[] {
  if (embedded === 0) return [];
  const what = embedded === 1 ? 'An embedded document was' : `${embedded} embedded documents were`;
  return [`${what} left out (altChunk): open the file in Word and save it again to include its text.`];
}

type ReadPart = (part: string, events: XmlEvents) => Promise<boolean>;

/** False if there is no such part. */
async function readPart(
  archive: Archive,
  { part, events, options }: { part: string; events: XmlEvents; options: ConvertOptions },
): Promise<boolean> {
  // Of two parts with one name Word reads the first.
  const entry = archive.find(part);
  if (entry === null) return false;
  await readDocxXml(archive.read(entry), { events, onProgress: options.onProgress });
  return true;
}

/** Usually `word/document.xml`; the relations of the archive decide. */
async function findMainPart(read: ReadPart): Promise<string> {
  let main = 'word/document.xml';
  await read('_rels/.rels', {
    open: (name, attribute) => {
      if (name !== 'Relationship' || !attribute('Type')?.endsWith('/officeDocument')) return;
      main = (attribute('Target') ?? main).replace(/^\/+/, '');
    },
    close: () => {},
  });
  return main;
}

async function readProperties(
  read: ReadPart,
): Promise<{ title: string | null; metadata: Record<string, unknown> }> {
  const properties = new Properties();
  let title = '';
  let value = '';
  await read('docProps/core.xml', {
    open: () => {
      value = '';
    },
    close: (name) => {
      if (name === 'title') title = value;
      else properties.add(name, value);
      value = '';
    },
    text: (text) => {
      if (value.length < 10_000) value += text;
    },
  });
  return { title: title.trim() === '' ? null : title, metadata: properties.fields };
}

/** Decompresses only requested parts, and all of them together up to the limit. */
function openDocxArchive(bytes: Buffer, limits: DocumentLimits): Promise<Archive> {
  const { docx_is_broken, docx_is_encrypted, document_unfolds_too_far } = documentErrors.raise;
  return openArchive(bytes, {
    limits: {
      maxEntries: limits.maxArchiveEntries,
      maxInflatedBytes: limits.maxInflatedBytes,
      maxRatio: limits.maxInflateRatio,
    },
    errors: {
      broken: (why, cause) => docx_is_broken(why, { cause }),
      encrypted: (why) => docx_is_encrypted(why),
      expandsTooFar: (why) => document_unfolds_too_far(why),
    },
  });
}

function readDocxXml(
  pieces: AsyncIterable<Buffer>,
  options: { events: XmlEvents; onProgress(): void },
): Promise<void> {
  const broken = (why: string) =>
    documentErrors.raise.docx_is_broken(`One of its parts is not valid XML: ${why}`);
  return readXml(pieces, { ...options, broken });
}
