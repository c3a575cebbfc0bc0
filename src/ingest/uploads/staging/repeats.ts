import type { Tx } from '../../../lib/postgres/db.ts';
import { noAdditive } from '../reconciliation/figure-sums.ts';
import type { ColumnKinds } from '../reports/dimensions/column-kinds.ts';
import { allWords } from '../reports/lines/totals.ts';
import { shortened } from '../reports/shown-text.ts';
import { type AdditiveFigures, additiveFields } from '../reports/types.ts';
import type { Blocker, UploadKey, WarningCount } from '../types.ts';
import {
  hasRepeats,
  leaveOutSubtotals,
  type RepeatFigures,
  readRepeats,
  recordRepeats,
  refuseContradictions,
  sumRepeats,
} from './repeats-store.ts';
import { subtotalsLeftOut } from './staging.ts';

/** What the lines of a file that share a key mean for it. */
export interface RepeatReport {
  hasRepeats: boolean;
  /** The columns that the report is broken down by. */
  dimensions: string[];
  warnings: WarningCount[];
  blockers: Blocker[];
  /** What identical lines would have added. */
  duplicates: AdditiveFigures;
  refusedRows: number;
}

/** Finds the lines that share a key, and decides which of them are added up, counted once or refused. */
export async function resolveRepeats(
  tx: Tx,
  upload: UploadKey,
  {
    kinds,
    validRows,
    summaries = 0,
  }: { kinds: ColumnKinds; validRows: number; summaries?: number | undefined },
): Promise<RepeatReport> {
  const known = Object.keys(kinds).filter((header) => kinds[header] === 'dimension');
  const none = { hasRepeats: false, warnings: [], blockers: [], duplicates: noAdditive, refusedRows: 0 };
  if (!(await hasRepeats(tx, upload))) return { ...none, dimensions: known.map((header) => header.trim()) };
  await recordRepeats(tx, upload);
  const subtotals = summaries === 0 ? 0 : await leaveOutSubtotals(tx, upload, allWords);
  await refuseContradictions(tx, upload);
  await sumRepeats(tx, upload);
  const figures = await readRepeats(tx, upload);
  const telling = Object.keys(figures.columns);
  const dimensions = [...new Set([...known.map((header) => header.trim()), ...telling])];
  return {
    hasRepeats: true,
    dimensions,
    warnings: [
      ...warningsOf(figures, telling),
      ...(subtotals === 0 ? [] : [{ ...subtotalsLeftOut, count: subtotals }]),
    ],
    blockers: blockersOf(figures, { kinds, validRows }),
    duplicates: Object.fromEntries(
      additiveFields.map((field) => [field, figures.duplicateSums[field] ?? null]),
    ) as AdditiveFigures,
    refusedRows: figures.refused,
  };
}

const maxHeaders = 5;
const listed = (headers: readonly string[]) =>
  headers
    .slice(0, maxHeaders)
    .map((header) => `"${shortened(header, 60)}"`)
    .join(', ') + (headers.length > maxHeaders ? ` and ${headers.length - maxHeaders} more` : '');

function warningsOf(figures: RepeatFigures, telling: string[]): WarningCount[] {
  const { addedLines, addedKeys, withoutReach, sameNames, duplicates } = figures;
  const by = telling.length === 0 ? '' : ` They differ in ${listed(telling)}.`;
  const warnings: WarningCount[] = [
    {
      code: 'lines_added_up',
      message:
        `Several lines are about the same day of the same campaign, ad set or ad: ${addedLines} lines were added up ` +
        `to ${addedKeys}.${by} Each line is kept as a breakdown.`,
      count: addedLines,
    },
    {
      code: 'reach_not_added',
      message:
        'Reach is left empty where lines were added up: a person who is counted on several lines would count ' +
        'several times. Each line’s own reach is kept in its breakdown.',
      count: withoutReach,
    },
    {
      code: 'same_names_added',
      message:
        'Lines with the same names and the same day were added up, because they may be about two campaigns, ad sets ' +
        'or ads of one name. Add the id columns to the report to tell them apart.',
      count: sameNames,
    },
    {
      code: 'identical_lines',
      message: 'Lines that are identical to an earlier line of the file were counted once.',
      count: duplicates,
    },
  ];
  return warnings.filter(({ count }) => count > 0);
}

/** Columns that look like a key and are not read: lines that differ in them would be taken for one. */
function blockersOf(
  { columns }: RepeatFigures,
  { kinds, validRows }: { kinds: ColumnKinds; validRows: number },
): Blocker[] {
  const keys = Object.keys(kinds).filter((header) => kinds[header] === 'key');
  return keys.flatMap((header) => {
    const lines = columns[header.trim()] ?? 0;
    if (lines === 0) return [];
    const message =
      `${lines} of ${validRows} lines would be added together because column "${shortened(header.trim(), 60)}" is ` +
      'not read. Map it to the field that it is, or leave it out to add the lines up.';
    return [{ code: 'key_column_unread', column: header.trim(), lines, message }];
  });
}
