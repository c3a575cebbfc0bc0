import { isoDay, oneOf, type SearchOf, searchParser, text } from '../../list-state.ts';

export const kinds = ['daily', 'period'] as const;
export const groupings = [
  'day',
  'week',
  'month',
  'range',
  'campaign',
  'ad_set',
  'ad',
  'platform',
  'client',
] as const;
export const levels = ['campaign', 'ad_set', 'ad'] as const;
export const figures = [
  'spend',
  'impressions',
  'clicks',
  'link_clicks',
  'conversions',
  'conversion_value',
] as const;

export type Kind = (typeof kinds)[number];
export type Grouping = (typeof groupings)[number];
export type Level = (typeof levels)[number];
export type Figure = (typeof figures)[number];

export interface FiguresSearch {
  kind: Kind;
  by: Grouping;
  client: string;
  platform: string;
  campaign: string;
  currency: string;
  level: Level;
  from: string;
  to: string;
  /** What the chart shows and the list is sorted by. */
  figure: Figure;
  /** The address of the rows behind the figures that the drawer shows. */
  behind: string;
}

export const figuresSearch = searchParser<FiguresSearch>({
  kind: oneOf(kinds),
  by: oneOf(groupings),
  client: text(),
  platform: text(),
  campaign: text(),
  currency: text(),
  level: oneOf(levels),
  from: isoDay(),
  to: isoDay(),
  figure: oneOf(figures),
  behind: text(),
});

export type FiguresState = SearchOf<typeof figuresSearch>;
