import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { areAskedFor, figureTables, isOfLevel } from './filter-store.ts';
import {
  type FigureFilter,
  type FigureGroup,
  type FigureLevel,
  figureLevels,
  type Grouping,
  type Sorting,
  type SummedField,
  summedFields,
} from './types.ts';

export interface GroupQuery extends FigureFilter {
  groupBy: Grouping;
  sort: Sorting;
  isDescending: boolean;
  /** The last group of the previous page. */
  after: GroupPosition | null;
  limit: number;
}

/** The value that groups are sorted by, then what tells groups of one value apart. */
export interface GroupPosition {
  value: string;
  key: string;
  currency: string;
  from: string;
  to: string;
}

export type SummaryRow = FigureGroup & Record<FigureLevel, boolean> & { isTotal: boolean; sortValue: string };

/**
 * The totals and one page of groups. A group has one currency; figures of reports without a day are added up only over
 * the same range, because ranges may overlap.
 */
export function listGroups(tx: Tx, query: GroupQuery): Promise<SummaryRow[]> {
  const { table, from, to } = figureTables[query.kind];
  const { column, key, names } = groupColumns[query.groupBy];
  const isPeriod = query.kind === 'period';
  const range = isPeriod ? sql`, s.date_from, s.date_to` : sql``;
  const sort = sortColumn(query);
  return tx.rows<SummaryRow>(sql`
    with summed as materialized (
      select ${column} as grouped, p.currency, min(${from}) as date_from, max(${to}) as date_to, count(*) as rows,
             ${eachFigure((figure) => `sum(p.${figure}) as ${figure}`)}, ${levelFlags}
        from ${table}
       where ${areAskedFor(query)}
       group by ${column}, p.currency ${isPeriod ? sql`, ${from}, ${to}` : sql``}
    ), keyed as materialized (
      select grouping(${key}) = 1 as is_total, ${key} as key, s.currency, min(s.date_from)::text as date_from,
             max(s.date_to)::text as date_to, sum(s.rows) as rows,
             ${eachFigure((figure) => `sum(s.${figure}) as ${figure}`)},
             ${eachLevel((level) => `bool_or(s.${level}) as ${level}`)}
        from summed s
       group by grouping sets ((${key}, s.currency ${range}), (s.currency ${range}))
    ), named as (
      select k.*, ${names.columns}
        from keyed k
        ${names.joins(query.tenantId)}
    ), placed as (
      select n.*, ${sort.value} as sort_value
        from named n
    ), page as (
      select n.*
        from placed n
       where not n.is_total
         and ${isAfter(query)}
       order by n.sort_value ${direction(query)}, ${tieBreak}
       limit ${query.limit}
    )
    select ${shownColumns}
      from placed n
     where n.is_total
     union all
    select ${shownColumns}
      from page n
     order by "isTotal" desc, "sortPlace" ${direction(query)}, "keyPlace", "currencyPlace", "dateFrom", "dateTo"`);
}

interface GroupColumns {
  /** The column of figures `p` that they are added up by first; a day is turned into its week only afterwards. */
  column: Sql;
  /** The key, made of `s.grouped`. */
  key: Sql;
  names: { columns: Sql; joins: (tenantId: string) => Sql };
}

const nameless = {
  columns: sql`null::text as name, null::text as external_id, null::text as campaign_name, null::text as ad_set_name`,
  joins: () => sql``,
};

