import { isSluiceError } from '../../../../lib/errors.ts';
import { type Archive, openArchive } from '../../../../lib/formats/archive.ts';
import { readXml, type XmlEvents } from '../../../../lib/formats/xml.ts';
import { documentErrors } from '../errors.ts';
import { leftOutNotes } from '../left-out.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import { Properties } from '../properties.ts';
import type { Converted, ConvertOptions, DocumentLimits } from '../types.ts';
import { DocxBody } from './body.ts';
import { DocxNumbering, DocxStyles } from './styles.ts';

/** Converts headings (by style), lists, tables, then notes and diagrams to Markdown. Only text parts are unpacked. */
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
    const names = archive.entries.map(({ name }) => name);
    const diagrams = names.filter((name) => /\/diagrams\/data\d*\.xml$/.test(name));
    for (const part of [`${folder}footnotes.xml`, `${folder}endnotes.xml`, ...diagrams]) {
      await read(part, new DocxBody({ writer, styles, numbering }));
    }
    const { title, metadata } = await readProperties(read);
    const left = await findLeftOut(names, { folder, read, maxUnits: options.limits.maxTextUnits });
    const notes = [...embeddedNotes(body.embedded), ...leftOutNotes(left)];
    return { title: title ?? body.title, text: writer.toString(), notes, metadata };
  } finally {
    archive.close();
  }
}

function embeddedNotes(embedded: number): string[] {
  if (embedded === 0) return [];
  const what = embedded === 1 ? 'An embedded document was' : `${embedded} embedded documents were`;
  return [`${what} left out (altChunk): open the file in Word and save it again to include its text.`];
}

/** What Word shows beside the text. A part of it that is broken does not keep anybody from reading the text. */
async function findLeftOut(
  names: readonly string[],
  { folder, read, maxUnits }: { folder: string; read: ReadPart; maxUnits: number },
): Promise<{ hasComments: boolean; margins: string[] }> {
  const textOf = async (part: string) => {
    const writer = new MarkdownWriter({ maxUnits });
    try {
      await read(part, new DocxBody({ writer, styles: new DocxStyles(), numbering: new DocxNumbering() }));
    } catch (error) {
      if (!isSluiceError(error) || error.code !== 'docx_is_broken') throw error;
    }
    return writer.toString();
  };
  const margins: string[] = [];
  for (const name of names) {
    if (name.startsWith(folder) && /\/(?:header|footer)\d*\.xml$/.test(name))
      margins.push(await textOf(name));
  }
  return { hasComments: (await textOf(`${folder}comments.xml`)) !== '', margins };
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
