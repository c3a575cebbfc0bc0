import { Readable } from 'node:stream';
import { isSluiceError } from '../../../../lib/errors.ts';
import type { Spool } from '../../../../lib/formats/spool.ts';
import type { ReaderLimits, RowReader } from '../../../../lib/rows/types.ts';
import type { OpenWorkbook } from '../../../../lib/rows/xlsx/workbook-readers.ts';
import { profileOf } from '../../reports/profile.ts';
import { findHeaderRow } from '../../reports/reading/header.ts';
import { defaultReadingLimits } from '../../reports/reading/types.ts';
import type { UnfoldTask } from './types.ts';

export interface SheetTask {
  definition: UnfoldTask['definition'];
  fields: UnfoldTask['fields'];
  openWorkbook: OpenWorkbook;
  limits: ReaderLimits;
}

export interface ChosenSheet {
  name: string;
  /** Visible sheets that were not read. */
  others: string[];
  is1904: boolean;
  /** The whole sheet as CSV; closes the workbook at its end. */
  content: Readable;
}

const headRows = defaultReadingLimits.headerLines;
const headBytes = defaultReadingLimits.headBytes;
const rowsAtOnce = 2_000;
const bytesAtOnce = 1024 * 1024;
/** Every sheet is opened to look at its first rows; a report is among the first ones. */
const mostSheetsLookedAt = 20;
const mostSheetsNamed = 20;

/**
 * Opens the sheet that is the report. Meta puts a sheet for people before the one with the data, and people add notes:
 * of several visible sheets the first with a header that the platform's profile knows and rows below it is read, one
 * named "Raw Data Report" before others. The spool stays the caller's.
 */
export async function readSheet(spool: Spool, task: SheetTask): Promise<ChosenSheet> {
  const first = await open(spool, task, undefined);
  const { sheets } = first.layout;
  if (sheets.length < 2) return chosenSheet(first, sheets);
  await first.close();
  return chosenSheet(await open(spool, task, await choose(spool, task, sheets)), sheets);
}

function chosenSheet(reader: RowReader, sheets: readonly string[]): ChosenSheet {
  const name = reader.layout.sheet ?? '';
  return {
    name,
    others: sheets.filter((sheet) => sheet !== name).slice(0, mostSheetsNamed),
    is1904: reader.layout.is1904 === true,
    content: Readable.from(linesOf(reader)),
  };
}

function open(spool: Spool, { openWorkbook, limits }: SheetTask, sheet: string | undefined) {
  // Each reader closes the file that it gets; this one is used again.
  const lent: Spool = {
    sizeBytes: spool.sizeBytes,
    fd: spool.fd,
    release: () => spool.release(),
    close: async () => {},
  };
  return openWorkbook(lent, { sheet, limits, form: 'csv' });
}

async function choose(spool: Spool, task: SheetTask, sheets: readonly string[]): Promise<string | undefined> {
  let best: { name: string; points: number } | null = null;
  for (const name of sheets.slice(0, mostSheetsLookedAt)) {
    const reader = await open(spool, task, name);
    try {
      const points = pointsOf(await headOf(reader), name, task);
      if (best === null || points > best.points) best = { name, points };
    } finally {
      await reader.close();
    }
  }
  return best?.name;
}

async function headOf(reader: RowReader): Promise<string> {
  const rows = (await reader.read(headRows, headBytes)) ?? [];
  return rows.map(({ inputJson: line }) => `${line}\n`).join('');
}

const rawData =
  /raw data|rohdaten|données brutes|datos sin procesar|dados brutos|dati grezzi|生データ|原始数据/i;

/** How much a sheet looks like the report: empty, with text, with a known header, with rows below it. */
function pointsOf(text: string, name: string, { definition, fields: { mapping } }: SheetTask): number {
  if (text.trim() === '') return 0;
  const profile = profileOf(definition);
  try {
    const { end } = findHeaderRow(
      { text, isLast: true },
      {
        line: 1,
        encoding: 'utf-8',
        limits: defaultReadingLimits,
        findHeader: (lines) => profile.findHeader(lines, { mapping }),
      },
    );
    if (text.slice(end).trim() === '') return 2;
    return rawData.test(name) ? 4 : 3;
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return 1;
  }
}

/** A byte order mark makes the encoding certain. */
async function* linesOf(reader: RowReader): AsyncGenerator<Buffer> {
  try {
    yield Buffer.from('\uFEFF');
    for (;;) {
      const rows = await reader.read(rowsAtOnce, bytesAtOnce);
      if (rows === null) return;
      yield Buffer.from(rows.map(({ inputJson: line }) => `${line}\n`).join(''));
    }
  } finally {
    await reader.close();
  }
}
