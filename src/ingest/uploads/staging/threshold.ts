import type { SluiceError } from '../../../lib/errors.ts';
import { uploadFailures } from '../errors.ts';
import { reportErrors } from '../reports/errors.ts';
import { validPercentNeeded, type WarningCount } from '../types.ts';
import { adviceOn } from './problem-advice.ts';
import type { StagingFigures } from './staging.ts';

/** Returns the reason why the upload must not be promoted, or null. */
export function verdictOn(
  figures: StagingFigures,
  { forcePartial }: { forcePartial: boolean },
): SluiceError | null {
  const { totalRows, validRows, invalidRows } = figures;
  if (totalRows === 0) {
    return reportErrors.raise.report_empty(
      'The report has no rows; choose a period with delivery in the ad platform, export it again and upload the file.',
    );
  }
  if (validRows === 0) {
    const none = totalRows === 1 ? 'The only row is not valid.' : `None of the ${totalRows} rows is valid.`;
    return uploadFailures.raise.no_valid_rows(`${none} ${topReasons(figures)}`.trimEnd());
  }
  if (forcePartial || isEnough(figures)) return null;
  const percent = Math.floor((validRows * 1000) / totalRows) / 10;
  return uploadFailures.raise.too_many_invalid_rows(
    `Only ${validRows} of ${totalRows} rows (${percent} %) ${validRows === 1 ? 'is' : 'are'} valid, at least ` +
      `${validPercentNeeded} % are needed; ${invalidRows === 1 ? '1 was' : `${invalidRows} were`} refused. ` +
      `${topReasons(figures)} Correct ${invalidRows === 1 ? 'it' : 'them'}, or send the file with force_partial.`,
  );
}

/** Compares whole numbers, so that 9 of 10 is enough without rounding errors. */
export function isEnough({ totalRows, validRows }: Pick<StagingFigures, 'totalRows' | 'validRows'>): boolean {
  return validRows * 100 >= totalRows * validPercentNeeded;
}

/** The three most frequent reasons as a sentence, with the titles of the list of problems. */
function topReasons({ problems }: StagingFigures): string {
  const top = [...problems].sort((a, b) => b.count - a.count).slice(0, 3);
  if (top.length === 0) return '';
  return `${problems.length > top.length ? 'Mostly' : 'Why'}: ${top.map(reasonWords).join('; ')}.`;
}

/** Turns `metric_date: invalid_date` into `the date cannot be read (day, 2 rows)`. */
function reasonWords({ code: fieldAndCode, message, count }: WarningCount): string {
  // The field may be a header, which can contain anything. The code contains no colon.
  const at = fieldAndCode.lastIndexOf(': ');
  const { title } = adviceOn(fieldAndCode.slice(at + 2), message);
  const field = fieldAndCode.slice(0, at).replace('metric_date', 'day').replaceAll('_', ' ');
  const place = field === 'row' ? '' : `${field}, `;
  return `${title[0]?.toLowerCase()}${title.slice(1)} (${place}${count} ${count === 1 ? 'row' : 'rows'})`;
}
