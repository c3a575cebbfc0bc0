import type { GeneratedReport, ReportSize } from './generated-report.ts';
import { type TableColumn, type TableShape, tableReport } from './table-report.ts';
import { written } from './written-numbers.ts';

const machine = { group: '', decimalMark: '.' };

function columns(headers: readonly string[], currency: string): TableColumn[] {
  const digits = currency === 'JPY' ? 0 : 2;
  const cells: TableColumn['cell'][] = [
    ({ day }) => day,
    ({ campaign }) => campaign.name,
    ({ campaign }) => campaign.id,
    ({ adSet }) => adSet.name,
    ({ adSet }) => adSet.id,
    ({ ad }) => ad.name,
    ({ ad }) => ad.id,
    () => '-',
    () => currency,
    ({ spend }) => written(spend, digits, machine),
    () => '0.20',
    ({ impressions }) => String(impressions),
    ({ clicks }) => String(clicks),
    () => '1.18%',
    ({ reach }) => String(reach),
    ({ conversions }) => written(conversions, 2, machine),
  ];
  return cells.map((cell, at) => ({ header: headers[at] ?? '', cell }));
}

const totalRow = (label: string, currency: string) => [
  label,
  ...Array<string>(7).fill('-'),
  currency,
  '99',
  '0.2',
  '795836',
  '1200',
  '1.18%',
  '5000',
  '12',
];

const base = {
  platform: 'tiktok',
  delimiter: ',',
  titles: [],
  firstRows: [],
  levels: 3,
  hasIds: true,
  has: ['impressions', 'linkClicks', 'reach', 'spend', 'conversions'],
} as const;

export function tiktokCsv(size: ReportSize): GeneratedReport {
  const headers = [
    'By Day',
    'Campaign name',
    'Campaign ID',
    'Ad group name',
    'Ad group ID',
    'Ad name',
    'Ad ID',
    'Website URL (Ad level\uff09',
    'Currency',
    'Cost',
    'CPC (destination)',
    'Impressions',
    'Clicks (destination)',
    'CTR (destination)',
    'Reach',
    'Conversions',
  ];
  const shape: TableShape = {
    ...base,
    filename: 'report.csv',
    encoding: 'utf-8',
    lineBreak: '\n',
    columns: columns(headers, 'USD'),
    words: ['Sale', 'Spark, ads', 'UGC'],
    currency: 'USD',
    currencyDigits: 2,
    lastRows: [totalRow(`Total of ${size.rows} results`, 'USD')],
  };
  return tableReport(shape, size);
}

export function tiktokShiftJis(size: ReportSize): GeneratedReport {
  const headers = [
    '日別',
    'キャンペーン名',
    'キャンペーンID',
    '広告グループ名',
    '広告グループID',
    '広告名',
    '広告ID',
    'ウェブサイトURL（広告レベル）',
    '通貨',
    '消化金額',
    'CPC（遷移先）',
    'インプレッション数',
    'クリック数（遷移先）',
    'CTR（遷移先）',
    'リーチ',
    'コンバージョン数',
  ];
  const shape: TableShape = {
    ...base,
    filename: 'レポート.csv',
    encoding: 'shift_jis',
    lineBreak: '\r\n',
    columns: columns(headers, 'JPY'),
    words: ['セール', '表示ソ能', '春の新作'],
    currency: 'JPY',
    currencyDigits: 0,
    lastRows: [totalRow(`全${size.rows}件の結果`, 'JPY')],
  };
  return tableReport(shape, size);
}
