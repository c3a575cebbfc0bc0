import { shortened } from '../reports/shown-text.ts';
import type { Upload, WarningCount } from '../types.ts';

const code = 'repeated_facts';
const maxColumns = 5;
const maxHeaderLength = 60;

/**
 * The warnings with a word about lines that a later line of the file replaced, because both are about one fact: what a
 * report is broken down by and nobody reads, a device or an age, makes several lines of one. The last of them wins, so
 * the figures of the others are missing from the sum. Counted from staged rows, it is the same however often the upload
 * was interrupted.
 */
export function withRepeatedFacts(
  warnings: WarningCount[],
  { replacedRows, layout }: { replacedRows: number } & Pick<Upload, 'layout'>,
): WarningCount[] {
  const others = warnings.filter((one) => one.code !== code);
  if (replacedRows === 0) return others;
  const message =
    'Several lines are about the same day of the same campaign, ad set or ad: the last one counts, the others are ' +
    `not added to it. Export the report without the breakdown that splits them, and upload it again.${unread(layout)}`;
  return [...others, { code, message, count: replacedRows }];
}

/** The columns that may have told the lines apart. */
function unread(layout: Upload['layout']): string {
  const unmapped = (layout?.unmapped ?? []) as { header: string }[];
  const headers = unmapped.map(({ header }) => header.trim()).filter((header) => header !== '');
  if (headers.length === 0) return '';
  const named = headers.slice(0, maxColumns).map((header) => `"${shortened(header, maxHeaderLength)}"`);
  const more = headers.length - named.length;
  return ` Columns that are not read: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}
