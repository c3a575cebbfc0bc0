import { encodeReport } from './encodings.ts';
import { assemble, type GeneratedReport, type ReportSize } from './generated-report.ts';
import { type TableColumn, type TableShape, tableReport } from './table-report.ts';
import { written } from './written-numbers.ts';

const machine = { group: '', decimalMark: '.' };

interface MetaNames {
  starts: string;
  ends: string;
  campaign: string;
  adSet: string;
  ad: string;
  day: string;
  delivery: string;
  ids: readonly [string, string, string] | null;
  reach: string;
  impressions: string;
  spend: string;
  linkClicks: string;
  purchases: string;
  value: string;
}

/** Meta's numbers are plain in every language; results stand beside the purchases and are something else. */
function columns(names: MetaNames, digits: number): TableColumn[] {
  const ids: TableColumn[] =
    names.ids === null
      ? []
      : [
          { header: names.ids[0], cell: ({ campaign }) => campaign.id },
          { header: names.ids[1], cell: ({ adSet }) => adSet.id },
          { header: names.ids[2], cell: ({ ad }) => ad.id },
        ];
  return [
    { header: names.starts, cell: () => '2026-03-27' },
    { header: names.ends, cell: () => '2026-04-23' },
    { header: names.campaign, cell: ({ campaign }) => campaign.name },
    { header: names.adSet, cell: ({ adSet }) => adSet.name },
    { header: names.ad, cell: ({ ad }) => ad.name },
    { header: names.day, cell: ({ day }) => day },
    { header: names.delivery, cell: () => 'active' },
    ...ids,
    { header: names.reach, cell: ({ reach }) => String(reach) },
    { header: names.impressions, cell: ({ impressions }) => String(impressions) },
    { header: names.spend, cell: ({ spend }) => written(spend, digits, machine) },
    { header: names.linkClicks, cell: ({ clicks }) => String(clicks) },
    { header: names.purchases, cell: ({ conversions }) => written(conversions, 2, machine) },
    { header: names.value, cell: ({ value }) => written(value, digits, machine) },
    { header: 'Quality ranking', cell: () => '-' },
    { header: 'Ends', cell: () => 'Ongoing' },
  ];
}

/** The sum of all, with blank names, before the rows that it sums up. */
function firstTotal(names: MetaNames): string[] {
  const blanks = names.ids === null ? [] : ['', '', ''];
  return [
    '2026-03-27',
    '2026-04-23',
    '',
    '',
    '',
    '',
    '',
    ...blanks,
    '123',
    '456',
    '7.89',
    '10',
    '2.00',
    '3.00',
    '',
    '',
  ];
}

const english: MetaNames = {
  starts: 'Reporting starts',
  ends: 'Reporting ends',
  campaign: 'Campaign name',
  adSet: 'Ad set name',
  ad: 'Ad name',
  day: 'Day',
  delivery: 'Campaign delivery',
  ids: ['Campaign ID', 'Ad set ID', 'Ad ID'],
  reach: 'Reach',
  impressions: 'Impressions',
  spend: 'Amount spent (AUD)',
  linkClicks: 'Link clicks',
  purchases: 'Purchases',
  value: 'Purchases conversion value',
};

function shapeOf(names: MetaNames, currency: string): TableShape {
  const digits = currency === 'JPY' ? 0 : 2;
  return {
    platform: 'meta',
    filename: 'Ads-Report.csv',
    encoding: 'utf-8 with bom',
    delimiter: ',',
    lineBreak: '\n',
    titles: [],
    columns: columns(names, digits),
    words: ['Sale', 'Prospecting, AU', 'Größe "XL"'],
    firstRows: [firstTotal(names)],
    lastRows: [],
    levels: 3,
    hasIds: names.ids !== null,
    has: ['impressions', 'linkClicks', 'reach', 'spend', 'conversions', 'conversionValue'],
    currency,
    currencyDigits: digits,
  };
}

export function metaAustralian(size: ReportSize): GeneratedReport {
  return tableReport(shapeOf(english, 'AUD'), size);
}

export function metaWithoutIds(size: ReportSize): GeneratedReport {
  return tableReport(shapeOf({ ...english, ids: null }, 'AUD'), size);
}

/** Results and Impressions a second time, as Meta writes them when a column set names a metric twice. */
export function metaDoubledHeaders(size: ReportSize): GeneratedReport {
  const shape = shapeOf(english, 'AUD');
  const doubled: TableColumn[] = [
    { header: 'Impressions', cell: ({ impressions }) => String(impressions) },
    { header: 'Campaign name', cell: ({ campaign }) => campaign.name },
    { header: 'Results', cell: () => '7' },
    { header: 'Results', cell: () => '8' },
  ];
  return tableReport(
    {
      ...shape,
      columns: [...shape.columns, ...doubled],
      firstRows: shape.firstRows.map((cells) => [...cells, '456', '', '7', '8']),
    },
    size,
  );
}

export function metaSpanish(size: ReportSize): GeneratedReport {
  const names: MetaNames = {
    starts: 'Inicio del informe',
    ends: 'Fin del informe',
    campaign: 'Nombre de la campaña',
    adSet: 'Nombre del conjunto de anuncios',
    ad: 'Nombre del anuncio',
    day: 'Día',
    delivery: 'Entrega de la campaña',
    ids: [
      'Identificador de la campaña',
      'Identificador del conjunto de anuncios',
      'Identificador del anuncio',
    ],
    reach: 'Alcance',
    impressions: 'Impresiones',
    spend: 'Importe gastado (EUR)',
    linkClicks: 'Clics en el enlace',
    purchases: 'Compras',
    value: 'Valor de conversión de compras',
  };
  return tableReport({ ...shapeOf(names, 'EUR'), words: ['Rebajas', 'Niños', '¡Mañana!'] }, size);
}

export function metaJapanese(size: ReportSize): GeneratedReport {
  const names: MetaNames = {
    starts: 'レポート開始日',
    ends: 'レポート終了日',
    campaign: 'キャンペーン名',
    adSet: '広告セット名',
    ad: '広告名',
    day: '日',
    delivery: 'キャンペーンの配信',
    ids: ['キャンペーンID', '広告セットID', '広告ID'],
    reach: 'リーチ',
    impressions: 'インプレッション',
    spend: '消化金額 (JPY)',
    linkClicks: 'リンクのクリック',
    purchases: '購入',
    value: '購入コンバージョン値',
  };
  return tableReport({ ...shapeOf(names, 'JPY'), words: ['セール', '認知', '春の新作'] }, size);
}

/** No day, but a period of four weeks: every row must be refused with the reason. */
export function metaNotDaily(size: ReportSize): GeneratedReport {
  const shape = shapeOf(english, 'AUD');
  const isDay = shape.columns.map(({ header }) => header === 'Day');
  const report = tableReport(
    {
      ...shape,
      columns: shape.columns.filter((_, at) => !isDay[at]),
      firstRows: shape.firstRows.map((cells) => cells.filter((_, at) => !isDay[at])),
    },
    size,
  );
  return { ...report, expected: { ...report.expected, lines: () => [], validRows: 0 } };
}

export function metaEmpty(): GeneratedReport {
  return assemble({
    platform: 'meta',
    filename: 'Ads-Report.csv',
    bytes: encodeReport('"No data available."\n', 'utf-8 with bom'),
    facts: { seed: 1, rows: 0, words: ['x'] },
    has: [],
    levels: 1,
    hasIds: false,
    currency: 'USD',
    currencyDigits: 2,
    totalsFirst: 0,
    totalsLast: 0,
  });
}
