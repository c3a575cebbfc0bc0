import type { Language, Platform, ReportField } from '../../../src/ingest/uploads/reports/types.ts';
import { seededRandom } from '../../chaos/seeded-random.ts';
import { encodeReport, type ReportEncoding } from './encodings.ts';
import { exportedHeader } from './exported-headers.ts';
import { breakdowns } from './ledger-breakdowns.ts';
import { packed, reportWorkbook } from './packed-report.ts';
import { type WritingStyle, written } from './written-numbers.ts';

/** How a report is laid out. The ledger is kept while it is written and knows nothing of how it is read. */
export interface LedgerShape {
  platform: Platform;
  language: Language;
  keys: 'ids' | 'names' | 'ads only';
  time: 'day' | 'columns' | 'title' | 'one day' | 'given';
  breakdown: string | null;
  encoding: ReportEncoding | 'windows-1252';
  delimiter: ',' | ';' | '\t';
  file: 'table' | 'json';
  /** What the file is packed in; a workbook has real numbers and days instead of text. */
  packing: 'none' | 'gzip' | 'zip' | 'xlsx';
  totals: boolean;
  seed: number;
}

/** In whole units: counts, cents, hundredths. Null where the report states nothing. */
export interface LedgerFigures {
  impressions: bigint;
  clicks: bigint;
  spend: bigint;
  conversions: bigint;
  value: bigint;
  /** Null where lines were added up. */
  reach: bigint | null;
}

export interface LedgerEntry extends LedgerFigures {
  from: string;
  to: string;
  campaign: string | null;
  adSet: string | null;
  ad: string | null;
  lines: number;
}

export interface LedgerReport {
  name: string;
  shape: LedgerShape;
  bytes: Buffer;
  filename: string;
  /** What has to be sent with the file. */
  given: { dateFrom?: string; dateTo?: string };
  /** By natural key. */
  ledger: LedgerEntry[];
  lines: number;
  /** Whether lines share keys. */
  isBrokenDown: boolean;
}

const usdDigits = 2;
const days = ['2026-03-01', '2026-03-02', '2026-03-03'];
const period = { from: '2026-03-01', to: '2026-03-31' };

interface Line {
  from: string;
  to: string;
  entity: { campaign: Named; adSet: Named; ad: Named };
  cells: string[];
  figures: Omit<LedgerFigures, 'reach'> & { reach: bigint };
}

interface Named {
  id: string;
  name: string;
}

export function ledgerReport(shape: LedgerShape): LedgerReport {
  const lines = linesOf(shape);
  const ledger = ledgerOf(shape, lines);
  const made = shape.file === 'json' ? jsonFile(shape, lines) : tableFile(shape, lines);
  const { bytes, filename } = packed(made, shape.packing);
  const { platform, language, keys, time, breakdown, encoding, delimiter, file, packing } = shape;
  const given = time === 'given' ? { dateFrom: period.from, dateTo: period.to } : {};
  const name = [
    platform,
    language,
    keys,
    time,
    breakdown ?? 'plain',
    file,
    encoding,
    JSON.stringify(delimiter),
    packing,
  ].join(' · ');
  return {
    name,
    shape,
    bytes,
    filename,
    given,
    ledger,
    lines: lines.length,
    isBrokenDown: ledger.some((entry) => entry.lines > 1),
  };
}

function linesOf({ seed, time, breakdown }: LedgerShape): Line[] {
  const random = seededRandom(seed);
  const columns = breakdown === null ? [] : (breakdowns[breakdown]?.columns ?? []);
  const combinations = columns.reduce<string[][]>(
    (all, [, , values]) => all.flatMap((cells) => values.map((value) => [...cells, value])),
    [[]],
  );
  const lines: Line[] = [];
  for (let n = 0; n < 4; n += 1) {
    const named = (level: string, number: number): Named => ({
      id: `1202${level.length}${String(seed).padStart(5, '0')}${String(number).padStart(8, '0')}`,
      name: `${level} ${seed}-${number}`,
    });
    const entity = { campaign: named('Campaign', n >> 1), adSet: named('Set', n >> 1), ad: named('Ad', n) };
    const stretches = stretchesOf(time);
    for (const { from, to } of stretches) {
      for (const cells of combinations) {
        const impressions = random.below(90_000);
        lines.push({
          from,
          to,
          entity,
          cells,
          figures: {
            impressions: BigInt(impressions),
            clicks: BigInt(random.below(1 + (impressions >> 3))),
            reach: BigInt(random.below(impressions + 1)),
            spend: BigInt(random.below(5_000_000)),
            conversions: BigInt(random.below(5_000)),
            value: BigInt(random.below(9_000_000)),
          },
        });
      }
    }
  }
  // The lines of a key are not neighbours in every report.
  if (seed % 3 === 0) lines.sort((a, b) => (a.cells.join() < b.cells.join() ? -1 : 1));
  return lines;
}

