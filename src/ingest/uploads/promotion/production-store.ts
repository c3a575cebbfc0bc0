import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { EntityKind } from '../types.ts';
import { eachColumn, entityTables, joinParents } from './store.ts';

/** What was promoted, for reading. Rows have the names that the API shows. */
export interface ProductionFilter {
  tenantId: string;
  workspaceId?: string | undefined;
  platform?: string | undefined;
  /** Only rows that this upload created, or was the last to confirm or change. */
  uploadId?: string | undefined;
  limit: number;
}

export type ProductionRow = Record<string, unknown>;

export function listEntities(
  tx: Tx,
  kind: EntityKind,
  filter: ProductionFilter & { after: string | null },
): Promise<ProductionRow[]> {
  const { table, id, parents, texts } = entityTables[kind];
  return tx.rows<ProductionRow>(sql`
    select p.${id}, ${parentColumns(parents)} ${eachColumn(texts, (column) => `p.${column}`)}, p.external_id,
           p.is_name_key, ${originColumns}
      from ${table} p
      ${joinParents(parents)}
     where ${isWanted(filter)}
       and (${filter.after}::uuid is null or p.${id} > ${filter.after})
     order by p.${id}
     limit ${filter.limit}`);
}

export interface FactFilter extends ProductionFilter {
  clientId?: string | undefined;
  campaignId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  after: { date: string; id: number } | null;
}

export function listMetrics(tx: Tx, filter: FactFilter): Promise<ProductionRow[]> {
  const { after } = filter;
  const parents = ['campaign', 'ad_set', 'ad'] as const;
  return tx.rows<ProductionRow>(sql`
    select p.metric_id, p.metric_date, ${parentColumns(parents)} ${figureColumns}, ${originColumns}
      from daily_metrics p
      ${joinParents(parents)}
     where ${isWantedFact(filter)}
       and (${filter.from ?? null}::date is null or p.metric_date >= ${filter.from ?? null})
       and (${filter.to ?? null}::date is null or p.metric_date <= ${filter.to ?? null})
       and (${after === null}
            or (p.metric_date, p.metric_id) > (${after?.date ?? null}::date, ${after?.id ?? 0}::bigint))
     order by p.metric_date, p.metric_id
     limit ${filter.limit}`);
}

/** Reports without a day, by their first day. `from` and `to` bound the whole range. */
export function listPeriodMetrics(tx: Tx, filter: FactFilter): Promise<ProductionRow[]> {
  return tx.rows<ProductionRow>(sql`
    select p.metric_id, p.date_from, p.date_to, ${parentColumns(factParents)} ${figureColumns}, ${originColumns}
      from period_metrics p
      ${joinParents(factParents)}
     where ${isWantedFact(filter)}
       and ${isWithin(filter)}
       and ${isAfter(filter, sql`p.metric_id`)}
     order by p.date_from, p.metric_id
     limit ${filter.limit}`);
}

/** One row per line of a report with a breakdown: of single days, or of longer ranges. */
export function listBreakdowns(tx: Tx, filter: FactFilter & { isDaily: boolean }): Promise<ProductionRow[]> {
  return tx.rows<ProductionRow>(sql`
    select p.breakdown_id, p.date_from, p.date_to, p.dimensions, p.line_no as line,
           ${parentColumns(factParents)} ${figureColumns}, ${originColumns}
      from metric_breakdowns p
      ${joinParents(factParents)}
     where ${isWantedFact(filter)}
       and (p.date_from = p.date_to) = ${filter.isDaily}
       and ${isWithin(filter)}
       and ${isAfter(filter, sql`p.breakdown_id`)}
     order by p.date_from, p.breakdown_id
     limit ${filter.limit}`);
}

const factParents = ['campaign', 'ad_set', 'ad'] as const;

function isWithin({ from, to }: FactFilter): Sql {
  return sql`(${from ?? null}::date is null or p.date_from >= ${from ?? null})
       and (${to ?? null}::date is null or p.date_to <= ${to ?? null})`;
}

function isAfter({ after }: FactFilter, id: Sql): Sql {
  return sql`(${after === null}
            or (p.date_from, ${id}) > (${after?.date ?? null}::date, ${after?.id ?? 0}::bigint))`;
}

const figureColumns = sql`p.impressions, p.clicks, p.link_clicks, p.reach, p.spend, p.conversions,
           p.conversion_value, p.currency`;
const originColumns = sql`p.workspace_id, p.client_id, p.platform, p.created_by_upload, p.last_upload, p.created_at,
           p.updated_at`;

/** The ids, external ids and names of the parents that `joinParents` joins. */
function parentColumns(parents: readonly EntityKind[]): Sql {
  const columns = parents.map(
    (one) => `p.${one}_id, ${one}.external_id as ${one}_external_id, ${one}.name as ${one}_name,`,
  );
  return trustedSql(columns.join(' '));
}

function isWanted({ tenantId, workspaceId, platform, uploadId }: ProductionFilter): Sql {
  return sql`p.tenant_id = ${tenantId}
       and (${workspaceId ?? null}::uuid is null or p.workspace_id = ${workspaceId ?? null})
       and (${platform ?? null}::text is null or p.platform = ${platform ?? null})
       and (${uploadId ?? null}::uuid is null
            or ${uploadId ?? null} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload))`;
}

function isWantedFact(filter: FactFilter): Sql {
  const { clientId, campaignId } = filter;
  return sql`${isWanted(filter)}
       and (${clientId ?? null}::uuid is null or p.client_id = ${clientId ?? null})
       and (${campaignId ?? null}::uuid is null or p.campaign_id = ${campaignId ?? null})`;
}
