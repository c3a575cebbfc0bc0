import type { Database } from '../../../lib/postgres/db.ts';
import { ExactNumber, type ExactValue } from '../../../lib/rows/exact-json.ts';
import { writeCsv } from '../../../lib/tables/csv-writer.ts';
import { type ParquetType, writeParquet } from '../../../lib/tables/parquet-writer.ts';
import type { TableRow } from '../../../lib/tables/types.ts';
import {
  type ExportedRow,
  type ExportPosition,
  type ExportQuery,
  exportColumns,
  listExported,
  listWorkspaceIds,
} from './export-store.ts';
import { type GroupChoice, readSummary } from './summary.ts';
import { type FigureFilter, type FigureGroup, summedFields } from './types.ts';

export const exportFormats = ['csv', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const batchRows = 5_000;
const groupsPerPage = 500;

const types = new Map<string, ParquetType>([
  ...['metric_date', 'date_from', 'date_to', 'first_day', 'last_day'].map((name) => [name, 'day'] as const),
  ...['impressions', 'clicks', 'link_clicks', 'reach', 'line', 'rows'].map(
    (name) => [name, 'count'] as const,
  ),
  ...['spend', 'conversions', 'conversion_value'].map((name) => [name, 'decimal'] as const),
]);

/** The stored rows, or their sums by group, as a file that is written while it is read. */
export function exportFigures(
  db: Database,
  filter: FigureFilter,
  { format, groups }: { format: ExportFormat; groups: GroupChoice | null },
): AsyncGenerator<Uint8Array> {
  const header = groups === null ? exportColumns(filter.kind).map(([name]) => name) : groupHeader;
  const batches = groups === null ? readRows(db, filter, header) : readGroups(db, filter, groups);
  return format === 'csv' ? writeCsv(batches, { header }) : writeParquet(batches, { header, types });
}

async function* readRows(
  db: Database,
  filter: FigureFilter,
  header: readonly string[],
): AsyncGenerator<TableRow[]> {
  const { tenantId } = filter;
  for (const workspaceId of await db.read(tenantId, (tx) => listWorkspaceIds(tx, filter))) {
    let after: ExportPosition | null = null;
    for (;;) {
      const query: ExportQuery = { ...filter, workspaceId, after, limit: batchRows };
      const rows: ExportedRow[] = await db.read(tenantId, (tx) => listExported(tx, query));
      const last = rows.at(-1);
      if (last === undefined) break;
      yield rows.map((row) => header.map((name) => cellOf(name, row[name] ?? null)));
      after = { date: last.position_date, id: Number(last.position_id) };
    }
  }
}

const groupHeader = [
  'key',
  'name',
  'external_id',
  'campaign_name',
  'ad_set_name',
  'first_day',
  'last_day',
  'rows',
  ...summedFields,
  'currency',
];

async function* readGroups(
  db: Database,
  filter: FigureFilter,
  groups: GroupChoice,
): AsyncGenerator<TableRow[]> {
  let after = null;
  do {
    const page = await readSummary(db, { ...filter, ...groups, after, limit: groupsPerPage });
    yield page.groups.map((group) => groupHeader.map((name) => cellOf(name, groupCell(group, name))));
    after = page.next;
  } while (after !== null);
}

const groupCells: Record<string, keyof FigureGroup> = {
  external_id: 'externalId',
  campaign_name: 'campaignName',
  ad_set_name: 'adSetName',
  first_day: 'dateFrom',
  last_day: 'dateTo',
};

function groupCell(group: FigureGroup, name: string): string | null {
  const value = group[groupCells[name] ?? (name as keyof FigureGroup)];
  return value === null ? null : String(value);
}

/** Numbers are written as such: as text, a negative one would be guarded like a formula. */
function cellOf(name: string, value: string | null): ExactValue {
  if (value === null) return null;
  const type = types.get(name) ?? 'text';
  return type === 'count' || type === 'decimal' ? new ExactNumber(value) : value;
}
