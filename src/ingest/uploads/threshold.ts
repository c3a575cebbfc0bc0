import type { SluiceError } from '../../lib/errors.ts';
import { uploadFailures } from './errors.ts';
import { reportErrors } from './reports/errors.ts';
import type { StagingFigures } from './staging.ts';
import { validPercentNeeded } from './types.ts';

/** Why the upload must not be promoted; null when it may. */
export function verdictOn(
  figures: StagingFigures,
  { forcePartial }: { forcePartial: boolean },
): SluiceError | null {
  const { totalRows, validRows, invalidRows } = figures;
  if (totalRows === 0) {
    return reportErrors.raise.report_empty(
      'The report has no rows; choose a period with delivery in the ad platform, export it again and upload that file.',
    );
  }
  if (validRows === 0) {
    return uploadFailures.raise.no_valid_rows(
      `None of the ${totalRows} rows is valid. ${topReasons(figures)}`.trimEnd(),
    );
  }
  if (forcePartial || isEnough(figures)) return null;
  const percent = Math.floor((validRows * 1000) / totalRows) / 10;
  return uploadFailures.raise.too_many_invalid_rows(
    `Only ${validRows} of ${totalRows} rows (${percent} %) are valid, at least ${validPercentNeeded} % are needed; ` +
      `${invalidRows} were refused. ${topReasons(figures)} Correct them, or send the file with force_partial.`,
  );
}

/** Whole numbers: 9 of 10 is enough, whatever a division makes of it. */
export function isEnough({ totalRows, validRows }: Pick<StagingFigures, 'totalRows' | 'validRows'>): boolean {
  return validRows * 100 >= totalRows * validPercentNeeded;
}

/** The three most frequent reasons, as a sentence. */
function topReasons({ problems }: StagingFigures): string {
  const top = [...problems].sort((a, b) => b.count - a.count).slice(0, 3);
  if (top.length === 0) return '';
  return `Mostly: ${top.map(({ code, count }) => `${code} (${count})`).join(', ')}.`;
}
