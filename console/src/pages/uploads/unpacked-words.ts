import type { Upload } from '../../api/types.ts';

/** Where in the file that was sent the report is from: "sheet Raw Data Report, from reports.zip". */
export function unpackedWords({ from, archive, sheet }: NonNullable<Upload['unpacked']>): string {
  const isArchived = from[0] === 'zip' && archive !== null;
  return [sheet === null ? null : `sheet ${sheet}`, isArchived ? `from ${archive}` : null]
    .filter((words) => words !== null)
    .concat(sheet === null && !isArchived ? ['unpacked'] : [])
    .join(', ');
}
