import type { GeneratedReport, ReportSize } from './generated-report.ts';
import { type TableColumn, type TableShape, tableReport } from './table-report.ts';
import { type WritingStyle, written } from './written-numbers.ts';

const english: WritingStyle = { group: ',', decimalMark: '.' };
const portuguese: WritingStyle = { group: '\u00a0', decimalMark: ',' };
const ungrouped = ({ decimalMark }: WritingStyle): WritingStyle => ({ group: '', decimalMark });

/** Google's order of columns; figures with thousands, cost without, an unknown share that is only a bound. */
function columns(headers: readonly string[], style: WritingStyle, currency: string): TableColumn[] {
  const digits = currency === 'JPY' ? 0 : 2;
  const cells: TableColumn['cell'][] = [
    () => 'Enabled',
    ({ campaign }) => campaign.name,
    ({ day }) => day,
    ({ adSet }) => adSet.name,
    ({ campaign }) => campaign.id,
    ({ adSet }) => adSet.id,
    ({ ad }) => ad.id,
    () => ' --',
    () => '< 10%',
    ({ impressions }) => written(impressions, 0, style),
    ({ clicks }) => written(clicks, 0, style),
    () => currency,
    ({ spend }) => written(spend, digits, ungrouped(style)),
    ({ conversions }) => written(conversions, 2, style),
    ({ value }) => written(value, digits, style),
  ];
  return cells.map((cell, at) => ({ header: headers[at] ?? '', cell }));
}

const totalRow = (label: string, figures: string[]) => [label, ...Array<string>(8).fill(' --'), ...figures];

const base = {
  platform: 'google',
  levels: 3,
  hasIds: true,
  has: ['impressions', 'clicks', 'spend', 'conversions', 'conversionValue'],
  firstRows: [],
} as const;

const englishHeaders = [
  'Campaign status',
  'Campaign',
  'Day',
  'Ad group',
  'Campaign ID',
  'Ad group ID',
  'Ad ID',
  'Ad name',
  'Search impr. share',
  'Impr.',
  'Clicks',
  'Currency code',
  'Cost',
  'Conversions',
  'Conv. value',
];

const englishShape: TableShape = {
  ...base,
  filename: 'Campaign report.csv',
  encoding: 'utf-8',
  delimiter: ',',
  lineBreak: '\n',
  titles: ['Campaign report', '"March 27, 2026 - April 23, 2026"'],
  columns: columns(englishHeaders, english, 'USD'),
  words: ['Sale', 'Brand, US', 'Größe "XL"', 'Remarketing'],
  currency: 'USD',
  currencyDigits: 2,
  lastRows: [
    totalRow('Total: Campaigns', ['795,836', '12,000', 'USD', '103606.77', '1,234.00', '9,999.99']),
    totalRow('Total: Account', ['895,836', '13,000', 'USD', '203606.77', '1,235.00', '9,999.99']),
    totalRow('Total: Search', ['95,836', '3,000', 'USD', '3606.77', '235.00', '999.99']),
  ],
};

export function googleCsv(size: ReportSize): GeneratedReport {
  return tableReport(englishShape, size);
}

export function googleUtf16Tabs(size: ReportSize): GeneratedReport {
  return tableReport(
    {
      ...englishShape,
      encoding: 'utf-16le with bom',
      delimiter: '\t',
      lineBreak: '\r\n',
      titles: ['Campaign report', 'All time'],
    },
    size,
  );
}

export function googlePortuguese(size: ReportSize): GeneratedReport {
  const headers = [
    'Estado da campanha',
    'Campanha',
    'Dia',
    'Grupo de anúncios',
    'ID da campanha',
    'ID do grupo de anúncios',
    'ID do anúncio',
    'Nome do anúncio',
    'Parcela de impr. na pesquisa',
    'Impr.',
    'Cliques',
    'Código da moeda',
    'Custo',
    'Conversões',
    'Valor de conv.',
  ];
  return tableReport(
    {
      ...base,
      filename: 'Relatório de campanhas.csv',
      encoding: 'utf-8',
      delimiter: ',',
      lineBreak: '\n',
      titles: ['Relatório de campanhas', '"27 de março de 2026 - 23 de abril de 2026"'],
      columns: columns(headers, portuguese, 'EUR'),
      words: ['Promoção', 'Verão', 'São João, Porto'],
      currency: 'EUR',
      currencyDigits: 2,
      lastRows: [
        totalRow('Total: Campanhas', ['18\u00a0158', '1\u00a0200', 'EUR', '2473,94', '12,00', '99,99']),
        totalRow('Total: Conta', ['18\u00a0158', '1\u00a0200', 'EUR', '2473,94', '12,00', '99,99']),
      ],
    },
    size,
  );
}

export function googleJapanese(size: ReportSize): GeneratedReport {
  const headers = [
    'キャンペーンのステータス',
    'キャンペーン',
    '日',
    '広告グループ',
    'キャンペーン ID',
    '広告グループ ID',
    '広告 ID',
    '広告名',
    '検索インプレッション シェア',
    '表示回数',
    'クリック数',
    '通貨コード',
    '費用',
    'コンバージョン',
    'コンバージョン値',
  ];
  return tableReport(
    {
      ...base,
      filename: 'キャンペーン レポート.csv',
      encoding: 'utf-16le with bom',
      delimiter: '\t',
      lineBreak: '\n',
      titles: ['キャンペーン レポート', '2026年3月27日～2026年4月23日'],
      columns: columns(headers, english, 'JPY'),
      words: ['セール', 'ブランド', '春の新作'],
      currency: 'JPY',
      currencyDigits: 0,
      lastRows: [
        totalRow('合計: キャンペーン', ['795,836', '12,000', 'JPY', '103606', '1,234.00', '9,999']),
        totalRow('合計: アカウント', ['795,836', '12,000', 'JPY', '103606', '1,234.00', '9,999']),
      ],
    },
    size,
  );
}
