import { describe, expect, test } from 'vitest';
import * as google from '../../../../../test/generators/ad-reports/google-reports.ts';
import * as json from '../../../../../test/generators/ad-reports/json-reports.ts';
import * as meta from '../../../../../test/generators/ad-reports/meta-reports.ts';
import { splitReport } from '../../../../../test/generators/ad-reports/split-report.ts';
import * as tiktok from '../../../../../test/generators/ad-reports/tiktok-reports.ts';
import { readReport, recordsOf, reportRefusal } from '../../../../../test/generators/report-documents.ts';
import { profileOf } from '../profile.ts';

const { metaEmpty, ...metaShapes } = meta;

describe.each(Object.entries({ ...google, ...metaShapes, ...tiktok, ...json }))('%s', (_, generate) => {
  const { bytes, platform } = generate({ seed: 20_260_327, rows: 400 });
  const options = { findHeader: profileOf(platform).findHeader, batchRows: 150 };

  test('is read as other parsers read it', async () => {
    const [ours, theirs] = [await readReport(bytes, options), splitReport({ bytes, platform })];
    const { format, encoding, headers } = theirs.layout;
    expect(ours.layout).toMatchObject({ format, encoding, headers });
    expect(ours.rows).toHaveLength(theirs.rows.length);
    if (format === 'delimited') expect(ours).toMatchObject({ layout: theirs.layout, rows: theirs.rows });
    // JSON.parse loses the notation of numbers, so they are compared as numbers.
    else expect(recordsOf(ours).map(asNumbers)).toEqual(recordsOf({ ...ours, ...theirs }).map(asNumbers));
  });

  test('can be resumed at its checkpoints', async () => {
    const { rows, resumes } = await readReport(bytes, options);
    expect(resumes.length).toBeGreaterThan(1);
    for (const resume of resumes) {
      const rest = await readReport(bytes, { ...options, resume });
      expect(rest.rows).toEqual(rows.slice(resume.nextRowIndex));
    }
  });
});

test('an empty export of Meta is refused with the error of its profile', async () => {
  const { bytes, platform } = metaEmpty();
  const { code } = await reportRefusal(bytes, { findHeader: profileOf(platform).findHeader });
  expect(code).toBe('no_data_available');
});

function asNumbers(record: Record<string, string>): Record<string, string | number> {
  const isShort = (cell: string) => /^-?\d[\d.]{0,14}$/.test(cell);
  return Object.fromEntries(
    Object.entries(record).map(([header, cell]) => [header, isShort(cell) ? Number(cell) : cell]),
  );
}