const groupColumns: Record<Grouping, GroupColumns> = {
  day: { column: sql`p.metric_date`, key: sql`s.grouped::text`, names: nameless },
  week: { column: sql`p.metric_date`, key: sql`date_trunc('week', s.grouped)::date::text`, names: nameless },
  month: { column: sql`p.metric_date`, key: sql`to_char(s.grouped, 'YYYY-MM')`, names: nameless },
  range: {
    column: sql`p.date_from`,
    key: sql`(s.date_from::text || '/' || s.date_to::text)`,
    names: nameless,
  },
  campaign: {
    column: sql`p.campaign_id`,
    key: sql`s.grouped::text`,
    names: {
      columns: sql`e.name, e.external_id, null::text as campaign_name, null::text as ad_set_name`,
      joins: (tenantId) =>
        sql`left join campaigns e on e.tenant_id = ${tenantId} and e.campaign_id = k.key::uuid`,
    },
  },
  ad_set: {
    column: sql`p.ad_set_id`,
    key: sql`s.grouped::text`,
    names: {
      columns: sql`e.name, e.external_id, c.name as campaign_name, null::text as ad_set_name`,
      joins: (tenantId) => sql`left join ad_sets e on e.tenant_id = ${tenantId} and e.ad_set_id = k.key::uuid
        left join campaigns c on c.tenant_id = ${tenantId} and c.campaign_id = e.campaign_id`,
    },
  },
  ad: {
    column: sql`p.ad_id`,
    key: sql`s.grouped::text`,
    names: {
      columns: sql`e.name, e.external_id, c.name as campaign_name, g.name as ad_set_name`,
      joins: (tenantId) => sql`left join ads e on e.tenant_id = ${tenantId} and e.ad_id = k.key::uuid
        left join campaigns c on c.tenant_id = ${tenantId} and c.campaign_id = e.campaign_id
        left join ad_sets g on g.tenant_id = ${tenantId} and g.ad_set_id = e.ad_set_id`,
    },
  },
  platform: { column: sql`p.platform`, key: sql`s.grouped`, names: nameless },
  client: { column: sql`p.client_id`, key: sql`s.grouped::text`, names: nameless },
};

const levelFlags = figureLevels
  .map((level) => sql`bool_or(${isOfLevel(level)}) as ${trustedSql(level)}`)
  .reduce((all, flag) => sql`${all}, ${flag}`);

const eachFigure = (write: (figure: SummedField) => string): Sql =>
  trustedSql(summedFields.map(write).join(', '));
const eachLevel = (write: (level: FigureLevel) => string): Sql =>
  trustedSql(figureLevels.map(write).join(', '));

const direction = ({ isDescending }: GroupQuery): Sql => (isDescending ? sql`desc` : sql`asc`);

/** What has no value comes last in either direction. */
function sortColumn({ sort, isDescending }: GroupQuery): { value: Sql; type: Sql } {
  if (sort === 'key')
    return { value: sql`coalesce(lower(n.name), n.external_id, n.key, '')`, type: sql`text` };
  const last = isDescending ? sql`'-Infinity'::numeric` : sql`'Infinity'::numeric`;
  return { value: sql`coalesce(n.${trustedSql(sort)}, ${last})`, type: sql`numeric` };
}

const tieBreak = sql`coalesce(n.key, ''), coalesce(n.currency, ''), n.date_from, n.date_to`;

function isAfter(query: GroupQuery): Sql {
  const { after } = query;
  if (after === null) return sql`true`;
  const value = sql`${after.value}::${sortColumn(query).type}`;
  const beyond = query.isDescending ? sql`<` : sql`>`;
  return sql`(n.sort_value ${beyond} ${value} or (n.sort_value = ${value}
           and (${tieBreak}) > (${after.key}, ${after.currency}, ${after.from}, ${after.to})))`;
}

const shownColumns = sql`n.is_total as "isTotal", n.key, n.name, n.external_id as "externalId",
       n.campaign_name as "campaignName", n.ad_set_name as "adSetName", n.currency, n.date_from as "dateFrom",
       n.date_to as "dateTo", n.rows::bigint as rows, ${eachFigure((figure) => `n.${figure}::text as ${figure}`)},
       ${eachLevel((level) => `n.${level}`)}, n.sort_value::text as "sortValue", n.sort_value as "sortPlace",
       coalesce(n.key, '') as "keyPlace", coalesce(n.currency, '') as "currencyPlace"`;

/** On how many days (or ranges) of a campaign several levels of reports state figures, which a sum counts twice. */
export async function countOverlaps(tx: Tx, filter: FigureFilter): Promise<number> {
  const { table, from, to } = figureTables[filter.kind];
  const found = await tx.find<{ overlaps: number }>(sql`
    select count(*)::integer as overlaps
      from (select 1
              from ${table}
             where ${areAskedFor(filter)}
             group by p.workspace_id, p.client_id, p.platform, p.campaign_id, ${from}, ${to}
            having bool_or(${isOfLevel('campaign')})::integer + bool_or(${isOfLevel('ad_set')})::integer
                   + bool_or(${isOfLevel('ad')})::integer > 1) o`);
  return found?.overlaps ?? 0;
}
