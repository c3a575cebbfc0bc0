import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { type StoredSums, sumsOf } from '../reconciliation/sums-store.ts';
import { amountFields, countFields, type FactType, type ReportField } from '../reports/types.ts';
import type { Upload } from '../types.ts';
import { factsOf, type StagedSource } from './facts-store.ts';
import { asOf, commaList, isConcerned, isNewest, lineAfter, provenanceAfter, type Target } from './store.ts';

const figures: readonly ReportField[] = [...countFields, ...amountFields, 'currency'];
const figureColumns = figuresOf((figure) => trustedSql(figure));

export function figuresOf(write: (figure: ReportField) => Sql): Sql {
  return commaList(figures.map(write));
}

interface FactTable {
  table: Sql;
  key: Sql;
  dates: readonly string[];
}

const factTables: Record<FactType, FactTable> = {
  daily_metric: { table: sql`daily_metrics`, key: sql`daily_metrics_key`, dates: ['metric_date'] },
  period_metric: {
    table: sql`period_metrics`,
    key: sql`period_metrics_key`,
    dates: ['date_from', 'date_to'],
  },
};

function statedColumns({ dates }: FactTable): Sql {
  return sql`tenant_id, workspace_id, client_id, platform, ${trustedSql(dates.join(', '))}, campaign_id, ad_set_id,
        ad_id, ${figureColumns}, line_no, as_of, created_by_upload, last_upload`;
}

/** For facts: the planner knows nothing about the parents of a batch and would go through all of them for each row. */
export const byHash = {
  enable_nestloop: 'off',
  // A nested loop that is used all the same looks so expensive that PostgreSQL would compile the query.
  jit: 'off',
};

export interface MetricsReport extends StoredSums {
  /** Null when no row was selected. */
  lastRow: number | null;
  /** Rows with an unresolved parent. They are not written; the caller decides what to do with them. */
  orphans: number[];
}

export const nothingWritten: MetricsReport = {
  lastRow: null,
  orphans: [],
  promoted: null,
  superseded: null,
  supersededRows: 0,
};

/**
 * Inserts the daily facts of a batch if production has none yet for their ads on these days; otherwise `isNew` is false
 * and nothing is written. Without a conflict clause the insert takes 40 % less time. If somebody writes the same facts
 * at the same moment, the unique key makes it fail, and the caller upserts them.
 */
export async function insertMetrics(
  tx: Tx,
  target: Target,
  source: StagedSource,
): Promise<MetricsReport & { isNew: boolean }> {
  const report = await tx.find<MetricsReport & { isNew: boolean }>(sql`
    with ${factsOf(target, source)}, novelty as materialized (
      select coalesce(bool_and(g.has_all and (
               select false
                 from daily_metrics m
                where m.ad_id = g.ad_id
                  and m.ad_set_id = g.ad_set_id
                  and m.campaign_id = g.campaign_id
                  and m.metric_date between g.first_day and g.last_day
                limit 1) is null), true) as is_new
        from (select w.ad_id, w.ad_set_id, w.campaign_id, min(w.metric_date) as first_day,
                     max(w.metric_date) as last_day,
                     w.ad_id is not null and w.ad_set_id is not null and w.campaign_id is not null as has_all
                from whole w
               where not w.lacks_parent
               group by w.ad_id, w.ad_set_id, w.campaign_id) g
    ), put as (
      insert into daily_metrics (
        ${statedColumns(factTables.daily_metric)})
      ${rowsToPut(target, factTables.daily_metric, sql`(select v.is_new from novelty v)`)}
      returning ${figureColumns}
    )
    select (select v.is_new from novelty v) as "isNew", ${reported()},
           (select ${sumsOf(sql`q`)} from put q) as promoted, null::jsonb as superseded, 0 as "supersededRows"
      from whole w`);
  return report ?? { ...nothingWritten, isNew: true };
}

/** Facts without a parent, which older versions stored, get theirs. */
const keyIsResolved = sql`unresolved_key = case when ${isNewest} then null else p.unresolved_key end,`;

