import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { amountFields, countFields, type FactType } from '../reports/types.ts';
import type { Upload } from '../types.ts';
import { resolvedId, type Target } from './store.ts';

/** The next staged facts after a row, or these, or all. */
export type FactSelection = { afterRow: number; limit: number } | { rowIndexes: readonly number[] } | 'all';

/** `breakdown`: every line by itself; a fact type: one fact per key, with the sums of the lines that share it. */
export interface StagedSource {
  type: FactType | 'breakdown';
  selection: FactSelection;
}

/** Whether lines of the file share keys, so that their sums are in `staging_repeats`. */
export const hasRepeats = ({ layout }: Pick<Upload, 'layout'>): boolean => layout?.has_repeats === true;

/** The columns that the report is broken down by. */
export const dimensionsOf = ({ layout }: Pick<Upload, 'layout'>): string[] =>
  (layout?.dimensions as string[] | undefined) ?? [];

/** `whole`: the staged facts with the production ids of their parents. Each parent is looked up once. */
export function factsOf(target: Target, source: StagedSource): Sql {
  return sql`staged as materialized (
      ${stagedFacts(target, source)}
    ), named as (
      select distinct s.campaign_external_id, s.ad_set_external_id, s.ad_external_id
        from staged s
    ), known as materialized (
      select n.entity_type, n.external_id,
             ${resolvedId(target, sql`n.entity_type`, sql`n.external_id`)} as production_id
        from (select distinct e.entity_type, e.external_id
                from named n,
                     lateral (values
                       ('campaign', n.campaign_external_id),
                       ('ad_set', n.ad_set_external_id),
                       ('ad', n.ad_external_id)) e (entity_type, external_id)
               where e.external_id is not null) n
    ), whole as materialized (
      select s.*, c.production_id as campaign_id, g.production_id as ad_set_id, a.production_id as ad_id,
             (c.production_id is null and s.campaign_external_id is not null)
               or (g.production_id is null and s.ad_set_external_id is not null)
               or (a.production_id is null and s.ad_external_id is not null) as lacks_parent
        from staged s
        left join known c on c.entity_type = 'campaign' and c.external_id = s.campaign_external_id
        left join known g on g.entity_type = 'ad_set' and g.external_id = s.ad_set_external_id
        left join known a on a.entity_type = 'ad' and a.external_id = s.ad_external_id
    )`;
}

const ownColumns = trustedSql(
  'row_index metric_date date_to campaign_external_id ad_set_external_id ad_external_id line_no'
    .split(' ')
    .map((column) => `s.${column}`)
    .join(', '),
);
const counts: readonly string[] = countFields;
const stated: readonly string[] = [...countFields, ...amountFields, 'currency'];
const lineFigures = trustedSql(stated.map((figure) => `s.${figure}`).join(', '));
/** Of a key on several lines, the figures are those of its sum. */
const summedFigures = trustedSql(
  stated
    .map((figure) => {
      const sum = counts.includes(figure) ? `r.${figure}::bigint` : `r.${figure}`;
      return `case when r.head_row is null then s.${figure} else ${sum} end as ${figure}`;
    })
    .join(', '),
);

/** One row per fact that is promoted. */
export function stagedFacts(target: Target, source: StagedSource): Sql {
  if (source.type === 'breakdown') return stagedBreakdowns(target, source.selection);
  const figures = hasRepeats(target) ? summedFigures : lineFigures;
  return sql`select ${ownColumns}, ${figures}
        from ${stagedRows(target)}
       where ${areSelected(target, source)}`;
}

/** Dimensions by which lines do not differ are settings of the whole file and left out. */
function stagedBreakdowns(target: Target, selection: FactSelection): Sql {
  const occurrence = hasRepeats(target) ? sql`coalesce(r.occurrence, 0)` : sql`0`;
  return sql`select ${ownColumns}, ${lineFigures}, ${occurrence} as occurrence, (
               select coalesce(jsonb_object_agg(e.key, e.value), '{}')
                 from jsonb_each(s.dimensions) e
                where e.key = any(${dimensionsOf(target)}::text[])) as dimensions
        from ${stagedRows(target)}
       where ${areSelected(target, { type: 'breakdown', selection })}`;
}

/** Staged rows `s`; for a file whose lines share keys, with what was recorded about that, `r`. */
export function stagedRows(target: Target): Sql {
  if (!hasRepeats(target)) return sql`staging_rows s`;
  return sql`staging_rows s
        left join staging_repeats r
          on r.tenant_id = s.tenant_id and r.upload_id = s.upload_id and r.row_index = s.row_index`;
}

/** Of `stagedRows`: those that are promoted, in the order of the file and within the selection. */
export function areSelected(target: Target, { type, selection }: StagedSource): Sql {
  const ours = sql`s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and ${isOfType(type)}
         and ${isPromotable(target, type)}`;
  if (selection === 'all') return ours;
  if ('afterRow' in selection) {
    return sql`${ours}
         and s.row_index > ${selection.afterRow}
       order by s.row_index
       limit ${selection.limit}`;
  }
  const { rowIndexes } = selection;
  // The range is given as well: without statistics, PostgreSQL before 17 would read all rows of the upload.
  return sql`${ours}
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])`;
}

function isOfType(type: StagedSource['type']): Sql {
  return type === 'breakdown'
    ? sql`s.entity_type in ('daily_metric', 'period_metric')`
    : trustedSql(`s.entity_type = '${type}'`);
}

/** A key on several lines is promoted with its first line, even when that one was refused and others were not. */
function isPromotable(target: Target, type: StagedSource['type']): Sql {
  const isValid = sql`s.validation_status = 'valid'`;
  // Nothing is refused before the facts of a plain report, and the planner would take the check for a rare case.
  if (!hasRepeats(target) && dimensionsOf(target).length === 0) return isValid;
  if (!hasRepeats(target)) return sql`${isValid} and s.promotion_error is null`;
  if (type === 'breakdown') {
    return sql`${isValid} and s.promotion_error is null and (r.part is null or r.part = 'adds')`;
  }
  return sql`${isValid} and case
           when r.head_row is null then s.promotion_error is null
           else r.head_row = s.row_index and r.lines > 0 end`;
}
