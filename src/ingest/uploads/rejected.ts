import { csvLine } from '../../kernel/formats/csv-cells.ts';
import type { Database } from '../../lib/db.ts';
import { shiftDecimal } from './reports/numbers.ts';
import { profileOf } from './reports/profile.ts';
import type { FieldColumn, MappedColumns } from './reports/profile-types.ts';
import { areRejectedRecords, isRejectionHeader, rejectionHeaders } from './reports/rejected-rows.ts';
import type { ReportField } from './reports/types.ts';
import { listRefusedRows } from './staging-store.ts';
import type { StagedRow, Upload } from './types.ts';

const pageRows = 1_000;

/**
 * The refused rows as CSV, with the columns of the file and the reason behind them. The extra column is one that no
 * platform has, so a corrected file can be uploaded as it is.
 */
export async function* writeRejected(db: Database, upload: Upload): AsyncGenerator<Buffer> {
  const columns = columnsOf(upload);
  yield Buffer.from(`\uFEFF${csvLine([...columns.headers, rejectionHeaders[columns.format]])}`);
  let afterRow = -1;
  for (;;) {
    const rows = await db.tenant(upload.tenantId, (tx) =>
      listRefusedRows(tx, { ...upload, afterRow, limit: pageRows }),
    );
    const lines = rows.map((row) => csvLine(cellsOf(row, columns)));
    if (lines.length > 0) yield Buffer.from(lines.join(''));
    if (rows.length < pageRows) return;
    afterRow = rows.at(-1)?.rowIndex ?? afterRow;
  }
}

/** The file's columns, doubled names told apart; the reasons of an earlier round make way for new ones. */
function columnsOf({ layout, mapping, platform }: Upload): MappedColumns {
  const given = Array.isArray(layout?.headers) ? (layout.headers as string[]) : [];
  const seen = new Map<string, number>();
  const headers = given.map((header) => {
    const count = (seen.get(header) ?? 0) + 1;
    seen.set(header, count);
    return count === 1 ? header : `${header} (${count})`;
  });
  const format = layout?.format === 'json' || areRejectedRecords(headers) ? 'json' : 'delimited';
  const kept = headers.filter((header) => !isRejectionHeader(header));
  return profileOf(platform).mapHeaders(kept, { mapping, format });
}

function cellsOf(row: StagedRow, columns: MappedColumns): string[] {
  if (row.validationStatus !== 'invalid') return [...factCells(row, columns), reasonOf(row)];
  const cells = columns.headers.map((header) => textOf(row.rawData[header]));
  // Behind the reason, where no header is: the row stays one with too many cells until somebody corrects it.
  return [...cells, reasonOf(row), ...cellsBeyond(row)];
}

function cellsBeyond({ rawData }: StagedRow): string[] {
  const numbers = Object.keys(rawData).map((name) => Number(/^\(column (\d+)\)$/.exec(name)?.[1] ?? 0));
  return numbers
    .filter((number) => number > 0)
    .sort((a, b) => a - b)
    .map((number) => textOf(rawData[`(column ${number})`]));
}

/** A row that only promotion refused was normalised before: its values go back under the headers they came from. */
function factCells({ rawData }: StagedRow, { headers, fields }: MappedColumns): string[] {
  const cells = headers.map(() => '');
  for (const [field, [column]] of Object.entries(fields) as [ReportField, FieldColumn[]][]) {
    if (column !== undefined) cells[column.index] = writtenValue(rawData, field, column);
  }
  return cells;
}

function writtenValue(rawData: StagedRow['rawData'], field: ReportField, { unit }: FieldColumn): string {
  const level = /^(campaign|ad_set|ad)_(id|name)$/.exec(field);
  if (level !== null) return entityText(textOf(rawData[`${level[1]}_external_id`]), level[2]);
  const isDay = field === 'period_start' || field === 'period_end';
  const value = textOf(rawData[isDay ? 'metric_date' : field]);
  return unit === 'micros' && value !== '' ? shiftDecimal(value, 6) : value;
}

/** `name:["Campaign","Ad set"]` stands for a name; of an entity with an id, production knows the name already. */
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
