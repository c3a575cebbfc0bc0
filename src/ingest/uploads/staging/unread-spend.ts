import { isNullMark } from '../reports/values/numbers.ts';
import type { WarningCount } from '../types.ts';

const mostNamed = 5;
/** A number, perhaps with a currency; a percentage is a rate. */
const amount = /^[(\-−]?\D{0,6}\d[\d.,'’\s]*[^\d%]{0,6}$/u;

/**
 * The warning of a table whose spend nobody has found, although it has columns with numbers that are not read: a column
 * with an unknown name would otherwise be missing without a word.
 */
export function unreadSpend(layout: Record<string, unknown>): WarningCount[] {
  const { format, sources = {}, unmapped = [], headers = [], samples = [] } = layout as Partial<Described>;
  if (format !== 'delimited' || 'spend' in sources) return [];
  const unread = unmapped
    .map(({ header }) => header)
    .filter((header) => {
      const cells = (samples[headers.indexOf(header)] ?? []).filter((cell) => !isNullMark(cell));
      return cells.length > 0 && cells.every((cell) => amount.test(cell));
    });
  if (unread.length === 0) return [];
  const named = unread.slice(0, mostNamed).map((header) => JSON.stringify(header.trim()));
  const rest = unread.length > mostNamed ? ` and ${unread.length - mostNamed} more` : '';
  const message =
    `No column is read as the spend. These columns have numbers and are not read: ${named.join(', ')}${rest}. If one ` +
    'of them is the spend, map it and upload the file again.';
  return [{ code: 'spend_not_read', message, count: unread.length }];
}

interface Described {
  format: string;
  sources: Record<string, string | undefined>;
  unmapped: { header: string }[];
  headers: string[];
  samples: string[][];
}
