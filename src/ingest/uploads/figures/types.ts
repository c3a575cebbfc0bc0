import { additiveFields } from '../reports/types.ts';

/** Figures of single days, or of reports without a day. The two are never added together. */
export const figureKinds = ['daily', 'period'] as const;
export type FigureKind = (typeof figureKinds)[number];

/** The lowest entity that a row of figures is about. */
export const figureLevels = ['campaign', 'ad_set', 'ad'] as const;
export type FigureLevel = (typeof figureLevels)[number];

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
export type Grouping = (typeof groupings)[number];

export const dailyOnly: ReadonlySet<Grouping> = new Set(['day', 'week', 'month']);
export const periodOnly: ReadonlySet<Grouping> = new Set(['range']);

export const summedFields = additiveFields;
export type SummedField = (typeof summedFields)[number];

export const sortings = ['key', ...summedFields] as const;
export type Sorting = (typeof sortings)[number];

/** Which figures are read. Undefined: all of them; null: only those that have none. */
export interface FigureFilter {
  tenantId: string;
  kind: FigureKind;
  workspaceId?: string | undefined;
  clientId?: string | null | undefined;
  platform?: string | undefined;
  campaignId?: string | null | undefined;
  /** Part of the campaign's name, or its id at the platform. */
  campaign?: string | undefined;
  adSetId?: string | null | undefined;
  adId?: string | null | undefined;
  currency?: string | null | undefined;
  level?: FigureLevel | undefined;
  uploadId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  /** Of reports without a day: exactly this range, as `FROM/TO`. `from` and `to` would take shorter ones as well. */
  range?: string | undefined;
}

/** Exact decimal texts; null where nothing states the figure. */
export type Sums = Record<SummedField, string | null>;

export interface FigureGroup extends Sums {
  /** The day, the first day of the week or month, or the id; null where the figures have none. */
  key: string | null;
  name: string | null;
  externalId: string | null;
  campaignName: string | null;
  adSetName: string | null;
  currency: string | null;
  dateFrom: string;
  dateTo: string;
  rows: number;
}
