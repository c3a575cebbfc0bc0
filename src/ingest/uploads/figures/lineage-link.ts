import type { FilterQuery } from './query.ts';
import type { FigureGroup, Grouping } from './types.ts';

/** The address of the stored rows that the figures of a group are the sums of. */
export function lineageLink(query: FilterQuery, groupBy: Grouping, group: FigureGroup): string {
  const own = { ...filterOf(query), ...narrowed(query, groupBy, group), currency: group.currency ?? 'none' };
  return `/api/data/lineage?${new URLSearchParams(own)}`;
}

const filterNames = [
  'kind',
  'workspace_id',
  'client_id',
  'platform',
  'campaign_id',
  'campaign',
  'ad_set_id',
  'ad_id',
  'level',
  'upload_id',
  'from',
  'to',
] as const satisfies (keyof FilterQuery)[];

function filterOf(query: FilterQuery): Record<string, string> {
  const given = filterNames.map((name) => [name, query[name]] as const);
  return Object.fromEntries(
    given.filter((entry): entry is [(typeof entry)[0], string] => entry[1] !== undefined),
  );
}

function narrowed(
  { kind }: FilterQuery,
  groupBy: Grouping,
  { key, dateFrom, dateTo }: FigureGroup,
): Record<string, string> {
  const days: Record<string, string> =
    kind === 'daily' ? { from: dateFrom, to: dateTo } : { range: `${dateFrom}/${dateTo}` };
  const name = keyNames[groupBy];
  return name === undefined ? days : { ...days, [name]: key ?? 'none' };
}

const keyNames: Partial<Record<Grouping, keyof FilterQuery>> = {
  campaign: 'campaign_id',
  ad_set: 'ad_set_id',
  ad: 'ad_id',
  client: 'client_id',
  platform: 'platform',
};