/** Writes the facts of a batch over those in production, except where a newer upload wrote them. */
export async function upsertMetrics(
  tx: Tx,
  target: Target,
  { type, ...source }: StagedSource & { type: FactType },
): Promise<MetricsReport> {
  const fact = factTables[type];
  const said = sql`excluded`;
  const has = statedFigures(target.layout);
  const isOurs = sql`q.as_of = ${asOf(target)}`;
  const report = await tx.find<MetricsReport>(sql`
    with ${factsOf(target, { ...source, type })}, put as (
      insert into ${fact.table} as p (
        ${statedColumns(fact)})
      ${rowsToPut(target, fact, sql`true`)}
      on conflict on constraint ${fact.key} do update
         set (${figureColumns}) = row(${figuresAfter(target, said, { where: isNewest })}),
             ${type === 'daily_metric' ? keyIsResolved : sql``}
             ${lineAfter(differsFrom(target, said))}
             ${provenanceAfter(differsFrom(target, said))}
       where ${isConcerned}
      returning ${figureColumns}, as_of
    )
    select ${reported()},
           (select ${sumsOf(sql`q`, has)} from put q where ${isOurs}) as promoted,
           (select ${sumsOf(sql`w`, has)} from whole w where not w.lacks_parent) as superseded,
           count(*) filter (where not w.lacks_parent)
             - (select count(*) from put q where ${isOurs}) as "supersededRows"
      from whole w`);
  if (!report) return nothingWritten;
  // Nearly always everything is stored; then nothing was superseded.
  return report.supersededRows === 0 ? { ...report, superseded: null } : report;
}

/** The rows are sorted by key so that two uploads lock them in the same order. */
function rowsToPut(target: Target, { dates }: FactTable, condition: Sql): Sql {
  const staged = dates.length === 1 ? sql`w.metric_date` : sql`w.metric_date, w.date_to`;
  return sql`select ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
             ${staged}, w.campaign_id, w.ad_set_id, w.ad_id, ${figuresOf((figure) => trustedSql(`w.${figure}`))},
             w.line_no, ${asOf(target)}, ${target.uploadId}::uuid, ${target.uploadId}::uuid
        from whole w
       where not w.lacks_parent
         and ${condition}
       order by w.ad_id, w.ad_set_id, w.campaign_id, ${staged}`;
}

export function reported(): Sql {
  return sql`max(w.row_index) as "lastRow",
           coalesce(array_agg(w.row_index order by w.row_index) filter (where w.lacks_parent), '{}') as orphans`;
}

/**
 * What fact `p` of production holds after the upload's row `said` is applied. A figure that the file has no column for
 * stays as it is; an empty cell of an existing column clears it. Nothing changes where the condition does not hold.
 */
export function figuresAfter(
  { layout }: Pick<Upload, 'layout'>,
  said: Sql,
  { where = sql`true` }: { where?: Sql } = {},
): Sql {
  const has = statedFigures(layout);
  return figuresOf((figure) => {
    const column = trustedSql(figure);
    return has(figure)
      ? sql`case when ${where} then ${said}.${column} else p.${column} end`
      : sql`p.${column}`;
  });
}

/** Whether the upload's row `said` states other figures than fact `p` of production. */
export function differsFrom(target: Pick<Upload, 'layout'>, said: Sql): Sql {
  const held = figuresOf((figure) => trustedSql(`p.${figure}`));
  return sql`((${held}) is distinct from (${figuresAfter(target, said)}))`;
}

/** Which figures the file has columns for. Older layouts did not record it; then all of them count. */
function statedFigures(layout: Upload['layout']): (field: string) => boolean {
  const sources = layout?.sources as Record<string, string> | undefined;
  // The header of an amount may name the currency of every row.
  const hasCurrency = typeof layout?.currency === 'string';
  return (field) =>
    sources === undefined || Object.hasOwn(sources, field) || (field === 'currency' && hasCurrency);
}
