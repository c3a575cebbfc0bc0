import fc from 'fast-check';
import type { CodePage } from '../../src/ingest/uploads/reports/reading/code-pages.ts';
import { openReport } from '../../src/ingest/uploads/reports/reading/open-report.ts';
import type {
  Encoding,
  HeaderFinder,
  ReadingLimits,
} from '../../src/ingest/uploads/reports/reading/types.ts';
import type { RawRow, ReportLayout, ResumePoint } from '../../src/ingest/uploads/reports/types.ts';
import { isSluiceError, SluiceError } from '../../src/lib/errors.ts';
import { cutAt } from './byte-stream.ts';

export interface ReadOptions {
  limits?: Partial<ReadingLimits>;
  /** Where the bytes of the file are cut on their way in. */
  cuts?: readonly number[];
  batchRows?: number;
  resume?: ResumePoint | undefined;
  findHeader?: HeaderFinder;
}

export interface ReadReport {
  layout: ReportLayout;
  rows: RawRow[];
  batchSizes: number[];
  resumes: ResumePoint[];
}

/** The line with a cell "Day" is the header, as a platform that knows one column would say. */
export const dayHeader: HeaderFinder = (candidates) => {
  const at = candidates.findIndex((cells) => cells.includes('Day'));
  if (at !== -1) return { at };
  const definition = { kind: 'invalid', status: 422, title: 'No header', next: 'Add one.' } as const;
  return { fails: new SluiceError('no_header', definition, `No header in ${JSON.stringify(candidates)}`) };
};

/** Reads a whole report, and keeps every place that it could be resumed at. */
export async function readReport(file: string | Buffer, options: ReadOptions = {}): Promise<ReadReport> {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file;
  const { cuts = [], batchRows = 1_000, limits, resume, findHeader = dayHeader } = options;
  const open = (from: number) =>
    cutAt(
      bytes.subarray(from),
      cuts.map((cut) => cut - from),
    );
  const reader = await openReport(open, { limits, resume, findHeader });
  const report: ReadReport = { layout: reader.layout, rows: [], batchSizes: [], resumes: [] };
  for await (const batch of reader.batches(batchRows)) {
    report.rows.push(...batch.rows);
    report.batchSizes.push(batch.rows.length);
    if (batch.resume !== null) report.resumes.push(batch.resume);
  }
  return report;
}

/** The error that a report is refused with; fails when it is read after all. */
export async function reportRefusal(file: string | Buffer, options: ReadOptions = {}): Promise<SluiceError> {
  try {
    await readReport(file, options);
  } catch (error) {
    if (isSluiceError(error)) return error;
    throw error;
  }
  throw new Error('The report was read, but should have been refused');
}

/** The rows as objects from header to cell, which is how a test wants to see them. */
export function recordsOf({ layout, rows }: ReadReport): Record<string, string>[] {
  return rows.map(({ cells }) =>
    Object.fromEntries(layout.headers.map((header, at) => [header, cells[at] ?? ''])),
  );
}

const latin = 'éèàçñößÄÖÜ€’“”–';
const japanese = 'キャンペーン広告セット名表示回数消化金額円、。ソ十表ー';

/** Without those that only the names of columns tell apart. */
type Provable = Exclude<Encoding, CodePage>;

/** What the encodings are proved with, and a title that leaves no doubt which of them it is. */
const alphabets: Record<Provable, { letters: string; title: string; bom: boolean }> = {
  'utf-8': { letters: `${latin}${japanese}😀𠮷`, title: 'Ünïcode レポート', bom: false },
  'utf-16le': { letters: `${latin}${japanese}😀𠮷`, title: 'Ünïcode レポート', bom: true },
  'utf-16be': { letters: `${latin}${japanese}😀𠮷`, title: 'Ünïcode レポート', bom: true },
  shift_jis: { letters: japanese, title: 'これは日本語の広告レポートです。'.repeat(4), bom: false },
  'windows-1252': { letters: latin, title: 'Éte à la plage, größer, año, coração. '.repeat(8), bom: false },
};

export interface ReportDocument {
  bytes: Buffer;
  encoding: Encoding;
  delimiter: string;
  title: string;
  headers: string[];
  rows: string[][];
}

export const reportDocument: fc.Arbitrary<ReportDocument> = fc
  .constantFrom(...(Object.keys(alphabets) as Provable[]))
  .chain((encoding) => {
    const letters = [...alphabets[encoding].letters, ...'ab1 \t,;|"\n\r'];
    const cell = fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map((parts) => parts.join(''));
    return fc.record({
      encoding: fc.constant(encoding),
      delimiter: fc.constantFrom(',', ';', '\t', '|'),
      lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
      endsWithBreak: fc.boolean(),
      hasBom: fc.boolean(),
      blankLines: fc.nat({ max: 2 }),
      rows: fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 12 }),
    });
  })
  .map(({ encoding, delimiter, lineBreak, endsWithBreak, hasBom, blankLines, rows }) => {
    const { title, bom } = alphabets[encoding];
    const headers = ['Day', 'name', 'name'];
    const write = (cells: string[]) => cells.map(writeCell).join(delimiter);
    // A day in front keeps a row of empty cells from being a blank line.
    const dated = rows.map(([, ...rest], at) => [`2026-03-${10 + at}`, ...rest]);
    const lines = [
      writeCell(title),
      ...Array<string>(blankLines).fill(''),
      ...[headers, ...dated].map(write),
    ];
    const text = lines.join(lineBreak) + (endsWithBreak ? lineBreak : '');
    const hasMark = bom || (hasBom && encoding === 'utf-8');
    const bytes = encodeAs(hasMark ? `\ufeff${text}` : text, encoding);
    return { bytes, encoding, delimiter, title, headers, rows: dated };
  });

function writeCell(cell: string): string {
  return /[",;|\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export function encodeAs(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  const table = encoding === 'windows-1252' ? windows1252Table() : tableOf(encoding);
  return Buffer.concat(
    [...text].map((character) => {
      const bytes = character < '\u0080' ? Buffer.from(character) : table.get(character);
      if (bytes === undefined) throw new Error(`${encoding} has no ${JSON.stringify(character)}`);
      return bytes;
    }),
  );
}

const tables = new Map<string, Map<string, Buffer>>();

/** The encoder that Node lacks, made by asking its decoder about every byte and every pair. */
function tableOf(encoding: Encoding): Map<string, Buffer> {
  const known = tables.get(encoding);
  if (known !== undefined) return known;
  const table = new Map<string, Buffer>();
  const decoder = new TextDecoder(encoding);
  for (let first = 0x80; first < 0x100; first += 1) {
    for (let second = 0x3f; second < 0x100; second += 1) {
      const bytes = Buffer.from(second === 0x3f ? [first] : [first, second]);
      const text = decoder.decode(bytes);
      if (text.length === 1 && text !== '\ufffd' && !table.has(text)) table.set(text, bytes);
    }
  }
  tables.set(encoding, table);
  return table;
}

/** Written down, because the decoder of some Node releases knows Windows-1252 only as Latin-1. */
const windows1252Specials = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

function windows1252Table(): Map<string, Buffer> {
  const table = new Map<string, Buffer>();
  for (const [at, character] of [...windows1252Specials].entries())
    table.set(character, Buffer.from([0x80 + at]));
  for (let byte = 0xa0; byte < 0x100; byte += 1) table.set(String.fromCharCode(byte), Buffer.from([byte]));
  return table;
}
