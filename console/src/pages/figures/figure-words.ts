import type { FigureGroup, FigureTotal } from '../../api/types.ts';
import { count } from '../../parts/number.ts';
import type { Point } from '../../parts/scale.ts';
import { filledSeries } from '../../parts/scale.ts';
import type { Figure, Grouping, Kind } from './search.ts';

export const groupingTitles: Record<Grouping, string> = {
  day: 'Day',
  week: 'Week',
  month: 'Month',
  range: 'Range',
  campaign: 'Campaign',
  ad_set: 'Ad set',
  ad: 'Ad',
  platform: 'Platform',
  client: 'Client',
};

export const figureTitles: Record<Figure, string> = {
  spend: 'Spend',
  impressions: 'Impressions',
  clicks: 'Clicks',
  link_clicks: 'Link clicks',
  conversions: 'Conversions',
  conversion_value: 'Conversion value',
};

const amount = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fraction = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const money = new Set<Figure>(['spend', 'conversion_value']);

/** 1,234.50 for money, 1,234 for counts; a dash for what nobody stated. */
export function figureText(figure: Figure, value: number | null): string {
  if (value === null) return '–';
  if (money.has(figure)) return amount.format(value);
  return figure === 'conversions' ? fraction.format(value) : count(value);
}

/** With the currency where the figure is money. */
export function figureWithUnit(figure: Figure, total: FigureTotal): string {
  const text = figureText(figure, total[figure]);
  return money.has(figure) && total[figure] !== null ? `${text} ${total.currency ?? ''}`.trim() : text;
}

/** Daily figures have no ranges, and reports without a day have no days. */
export function groupingsOf(kind: Kind): Grouping[] {
  const own: Grouping[] = kind === 'daily' ? ['day', 'week', 'month'] : ['range'];
  return [...own, 'campaign', 'ad_set', 'ad', 'platform', 'client'];
}

/** The name of a group first, its id only where it has none. */
export function groupName(by: Grouping, { key, name, external_id: id }: FigureGroup): string {
  if (by === 'range' && key !== null) return key.replace('/', ' – ');
  if (by === 'week' && key !== null) return `Week of ${key}`;
  return name ?? id ?? key ?? `No ${groupingTitles[by].toLowerCase()}`;
}

/** Where an ad or ad set belongs. */
export function groupParents({ campaign_name: campaign, ad_set_name: adSet }: FigureGroup): string {
  return [campaign, adSet].filter((name) => name !== null).join(' › ');
}

const dayMs = 86_400_000;

/** By day while that is readable, by week for longer times. */
export function chartStep(from: string, to: string): 'day' | 'week' {
  return (Date.parse(to) - Date.parse(from)) / dayMs > 180 ? 'week' : 'day';
}

/** One line per currency; days without figures are zero. */
export function chartSeries(
  groups: readonly FigureGroup[],
  { figure, step }: { figure: Figure; step: 'day' | 'week' },
): { currency: string | null; points: Point[] }[] {
  const stepMs = step === 'day' ? dayMs : 7 * dayMs;
  const currencies = [...new Set(groups.map(({ currency }) => currency))];
  return currencies.map((currency) => {
    const points = groups
      .filter((group) => group.currency === currency && group.key !== null)
      .map((group) => ({ at: Date.parse(group.key ?? ''), value: group[figure] ?? 0 }))
      .toSorted((a, b) => a.at - b.at);
    const [first, last] = [points[0], points.at(-1)];
    if (first === undefined || last === undefined) return { currency, points };
    return { currency, points: filledSeries(points, { from: first.at, to: last.at + 1, stepMs }) };
  });
}
