import type { ReactNode } from 'react';
import type { Ad, AdSet, Campaign, DailyMetric, MetricBreakdown, PeriodMetric } from '../../api/types.ts';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { Ago } from '../../parts/time.tsx';

const money = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
const decimal = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });

const none = <span className="dim">–</span>;
const shown = (value: string | null): ReactNode =>
  value === null ? none : <span title={value}>{value}</span>;
const whole = (value: number | null) => (value === null ? none : count(value));

/** An external id made of names means nothing to people. */
function idWords({ external_id: id, is_name_key: isName }: Pick<Campaign, 'external_id' | 'is_name_key'>) {
  return isName ? <span className="dim">by name</span> : <span className="mono">{id}</span>;
}

export const campaignColumns: readonly Column<Campaign>[] = [
  { id: 'name', header: 'Campaign', cell: ({ name }) => shown(name) },
  { id: 'id', header: 'Id', width: 180, cell: idWords },
  { id: 'status', header: 'Status', width: 130, cell: ({ status }) => shown(status) },
  { id: 'type', header: 'Type', width: 130, cell: ({ type }) => shown(type) },
  { id: 'updated', header: 'Changed', width: 120, cell: ({ updated_at: at }) => <Ago at={at} /> },
];

export const adSetColumns: readonly Column<AdSet>[] = [
  { id: 'name', header: 'Ad set', cell: ({ name }) => shown(name) },
  { id: 'id', header: 'Id', width: 180, cell: idWords },
  { id: 'campaign', header: 'Campaign', cell: ({ campaign_name: name }) => shown(name) },
  { id: 'status', header: 'Status', width: 130, cell: ({ status }) => shown(status) },
  { id: 'updated', header: 'Changed', width: 120, cell: ({ updated_at: at }) => <Ago at={at} /> },
];

export const adColumns: readonly Column<Ad>[] = [
  { id: 'name', header: 'Ad', cell: ({ name }) => shown(name) },
  { id: 'id', header: 'Id', width: 180, cell: idWords },
  { id: 'set', header: 'Ad set', cell: ({ ad_set_name: name }) => shown(name) },
  { id: 'campaign', header: 'Campaign', cell: ({ campaign_name: name }) => shown(name) },
  { id: 'status', header: 'Status', width: 130, cell: ({ status }) => shown(status) },
  { id: 'updated', header: 'Changed', width: 120, cell: ({ updated_at: at }) => <Ago at={at} /> },
];

type Fact = Omit<DailyMetric, 'metric_id' | 'metric_date'>;

function parentColumns<Row extends Fact>(): Column<Row>[] {
  return [
    {
      id: 'campaign',
      header: 'Campaign',
      cell: (row) => shown(row.campaign_name ?? row.campaign_external_id),
    },
    { id: 'set', header: 'Ad set', cell: (row) => shown(row.ad_set_name ?? row.ad_set_external_id) },
    { id: 'ad', header: 'Ad', cell: (row) => shown(row.ad_name ?? row.ad_external_id) },
  ];
}

function figureColumns<Row extends Fact>(): Column<Row>[] {
  return [
    {
      id: 'impressions',
      header: 'Impressions',
      width: 100,
      align: 'end',
      cell: (row) => whole(row.impressions),
    },
    { id: 'clicks', header: 'Clicks', width: 80, align: 'end', cell: (row) => whole(row.clicks) },
    {
      id: 'link_clicks',
      header: 'Link clicks',
      width: 90,
      align: 'end',
      cell: (row) => whole(row.link_clicks),
    },
    {
      id: 'spend',
      header: 'Spend',
      width: 150,
      align: 'end',
      cell: ({ spend, currency }) =>
        spend === null ? none : `${money.format(spend)} ${currency ?? ''}`.trim(),
    },
    {
      id: 'conversions',
      header: 'Conversions',
      width: 100,
      align: 'end',
      cell: ({ conversions }) => (conversions === null ? none : decimal.format(conversions)),
    },
  ];
}

const range = ({ date_from: from, date_to: to }: Pick<PeriodMetric, 'date_from' | 'date_to'>) => (
  <span className="num">{from === to ? from : `${from} – ${to}`}</span>
);

export const metricColumns: readonly Column<DailyMetric>[] = [
  {
    id: 'day',
    header: 'Day',
    width: 116,
    cell: ({ metric_date: day }) => <span className="num">{day}</span>,
  },
  ...parentColumns<DailyMetric>(),
  ...figureColumns<DailyMetric>(),
];

export const periodColumns: readonly Column<PeriodMetric>[] = [
  { id: 'range', header: 'Range', width: 200, cell: range },
  ...parentColumns<PeriodMetric>(),
  ...figureColumns<PeriodMetric>(),
];

export const breakdownColumns: readonly Column<MetricBreakdown>[] = [
  { id: 'range', header: 'Day or range', width: 200, cell: range },
  {
    id: 'dimensions',
    header: 'Of',
    cell: ({ dimensions }) => shown(Object.values(dimensions).join(' · ') || null),
  },
  { id: 'line', header: 'Line', width: 70, align: 'end', cell: ({ line }) => whole(line) },
  ...parentColumns<MetricBreakdown>(),
  ...figureColumns<MetricBreakdown>(),
];