function stretchesOf(time: LedgerShape['time']): { from: string; to: string }[] {
  if (time === 'day') return days.map((day) => ({ from: day, to: day }));
  if (time === 'one day') return [{ from: '2026-03-05', to: '2026-03-05' }];
  return [period];
}

function ledgerOf({ keys }: LedgerShape, lines: Line[]): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>();
  for (const { from, to, entity, figures } of lines) {
    const { campaign, adSet, ad } = entity;
    const path = (...names: Named[]) => `name:${JSON.stringify(names.map(({ name }) => name))}`;
    const ids =
      keys === 'ids'
        ? { campaign: campaign.id, adSet: adSet.id, ad: ad.id }
        : keys === 'names'
          ? { campaign: path(campaign), adSet: path(campaign, adSet), ad: path(campaign, adSet, ad) }
          : { campaign: null, adSet: null, ad: path(ad) };
    const key = JSON.stringify([from, to, ids]);
    const known = entries.get(key);
    entries.set(
      key,
      known === undefined ? { from, to, ...ids, ...figures, lines: 1 } : added(known, figures),
    );
  }
  return [...entries.values()];
}

function added(a: LedgerEntry, b: Line['figures']): LedgerEntry {
  return {
    ...a,
    impressions: a.impressions + b.impressions,
    clicks: a.clicks + b.clicks,
    spend: a.spend + b.spend,
    conversions: a.conversions + b.conversions,
    value: a.value + b.value,
    reach: null,
    lines: a.lines + 1,
  };
}

const comma = new Set<Language>(['de', 'fr', 'pt', 'it', 'nl', 'pl', 'tr', 'vi', 'ru', 'id']);

function tableFile(shape: LedgerShape, lines: Line[]): { bytes: Buffer; filename: string } {
  const { platform, language, delimiter } = shape;
  const style: WritingStyle =
    platform === 'google' && comma.has(language) && shape.packing !== 'xlsx'
      ? { group: '.', decimalMark: ',' }
      : { group: '', decimalMark: '.' };
  const columns = tableColumns(shape, style);
  const rows = lines.map((line) => columns.map(({ cell }) => cell(line)));
  const all = [columns.map(({ header }) => header), ...rows];
  const total = shape.totals ? totalRow(shape, { columns, lines, style }) : null;
  if (total !== null && platform === 'meta') all.splice(1, 0, total);
  else if (total !== null) all.push(total);
  const titles = titlesOf(shape);
  if (shape.packing === 'xlsx') {
    const isNumber = columns.map(({ field }) => field !== null && field in sums);
    return { bytes: reportWorkbook({ titles, rows: all, isNumber }), filename: 'report.xlsx' };
  }
  const quoted = (cell: string) =>
    cell.includes(delimiter) || cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell;
  const text = [...titles, ...all.map((cells) => cells.map(quoted).join(delimiter))].join('\r\n');
  const bytes =
    shape.encoding === 'windows-1252'
      ? Buffer.from(`${text}\r\n`, 'latin1')
      : encodeReport(`${text}\r\n`, shape.encoding);
  return { bytes, filename: 'report.csv' };
}

function titlesOf({ platform, time, delimiter, packing }: LedgerShape): string[] {
  if (platform !== 'google') return [];
  const range =
    time === 'title' ? 'March 1, 2026 - March 31, 2026' : time === 'one day' ? 'March 5, 2026' : 'All time';
  return ['Ad report', delimiter === ',' && packing !== 'xlsx' ? `"${range}"` : range];
}

interface Column {
  header: string;
  field: ReportField | null;
  cell: (line: Line) => string;
}

