import type { MetricEntity, Platform } from '../../../src/ingest/uploads/reports/types.ts';
import { type FactOptions, type ReportFact, reportFacts } from './facts.ts';
import { decimal } from './written-numbers.ts';

export interface ReportSize {
  seed: number;
  /** Data rows, without totals. */
  rows: number;
}

export interface ExpectedLine {
  rowIndex: number;
  campaign: { externalId: string; name: string };
  adSet: { externalId: string; name: string } | null;
  ad: { externalId: string; name: string } | null;
  metric: MetricEntity;
}

export type Figure =
  | 'impressions'
  | 'clicks'
  | 'linkClicks'
  | 'reach'
  | 'spend'
  | 'conversions'
  | 'conversionValue';

export interface GeneratedReport {
  bytes: Buffer;
  platform: Platform;
  filename: string;
  expected: {
    /** Generated on each call: for a large report a list would be larger than the report. */
    lines(): Iterable<ExpectedLine>;
    validRows: number;
    /** Rows that are sums of others and must be dropped. */
    totalRows: number;
    /** Exact sums as decimal text; null where the report does not have the column. */
    totals: Record<Figure, string | null>;
    dates: string[];
    campaigns: number;
    adSets: number;
    ads: number;
  };
}

/** What a shape of report has to say; the rest is null in every line. */
export interface Expectation {
  has: readonly Figure[];
  levels: 1 | 2 | 3;
  hasIds: boolean;
  currency: string;
  /** Decimal digits of the currency. */
  currencyDigits: number;
  totalsFirst: number;
  totalsLast: number;
}

export interface Assembly extends Expectation {
  platform: Platform;
  filename: string;
  bytes: Buffer;
  facts: FactOptions;
}

export function assemble({ platform, filename, bytes, facts, ...expectation }: Assembly): GeneratedReport {
  const lines = () => expectedLines(facts, expectation);
  return {
    bytes,
    platform,
    filename,
    expected: {
      lines,
      ...countUp(facts, expectation),
      totalRows: expectation.totalsFirst + expectation.totalsLast,
    },
  };
}

function* expectedLines(facts: FactOptions, expectation: Expectation): Generator<ExpectedLine> {
  let rowIndex = expectation.totalsFirst;
  for (const fact of reportFacts(facts)) {
    yield expectedLine(fact, { rowIndex, expectation });
    rowIndex += 1;
  }
}

function expectedLine(
  fact: ReportFact,
  { rowIndex, expectation }: { rowIndex: number; expectation: Expectation },
): ExpectedLine {
  const { levels, hasIds, has, currency, currencyDigits } = expectation;
  const path = [fact.campaign, fact.adSet, fact.ad].slice(0, levels);
  const [campaign = null, adSet = null, ad = null] = path.map(({ id, name }, depth) => ({
    externalId: hasIds ? id : `name:${JSON.stringify(path.slice(0, depth + 1).map((step) => step.name))}`,
    name,
  }));
  if (campaign === null) throw new Error('A report has at least campaigns.');
  const figures = figuresOf(fact, currencyDigits);
  const figure = (name: Figure) => (has.includes(name) ? decimal(...figures[name]) : null);
  return {
    rowIndex,
    campaign,
    adSet,
    ad,
    metric: {
      metricDate: fact.day,
      dateTo: null,
      impressions: figure('impressions'),
      clicks: figure('clicks'),
      linkClicks: figure('linkClicks'),
      reach: figure('reach'),
      spend: figure('spend'),
      conversions: figure('conversions'),
      conversionValue: figure('conversionValue'),
      currency,
    },
  };
}

function figuresOf(fact: ReportFact, currencyDigits: number): Record<Figure, [bigint, number]> {
  return {
    impressions: [BigInt(fact.impressions), 0],
    clicks: [BigInt(fact.clicks), 0],
    linkClicks: [BigInt(fact.clicks), 0],
    reach: [BigInt(fact.reach), 0],
    spend: [BigInt(fact.spend), currencyDigits],
    conversions: [BigInt(fact.conversions), 2],
    conversionValue: [BigInt(fact.value), currencyDigits],
  };
}

function countUp(facts: FactOptions, { has, levels, currencyDigits }: Expectation) {
  const sums: Record<Figure, bigint> = {
    impressions: 0n,
    clicks: 0n,
    linkClicks: 0n,
    reach: 0n,
    spend: 0n,
    conversions: 0n,
    conversionValue: 0n,
  };
  const seen = {
    dates: new Set<string>(),
    entities: [new Set<string>(), new Set<string>(), new Set<string>()],
  };
  let validRows = 0;
  for (const fact of reportFacts(facts)) {
    validRows += 1;
    seen.dates.add(fact.day);
    for (const [depth, { id }] of [fact.campaign, fact.adSet, fact.ad].entries())
      seen.entities[depth]?.add(id);
    for (const [name, [units]] of Object.entries(figuresOf(fact, currencyDigits)))
      sums[name as Figure] += units;
  }
  const digits: Record<Figure, number> = {
    impressions: 0,
    clicks: 0,
    linkClicks: 0,
    reach: 0,
    spend: currencyDigits,
    conversions: 2,
    conversionValue: currencyDigits,
  };
  const total = (name: Figure) => (has.includes(name) ? decimal(sums[name], digits[name]) : null);
  return {
    validRows,
    totals: {
      impressions: total('impressions'),
      clicks: total('clicks'),
      linkClicks: total('linkClicks'),
      reach: total('reach'),
      spend: total('spend'),
      conversions: total('conversions'),
      conversionValue: total('conversionValue'),
    },
    dates: [...seen.dates].sort(),
    campaigns: seen.entities[0]?.size ?? 0,
    adSets: levels >= 2 ? (seen.entities[1]?.size ?? 0) : 0,
    ads: levels === 3 ? (seen.entities[2]?.size ?? 0) : 0,
  };
}
