import { shortened } from '../reports/shown-text.ts';
import type { Upload, WarningCount } from '../types.ts';

const code = 'repeated_facts';
const maxColumns = 5;
const maxHeaderLength = 60;

/**
 * Adds a warning about lines that a later line of the file replaced, because both are about the same fact. A breakdown
 * that is not read, such as device or age, causes this. The last line wins, so the figures of the others are missing
 * from the sum. The count comes from staged rows, so interruptions do not change it.
 */
export function withRepeatedFacts(
  warnings: WarningCount[],
  { replacedRows, layout }: { replacedRows: number } & Pick<Upload, 'layout'>,
): WarningCount[] {
  const others = warnings.filter((one) => one.code !== code);
  if (replacedRows === 0) return others;
  const message =
    'Several lines are about the same day of the same campaign, ad set or ad: the last one is used, and the others ' +
    'are not added to it. Export the report without the breakdown that splits them, and upload it again.' +
    unread(layout);
  return [...others, { code, message, count: replacedRows }];
}

/** Names the columns that may distinguish the lines. */
function unread(layout: Upload['layout']): string {
  const unmapped = (layout?.unmapped ?? []) as { header: string }[];
  const headers = unmapped.map(({ header }) => header.trim()).filter((header) => header !== '');
  if (headers.length === 0) return '';
  const named = headers.slice(0, maxColumns).map((header) => `"${shortened(header, maxHeaderLength)}"`);
  const more = headers.length - named.length;
  return ` Columns that are not read: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}