function tableColumns(shape: LedgerShape, style: WritingStyle): Column[] {
  const { platform, language, keys, time, breakdown } = shape;
  const column = (field: ReportField, cell: Column['cell'], suffix = ''): Column => ({
    header: `${exportedHeader(platform, language, field)}${suffix}`,
    field,
    cell,
  });
  const figure = (field: ReportField, name: keyof LedgerFigures, digits: number, suffix = '') =>
    column(field, ({ figures }) => written(Number(figures[name as 'spend']), digits, style), suffix);
  const entities: Column[] = (['campaign', 'ad_set', 'ad'] as const).flatMap((level) => {
    const of = ({ entity }: Line) => (level === 'ad_set' ? entity.adSet : entity[level]);
    if (keys === 'ads only' && level !== 'ad') return [];
    return [
      column(`${level}_name`, (line) => of(line).name),
      ...(keys === 'ids' ? [column(`${level}_id`, (line) => of(line).id)] : []),
    ];
  });
  const dimensions: Column[] = (breakdown === null ? [] : (breakdowns[breakdown]?.columns ?? [])).map(
    ([header], at) => ({ header, field: null, cell: ({ cells }) => cells[at] ?? '' }),
  );
  const currency = platform === 'meta' ? [] : [column('currency', () => 'EUR')];
  return [
    ...(time === 'day' ? [column('metric_date', ({ from }) => from)] : []),
    ...(time === 'columns' || (time === 'one day' && platform === 'meta')
      ? [column('period_start', ({ from }) => from), column('period_end', ({ to }) => to)]
      : []),
    ...entities,
    ...dimensions,
    figure('impressions', 'impressions', 0),
    figure('clicks', 'clicks', 0),
    ...(platform === 'google' ? [] : [figure('reach', 'reach', 0)]),
    ...currency,
    figure('spend', 'spend', usdDigits, platform === 'meta' ? ' (EUR)' : ''),
    figure('conversions', 'conversions', 2),
    figure('conversion_value', 'value', usdDigits),
  ];
}

const sums: Partial<Record<ReportField, [keyof LedgerFigures, number]>> = {
  impressions: ['impressions', 0],
  clicks: ['clicks', 0],
  spend: ['spend', usdDigits],
  conversions: ['conversions', 2],
  conversion_value: ['value', usdDigits],
};

function totalRow(
  { platform }: LedgerShape,
  { columns, lines, style }: { columns: Column[]; lines: Line[]; style: WritingStyle },
): string[] {
  const label =
    platform === 'google'
      ? 'Total: Campaigns'
      : platform === 'tiktok'
        ? `Total of ${lines.length} results`
        : '';
  return columns.map(({ field }, at) => {
    const [name, digits] = (field === null ? undefined : sums[field]) ?? [];
    if (name === undefined || digits === undefined) return at === 0 ? label : '';
    const units = lines.reduce((sum, { figures }) => sum + (figures[name] as bigint), 0n);
    return written(Number(units), digits, style);
  });
}

function jsonFile(shape: LedgerShape, lines: Line[]): { bytes: Buffer; filename: string } {
  const records = lines.map((line) => recordOf(shape, line));
  const body =
    shape.platform === 'meta'
      ? { data: records, paging: {} }
      : shape.platform === 'google'
        ? [{ results: records, requestId: 'x' }]
        : { code: 0, message: 'OK', data: { list: records, page_info: { page: 1 } } };
  return { bytes: Buffer.from(JSON.stringify(body)), filename: 'report.json' };
}

function recordOf(shape: LedgerShape, line: Line): Record<string, unknown> {
  const { entity, figures, from, to } = line;
  const decimal = (units: bigint) => written(Number(units), 2, { group: '', decimalMark: '.' });
  const columns = shape.breakdown === null ? [] : (breakdowns[shape.breakdown]?.columns ?? []);
  const dimensions = columns.map(([, path], at) => [path, line.cells[at] ?? ''] as const);
  if (shape.platform === 'meta') {
    return {
      campaign_id: entity.campaign.id,
      campaign_name: entity.campaign.name,
      adset_id: entity.adSet.id,
      ad_id: entity.ad.id,
      date_start: from,
      date_stop: to,
      ...Object.fromEntries(dimensions),
      impressions: String(figures.impressions),
      clicks: String(figures.clicks),
      reach: String(figures.reach),
      spend: decimal(figures.spend),
      account_currency: 'EUR',
      actions: [{ action_type: 'purchase', value: decimal(figures.conversions) }],
      action_values: [{ action_type: 'purchase', value: decimal(figures.value) }],
    };
  }
  const nested: Record<string, unknown> = {};
  for (const [path, value] of dimensions) put(nested, path.split('.'), value);
  const segments = { ...(nested.segments as object | undefined), date: from };
  return {
    ...nested,
    campaign: { id: entity.campaign.id, name: entity.campaign.name, resourceName: 'customers/1/campaigns/2' },
    adGroup: { id: entity.adSet.id },
    adGroupAd: { ad: { id: entity.ad.id } },
    customer: { currencyCode: 'EUR' },
    segments,
    metrics: {
      impressions: String(figures.impressions),
      clicks: String(figures.clicks),
      costMicros: `${figures.spend}0000`,
      conversions: Number(figures.conversions) / 100,
      conversionsValue: Number(figures.value) / 100,
      ctr: 0.05,
    },
  };
}

function put(into: Record<string, unknown>, [step = '', ...rest]: string[], value: string): void {
  if (rest.length === 0) {
    into[step] = value;
    return;
  }
  into[step] ??= {};
  put(into[step] as Record<string, unknown>, rest, value);
}
