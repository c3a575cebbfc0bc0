import type { Database } from '../../../lib/postgres/db.ts';
import { figureErrors } from './errors.ts';
import {
  countOverlaps,
  type GroupPosition,
  type GroupQuery,
  listGroups,
  type SummaryRow,
} from './summary-store.ts';
import {
  dailyOnly,
  type FigureFilter,
  type FigureGroup,
  type FigureKind,
  figureLevels,
  type Grouping,
  groupings,
  periodOnly,
  type Sorting,
} from './types.ts';

export interface GroupChoice {
  groupBy: Grouping;
  sort: Sorting;
  isDescending: boolean;
}

export interface Summary {
  groups: FigureGroup[];
  /** One per currency, and for reports without a day one per range, too. */
  totals: FigureGroup[];
  next: GroupPosition | null;
  notes: { code: string; message: string }[];
}

/** Sums by group, and what to know about them. */
export async function readSummary(db: Database, query: GroupQuery): Promise<Summary> {
  return db.read(query.tenantId, async (tx) => {
    const rows = await listGroups(tx, { ...query, limit: query.limit + 1 });
    const totals = rows.filter(({ isTotal }) => isTotal);
    const found = rows.filter(({ isTotal }) => !isTotal);
    const groups = found.slice(0, query.limit);
    const last = found.length > groups.length ? groups.at(-1) : undefined;
    const isMixed = figureLevels.filter((level) => totals.some((total) => total[level])).length > 1;
    const overlaps = isMixed ? await countOverlaps(tx, query) : 0;
    return { groups, totals, next: last ? positionOf(last) : null, notes: notesFor(query, overlaps) };
  });
}

function positionOf({ sortValue, key, currency, dateFrom, dateTo }: SummaryRow): GroupPosition {
  return { value: sortValue, key: key ?? '', currency: currency ?? '', from: dateFrom, to: dateTo };
}

function notesFor({ kind }: FigureFilter, overlaps: number): Summary['notes'] {
  if (overlaps === 0) return [];
  const what = kind === 'daily' ? 'days' : 'ranges';
  return [
    {
      code: 'levels_overlap',
      message:
        `Reports of several levels (campaign, ad set, ad) state one campaign on ${overlaps} ${what}; these ` +
        'sums contain them more than once. Choose a level to count each figure once.',
    },
  ];
}

/** How groups are made and sorted when the request leaves it open: time in order, entities by what they cost. */
export function groupChoice(
  kind: FigureKind,
  wish: { groupBy?: Grouping | undefined; sort?: Sorting | undefined; order?: 'asc' | 'desc' | undefined },
): GroupChoice {
  const groupBy = wish.groupBy ?? (kind === 'daily' ? 'day' : 'range');
  refuseForeign(kind, groupBy);
  const sort = wish.sort ?? (dailyOnly.has(groupBy) || periodOnly.has(groupBy) ? 'key' : 'spend');
  const order = wish.order ?? (sort === 'key' ? 'asc' : 'desc');
  return { groupBy, sort, isDescending: order === 'desc' };
}

function refuseForeign(kind: FigureKind, groupBy: Grouping): void {
  const foreign = kind === 'daily' ? periodOnly : dailyOnly;
  if (!foreign.has(groupBy)) return;
  const allowed = groupings.filter((one) => !foreign.has(one)).join(', ');
  throw figureErrors.raise.grouping_not_possible(
    `${kind === 'daily' ? 'Daily figures' : 'Figures of reports without a day'} cannot be grouped by ${groupBy}; ` +
      `allowed: ${allowed}`,
    { fields: [{ pointer: '/group_by', message: `must be one of ${allowed}` }] },
  );
}
