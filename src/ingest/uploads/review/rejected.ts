import { csvLine } from '../../../lib/formats/csv-cells.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { listCorrections } from '../corrections/correction-store.ts';
import { type Correction, maxCorrections } from '../corrections/types.ts';
import { definitionOfUpload } from '../platforms/service.ts';
import {
  areRejectedRecords,
  correctionHeader,
  type Declared,
  declaringHeader,
  isAddedHeader,
  rejectionHeaders,
} from '../reports/lines/rejected-rows.ts';
import { type PlatformProfile, profileOf } from '../reports/profile.ts';
import { amountFields, type FieldColumn, type MappedColumns, type ReportField } from '../reports/types.ts';
import { type DecimalMark, shiftDecimal } from '../reports/values/numbers.ts';
import { listRefusedRows } from '../staging/store.ts';
import type { StagedRow, Upload } from '../types.ts';

const pageRows = 1_000;

/**
 * The refused rows as CSV: the columns of the file, how it was read, and the reason. No platform has columns with these
 * extra names, so the corrected file can be uploaded as it is, and is read like the first one.
 */
export async function* writeRejected(db: Database, upload: Upload): AsyncGenerator<Buffer> {
  const corrections = await db.tenant(upload.tenantId, (tx) =>
    listCorrections(tx, { ...upload, limit: maxCorrections }),
  );
  const sheet = sheetOf(upload, {
    corrections,
    profile: profileOf(await definitionOfUpload(db, upload)),
  });
  const { columns, added } = sheet;
  yield Buffer.from(`\uFEFF${csvLine([...columns.headers, ...added, rejectionHeaders[columns.format]])}`);
  let afterRow = -1;
  for (;;) {
    const rows = await db.tenant(upload.tenantId, (tx) =>
      listRefusedRows(tx, { ...upload, afterRow, limit: pageRows }),
    );
    const lines = rows.map((row) => csvLine(cellsOf(row, sheet)));
    if (lines.length > 0) yield Buffer.from(lines.join(''));
    if (rows.length < pageRows) return;
    afterRow = rows.at(-1)?.rowIndex ?? afterRow;
  }
}

interface Sheet {
  columns: MappedColumns;
  /** Columns between those of the file and the reason. Only their headers matter. */
  added: string[];
  decimalMark: DecimalMark | null;
  /** What people corrected in rows that are refused all the same, by row. */
  corrected: ReadonlyMap<number, string>;
}

function sheetOf(
  upload: Upload,
  { corrections, profile }: { corrections: readonly Correction[]; profile: PlatformProfile },
): Sheet {
  const columns = columnsOf(upload, profile);
  // Older uploads did not record it, and a file without known columns was not read.
  const read = upload.layout?.conventions as Partial<Declared> | null | undefined;
  // JSON always has the decimal point.
  const decimalMark = columns.format === 'json' ? null : (read?.decimalMark ?? null);
  const header = declaringHeader({ decimalMark, dateOrder: read?.dateOrder ?? null });
  const corrected = correctedWords(corrections);
  const added = [...(header === null ? [] : [header]), ...(corrected.size === 0 ? [] : [correctionHeader])];
  return { columns, added, decimalMark, corrected };
}

function correctedWords(corrections: readonly Correction[]): Map<number, string> {
  const words = new Map<number, string>();
  for (const { rowIndex, header, oldValue, newValue } of corrections) {
    const change = `${header}: ${JSON.stringify(oldValue)} → ${JSON.stringify(newValue)}`;
    words.set(rowIndex, [words.get(rowIndex) ?? [], change].flat().join('; '));
  }
  return words;
}

/** The file's columns with repeated names numbered, without the reason column of an earlier round. */
function columnsOf({ layout, mapping }: Upload, profile: PlatformProfile): MappedColumns {
  const given = Array.isArray(layout?.headers) ? (layout.headers as string[]) : [];
  const seen = new Map<string, number>();
  const headers = given.map((header) => {
    const count = (seen.get(header) ?? 0) + 1;
    seen.set(header, count);
    return count === 1 ? header : `${header} (${count})`;
  });
  const format = layout?.format === 'json' || areRejectedRecords(headers) ? 'json' : 'delimited';
  const kept = headers.filter((header) => !isAddedHeader(header));
  return profile.mapHeaders(kept, { mapping, format });
}

function cellsOf(row: StagedRow, sheet: Sheet): string[] {
  const { columns, added } = sheet;
  const blank = added.map((name) =>
    name === correctionHeader ? (sheet.corrected.get(row.rowIndex) ?? '') : '',
  );
  if (row.validationStatus !== 'invalid') return [...factCells(row, sheet), ...blank, reasonOf(row)];
  const cells = columns.headers.map((header) =>
    textOf(Object.hasOwn(row.rawData, header) ? row.rawData[header] : null),
  );
  // Cells beyond the header go after the reason: the row still has too many cells until somebody corrects it.
  return [...cells, ...blank, reasonOf(row), ...cellsBeyond(row)];
}

function cellsBeyond({ rawData }: StagedRow): string[] {
  const numbers = Object.keys(rawData).map((name) => Number(/^\(column (\d+)\)$/.exec(name)?.[1] ?? 0));
  return numbers
    .filter((number) => number > 0)
    .sort((a, b) => a - b)
    .map((number) => textOf(rawData[`(column ${number})`]));
}

/**
 * A row that only promotion refused was normalized before. Its values go back under the headers that they came from, in
 * the notation of the file.
 */
function factCells({ rawData }: StagedRow, { columns, decimalMark }: Sheet): string[] {
  const cells = columns.headers.map(() => '');
  for (const [field, [column]] of Object.entries(columns.fields) as [ReportField, FieldColumn[]][]) {
    if (column === undefined) continue;
    const value = writtenValue(rawData, field, column);
    const hasComma = decimalMark === ',' && amounts.includes(field);
    cells[column.index] = hasComma ? value.replace('.', ',') : value;
  }
  const dimensions = (rawData.dimensions ?? {}) as Record<string, string>;
  for (const { index, header } of columns.unmapped) cells[index] = dimensions[header.trim()] ?? '';
  return cells;
}

const amounts: readonly ReportField[] = amountFields;

function writtenValue(rawData: StagedRow['rawData'], field: ReportField, { unit }: FieldColumn): string {
  const level = /^(campaign|ad_set|ad)_(id|name)$/.exec(field);
  if (level !== null) return entityText(textOf(rawData[`${level[1]}_external_id`]), level[2]);
  if (field === 'period_end') return textOf(rawData.date_to ?? rawData.metric_date);
  const value = textOf(rawData[field === 'period_start' ? 'metric_date' : field]);
  return unit === 'micros' && value !== '' ? shiftDecimal(value, 6) : value;
}

/** `name:["Campaign","Ad set"]` stands for names. For an entity with an id, production has the name already. */
function entityText(externalId: string, part: string | undefined): string {
  const path = externalId.startsWith('name:') ? (JSON.parse(externalId.slice(5)) as string[]) : null;
  if (part === 'id') return path === null ? externalId : '';
  return path?.at(-1) ?? '';
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}

function reasonOf({ validationErrors, promotionError }: StagedRow): string {
  if (promotionError) return promotionError.message;
  return (validationErrors ?? []).map(({ field, message }) => `${field}: ${message}`).join('; ');
}
