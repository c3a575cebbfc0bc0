import type { SluiceError } from '../../../lib/errors.ts';
import { profileErrors } from './errors.ts';
import { sampleColumns } from './shown-text.ts';
import type { DateRange, MappedColumns, PlatformDefinition, ReportLayout } from './types.ts';
import { type DateOrder, readDate } from './values/dates.ts';

export interface RangeSources {
  layout: ReportLayout;
  /** What the request or a reviewer said. */
  given: DateRange | null;
  filename: string | null;
  dateOrder: DateOrder | null;
}

/** Whether each line says itself which day or range it is about. */
export function hasOwnDays({ fields }: MappedColumns): boolean {
  return 'metric_date' in fields || ('period_start' in fields && 'period_end' in fields);
}

/**
 * The range of a report without days: the one that the file states above its header, else the one that was given with
 * it, else the one in its name. Null when nobody says it.
 */
export function rangeOfFile({ layout, given, filename, dateOrder }: RangeSources): DateRange | null {
  const titles = layout.format === 'delimited' ? layout.titleLines.slice(0, maxTitles) : [];
  for (const title of titles) {
    const range = readRange(title, dateOrder);
    if (range !== null) return range;
  }
  return given ?? (filename === null ? null : rangeInName(filename));
}

const maxTitles = 10;
const maxTitleLength = 200;

/** `March 27, 2026 - April 23, 2026`, `27.03.2026–23.04.2026`, `2026年3月1日～2026年3月31日`; a single day is a range. */
function readRange(text: string, order: DateOrder | null): DateRange | null {
  if (text.length > maxTitleLength) return null;
  const tidy = text
    .normalize('NFKC')
    .replaceAll('"', '')
    .replace(/^[^:]{0,40}: /u, '')
    .trim();
  const single = dayIn(tidy, order);
  if (single !== null) return { from: single, to: single };
  for (const mark of rangeMarks) {
    for (const match of tidy.matchAll(mark)) {
      const [first, last] = [tidy.slice(0, match.index), tidy.slice(match.index + match[0].length)];
      const to = dayIn(last, order);
      const from =
        to === null ? null : (dayIn(first, order) ?? dayIn(`${first.trim()} ${to.slice(0, 4)}`, order));
      if (from !== null && to !== null && from <= to) return { from, to };
    }
  }
  return null;
}

const rangeMarks = [
  / ?[–—~〜～] ?/gu,
  / (?:-|to|bis|au|a|al|até|tot|do|до|đến|hingga|s\.d\.|إلى) /giu,
  /(?<!\s)\s*(?:から|至|到)\s*/gu,
];

function dayIn(text: string, order: DateOrder | null): string | null {
  const day = readDate(text.trim().replace(/[,，]$/u, ''), order);
  return typeof day === 'string' ? day : null;
}

/** Two dates in the name of a file: `Ads-Report-2026-03-01-to-2026-03-31.csv`, `report_20260301_20260331.csv`. */
function rangeInName(name: string): DateRange | null {
  const days = [...name.matchAll(/(?<!\d)(20\d{2})([-_.]?)(\d{2})\2(\d{2})(?!\d)/g)].flatMap(
    ([, year, , month, day]) => dayIn(`${year}-${month}-${day}`, null) ?? [],
  );
  const [from, to] = days;
  return from !== undefined && to !== undefined && days.length === 2 && from <= to ? { from, to } : null;
}

/** The failure of a report that names neither days nor a range; with its columns, for people who map one as the day. */
export function periodUnknown(
  { title, daily_advice: dailyAdvice }: PlatformDefinition,
  { headers, rows }: { headers: readonly string[]; rows: readonly (readonly string[])[] },
): SluiceError {
  return profileErrors.raise.period_unknown(
    `This ${title} report has no column for the day and names no date range, so nobody can say which days its ` +
      `figures are about. ${dailyAdvice} Or send the file with date_from and date_to.`,
    {
      details: {
        headers: [...headers],
        samples: sampleColumns(rows, [...headers.keys()]),
        missing: ['metric_date'],
      },
    },
  );
}
