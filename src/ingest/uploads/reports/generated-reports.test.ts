import { describe, expect, test } from 'vitest';
import type { Figure, GeneratedReport } from '../../../../test/generators/ad-reports/generated-report.ts';
import * as google from '../../../../test/generators/ad-reports/google-reports.ts';
import * as json from '../../../../test/generators/ad-reports/json-reports.ts';
import * as meta from '../../../../test/generators/ad-reports/meta-reports.ts';
import { splitReport } from '../../../../test/generators/ad-reports/split-report.ts';
import * as tiktok from '../../../../test/generators/ad-reports/tiktok-reports.ts';
import { sumOf } from '../../../../test/generators/ad-reports/written-numbers.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { decideConventions } from './conventions.ts';
import { profileOf } from './profile.ts';
import type { ParsedLine } from './types.ts';

const { metaEmpty, metaNotDaily, ...metaShapes } = meta;
const shapes = { ...google, ...metaShapes, ...tiktok, ...json };
const figures: Figure[] = ['impressions', 'clicks', 'reach', 'spend', 'conversions', 'conversionValue'];

describe.each(Object.entries(shapes))('%s', (_, generate) => {
  const report = generate({ seed: 20_260_327, rows: 400 });
  const lines = parse(report);
  const valid = lines.filter((line) => line.kind === 'valid');

  test('every row becomes the expected line', () => {
    const seen = valid.map(({ rowIndex, campaign, adSet, ad, metric }) => ({
      rowIndex,
      campaign: campaign && keyOf(campaign),
      adSet: adSet && keyOf(adSet),
      ad: ad && keyOf(ad),
      metric,
    }));
    const expected = [...report.expected.lines()].map((line) => ({
      ...line,
      // Google's reports have no column with the names of ads.
      ad: line.ad && (hasAdNames(report) ? line.ad : { ...line.ad, name: null }),
    }));
    expect(seen).toEqual(expected);
  });

  test('totals are dropped and the sums of the rest are exact', () => {
    expect(lines.filter(({ kind }) => kind === 'total')).toHaveLength(report.expected.totalRows);
    expect(lines.filter(({ kind }) => kind === 'invalid')).toEqual([]);
    for (const figure of figures) {
      const values = valid.flatMap(({ metric }) => metric[figure] ?? []);
      expect([figure, values.length === 0 ? null : sumOf(values)]).toEqual([
        figure,
        report.expected.totals[figure],
      ]);
    }
  });

  test('days, campaigns, ad sets and ads are distinguished', () => {
    const { dates, campaigns, adSets, ads } = report.expected;
    expect([...new Set(valid.map(({ metric }) => metric.metricDate))].sort()).toEqual(dates);
    expect(new Set(valid.flatMap(({ campaign }) => campaign?.externalId ?? [])).size).toBe(campaigns);
    expect(new Set(valid.flatMap(({ adSet }) => adSet?.externalId ?? [])).size).toBe(adSets);
    expect(new Set(valid.flatMap(({ ad }) => ad?.externalId ?? [])).size).toBe(ads);
  });

  test('the same seed gives the same bytes', () => {
    expect(generate({ seed: 20_260_327, rows: 400 }).bytes.equals(report.bytes)).toBe(true);
    expect(generate({ seed: 1, rows: 400 }).bytes.equals(report.bytes)).toBe(false);
  });
});

test('a report without ids has one warning per line that names are used instead', () => {
  const [total, first] = parse(meta.metaWithoutIds({ seed: 1, rows: 2 }));
  expect(total?.kind).toBe('total');
  expect(first?.kind === 'valid' && first.warnings.map(({ code }) => code)).toEqual(['name_key']);
});

test('a report without days has the range of its columns in every line', () => {
  const [total, ...rest] = parse(metaNotDaily({ seed: 1, rows: 20 }));
  expect(total?.kind).toBe('total');
  const ranges = rest.map((line) =>
    line.kind === 'valid' ? [line.metric.metricDate, line.metric.dateTo] : line.kind,
  );
  expect(ranges).toEqual(Array.from({ length: 20 }, () => ['2026-03-27', '2026-04-23']));
});

test('an empty export of Meta fails as a file', () => {
  expect(failureOf(() => splitReport(metaEmpty()))).toBe('no_data_available');
});

function parse(report: GeneratedReport): ParsedLine[] {
  const { layout, rows } = splitReport(report);
  const profile = profileOf(report.platform);
  const columns = profile.mapHeaders(layout.headers, { format: layout.format });
  expect(profile.findMissing(columns)).toBeNull();
  const conventions = decideConventions(columns, { layout, sample: rows });
  return rows.map(profile.compileLines(columns, { conventions }));
}

const keyOf = ({ externalId, name }: { externalId: string; name: string | null }) => ({ externalId, name });
const hasAdNames = ({ platform, filename }: GeneratedReport) =>
  platform !== 'google' || filename.endsWith('.json');

function failureOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return isSluiceError(error) ? error.code : String(error);
  }
}
