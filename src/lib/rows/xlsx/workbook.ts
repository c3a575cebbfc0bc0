import path from 'node:path/posix';
import type { SluiceError } from '../../errors.ts';
import type { Archive } from '../../formats/archive.ts';
import { readXml, type XmlEvents } from '../../formats/xml.ts';
import { detached } from '../../formats/xml-text.ts';
import { createTurns } from '../../timing/event-loop-turns.ts';
import { readerErrors } from '../errors.ts';
import type { ReaderLimits } from '../types.ts';
import { SharedStrings, SharedStringsPart } from './shared-strings.ts';
import { Styles } from './styles.ts';

/** No part of a workbook is nested deeper than a dozen elements. */
export const maxXmlDepth = 100;
const mostSheets = 10_000;

export interface Sheet {
  name: string;
  /** Where it is in the archive; null for sheets without cells, such as charts. */
  part: string | null;
  isHidden: boolean;
}

/** A workbook, opened up to its rows. */
export interface Workbook {
  sheets: readonly Sheet[];
  is1904: boolean;
  styles: Styles;
  strings: SharedStrings;
}

/** Reads everything of a workbook except its sheets. The caller closes the archive and the strings. */
export async function openWorkbook(
  archive: Archive,
  { limits, signal }: { limits: ReaderLimits; signal?: AbortSignal | undefined },
): Promise<Workbook> {
  const parts = new WorkbookParts(archive, signal);
  const main = await parts.findMain();
  const book = await parts.readBook(main);
  const relations = await parts.readRelations(main);
  const sheets = book.sheets.map(({ name, relation, isHidden }) => ({
    name,
    isHidden,
    part: relations.sheets.get(relation) ?? null,
  }));
  const styles = new Styles();
  await parts.read(relations.styles, styles);
  const strings = new SharedStrings();
  try {
    const events = new SharedStringsPart(strings, { maxUnits: limits.cellBytes });
    await parts.read(relations.strings, events, () => strings.flush());
    await strings.flush(true);
  } catch (error) {
    await strings.close();
    throw error;
  }
  return { sheets, is1904: book.is1904, styles, strings };
}

/** The error for an invalid part; `why` completes "its part … ". */
export function malformed(part: string, why: string): SluiceError {
  return readerErrors.raise.malformed_workbook(`The workbook is damaged: its part ${part} ${why}.`, {
    details: { part },
  });
}

interface Relations {
  sheets: Map<string, string>;
  styles: string;
  strings: string;
}

interface Book {
  sheets: { name: string; relation: string; isHidden: boolean }[];
  is1904: boolean;
}

class WorkbookParts {
  readonly #archive: Archive;
  readonly #signal: AbortSignal | undefined;
  readonly #takeTurn = createTurns();

  constructor(archive: Archive, signal: AbortSignal | undefined) {
    this.#archive = archive;
    this.#signal = signal;
  }

  /** False when there is no such part. */
  async read(part: string, events: XmlEvents, between?: () => Promise<void>): Promise<boolean> {
    const entry = this.#archive.find(part);
    if (entry === null) return false;
    await readXml(this.#archive.read(entry), {
      events,
      isStrict: true,
      maxDepth: maxXmlDepth,
      broken: (why) => malformed(part, `is not readable XML: ${why}`),
      onProgress: async () => {
        await between?.();
        await this.#takeTurn();
        this.#signal?.throwIfAborted();
      },
    });
    return true;
  }

  /** Nearly always `xl/workbook.xml`; the relations of the archive decide. */
  async findMain(): Promise<string> {
    let main = 'xl/workbook.xml';
    await this.read('_rels/.rels', {
      open: (name, attribute) => {
        if (name !== 'Relationship' || !attribute('Type')?.endsWith('/officeDocument')) return;
        main = (attribute('Target') ?? main).replace(/^\/+/, '');
      },
      close: () => {},
    });
    return main;
  }

  async readBook(main: string): Promise<Book> {
    const book: Book = { sheets: [], is1904: false };
    const isThere = await this.read(main, {
      open: (name, attribute) => {
        if (name === 'workbookPr') book.is1904 = /^(1|true)$/.test(attribute('date1904') ?? '');
        if (name !== 'sheet') return;
        if (book.sheets.length === mostSheets) throw malformed(main, `has more than ${mostSheets} sheets`);
        book.sheets.push({
          name: detached(attribute('name') ?? ''),
          relation: detached(attribute('id') ?? ''),
          isHidden: (attribute('state') ?? 'visible') !== 'visible',
        });
      },
      close: () => {},
    });
    if (isThere) return book;
    throw readerErrors.raise.malformed_workbook(`The workbook is damaged: it has no part ${main}.`, {
      details: { part: main },
    });
  }

  async readRelations(main: string): Promise<Relations> {
    const folder = path.dirname(main);
    // Some writers do not name these two; most readers then use the default places.
    const relations: Relations = {
      sheets: new Map(),
      styles: `${folder}/styles.xml`,
      strings: `${folder}/sharedStrings.xml`,
    };
    await this.read(`${folder}/_rels/${path.basename(main)}.rels`, {
      open: (name, attribute) => {
        const type = attribute('Type') ?? '';
        if (name !== 'Relationship' || attribute('TargetMode') === 'External') return;
        const part = resolve(folder, attribute('Target') ?? '');
        if (type.endsWith('/worksheet') && relations.sheets.size < mostSheets) {
          relations.sheets.set(detached(attribute('Id') ?? ''), part);
        }
        if (type.endsWith('/styles')) relations.styles = part;
        if (type.endsWith('/sharedStrings')) relations.strings = part;
      },
      close: () => {},
    });
    return relations;
  }
}

/** A target is relative to the folder of the part that names it, or to the archive when it begins with a slash. */
function resolve(folder: string, target: string): string {
  return detached(path.resolve('/', folder, target).slice(1));
}
