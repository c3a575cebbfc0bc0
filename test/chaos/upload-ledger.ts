import type { GeneratedReport, ReportSize } from '../generators/ad-reports/generated-report.ts';
import { googleCsv, googleUtf16Tabs } from '../generators/ad-reports/google-reports.ts';
import { metaNdjson, tiktokReport } from '../generators/ad-reports/json-reports.ts';
import { metaAustralian, metaSpanish, metaWithoutIds } from '../generators/ad-reports/meta-reports.ts';
import { tiktokShiftJis } from '../generators/ad-reports/tiktok-reports.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The plan of a report. The report is generated when it is sent: all at once would need too much memory. */
export interface PlannedReport {
  name: string;
  /** Which of the workspaces it goes to. */
  place: number;
  size: ReportSize;
  make: (size: ReportSize) => GeneratedReport;
}

/** A report whose upload was acknowledged. */
export interface SentReport extends PlannedReport {
  uploadId: string;
}

/** One fact as it must lie in production, under its natural key. */
export interface ExpectedFact {
  impressions: string | null;
  clicks: string | null;
  linkClicks: string | null;
  reach: string | null;
  spend: string | null;
  conversions: string | null;
  conversionValue: string | null;
  currency: string | null;
}

export const workspaceCount = 4;

const shapes = [
  metaAustralian,
  metaSpanish,
  metaWithoutIds,
  metaNdjson,
  googleCsv,
  googleUtf16Tabs,
  tiktokReport,
  tiktokShiftJis,
];

/** So many go to one workspace at once; it lets just these run beside one another. */
export const reportsAtOnce = 3;

/**
 * Reports of one shape and workspace name the same ads and days, and each replaces what those before it said. The
 * first of a group is the longest: the newer ones overtake it, and it must not replace what they have written.
 */
export function planReport(number: number, rows: number, random: SeededRandom): PlannedReport {
  const group = Math.floor(number / reportsAtOnce);
  const isFirst = number % reportsAtOnce === 0;
  return {
    name: `report-${number}`,
    place: group % workspaceCount,
    size: {
      seed: 1 + random.below(2 ** 30),
      rows: isFirst ? rows : Math.ceil(rows / 4) + random.below(Math.ceil(rows / 4)),
    },
    make: shapes[Math.floor(group / 2) % shapes.length] ?? metaAustralian,
  };
}

/** What production must hold in one workspace, from its reports in the order in which they were acknowledged. */
export function expectedFacts(reports: readonly SentReport[]): Map<string, ExpectedFact> {
  const facts = new Map<string, ExpectedFact>();
  for (const { make, size } of reports) {
    const { platform, expected } = make(size);
    for (const { campaign, adSet, ad, metric } of expected.lines()) {
      const { metricDate, dateTo: _range, ...figures } = metric;
      const path = [campaign.externalId, adSet?.externalId ?? null, ad?.externalId ?? null];
      facts.set(factKey([platform, ...path, metricDate]), figures);
    }
  }
  return facts;
}

export function factKey(parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
