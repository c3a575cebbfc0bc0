import type { LineContext, LineWarning, MappedColumns, MetricEntity } from '../types.ts';

/** What is checked about lines that can be read. Each may be switched off. */
export const plausibilityChecks = [
  'negative_spend',
  'clicks_above_impressions',
  'future_date',
  'row_cut_short',
  'days_missing',
  'spend_outlier',
] as const;
export type PlausibilityCheck = (typeof plausibilityChecks)[number];

/** The message of a kind of warning is that of the first line that has it, so it names the line. */
type Check = (
  row: { cellsGiven?: number; line: number },
  metric: MetricEntity,
  warnings: LineWarning[],
) => void;

/** Returns null when nothing is to be checked. The lines are accepted all the same. */
export function plausibilityReader({ headers, format }: MappedColumns, context: LineContext): Check | null {
  const { checks, today } = context.plausibility ?? { checks: [], today: '' };
  const has = (check: PlausibilityCheck) => checks.includes(check);
  const [isNegative, isAbove, isFuture] = [
    has('negative_spend'),
    has('clicks_above_impressions'),
    has('future_date'),
  ];
  const isShort = has('row_cut_short') && format === 'delimited';
  if (!isNegative && !isAbove && !isFuture && !isShort) return null;
  const width = headers.length;
  return ({ cellsGiven, line }, { spend, clicks, impressions, metricDate, dateTo }, warnings) => {
    if (isNegative && spend?.startsWith('-')) {
      warnings.push({
        code: 'negative_spend',
        message: `The spend is negative, for example ${spend} on line ${line}. It is stored as the file states it.`,
      });
    }
    if (isAbove && clicks !== null && impressions !== null && Number(clicks) > Number(impressions)) {
      warnings.push({
        code: 'clicks_above_impressions',
        message: `There are more clicks than impressions, for example ${clicks} of ${impressions} on line ${line}.`,
      });
    }
    if (isFuture && (dateTo ?? metricDate) > today) {
      const day = dateTo ?? metricDate;
      warnings.push({
        code: 'future_date',
        message: `The day is in the future, for example ${day} on line ${line}.`,
      });
    }
    if (isShort && cellsGiven !== undefined) {
      warnings.push({
        code: 'row_cut_short',
        message: `The row is cut short: line ${line} has ${cellsGiven} of ${width} cells. The others count as empty.`,
      });
    }
  };
}
