import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { FigureFilter, FigureKind, FigureLevel } from './types.ts';

/** The table of a kind of figures, as rows `p`, and their first and last day. */
export const figureTables: Record<FigureKind, { table: Sql; from: Sql; to: Sql }> = {
  daily: { table: sql`daily_metrics p`, from: sql`p.metric_date`, to: sql`p.metric_date` },
  period: { table: sql`period_metrics p`, from: sql`p.date_from`, to: sql`p.date_to` },
};

const levels: Record<FigureLevel, Sql> = {
  campaign: sql`(p.ad_set_id is null and p.ad_id is null)`,
  ad_set: sql`(p.ad_set_id is not null and p.ad_id is null)`,
  ad: sql`p.ad_id is not null`,
};

export function isOfLevel(level: FigureLevel): Sql {
  return levels[level];
}

/** Rows `p` that the filter asks for. */
export function areAskedFor(filter: FigureFilter): Sql {
  const { from, to } = figureTables[filter.kind];
  const { uploadId } = filter;
  const conditions = [
    sql`p.tenant_id = ${filter.tenantId}`,
    isInWorkspace(filter),
    equals('client_id', filter.clientId),
    equals('platform', filter.platform),
    equals('campaign_id', filter.campaignId),
    equals('ad_set_id', filter.adSetId),
    equals('ad_id', filter.adId),
    equals('currency', filter.currency),
    filter.campaign === undefined ? null : isOfCampaign(filter.tenantId, filter.campaign),
    filter.level === undefined ? null : levels[filter.level],
    filter.from === undefined ? null : sql`${from} >= ${filter.from}::date`,
    filter.to === undefined ? null : sql`${to} <= ${filter.to}::date`,
    filter.range === undefined
      ? null
      : sql`(${from}, ${to}) = (split_part(${filter.range}, '/', 1)::date, split_part(${filter.range}, '/', 2)::date)`,
    uploadId === undefined
      ? null
      : sql`${uploadId}::uuid in (p.created_by_upload, p.last_upload, p.confirmed_by_upload)`,
  ];
  return conditions
    .filter((condition) => condition !== null)
    .reduce((all, condition) => sql`${all} and ${condition}`);
}

/** The index by date begins with the workspace, so that without one all of the tenant's are named. */
function isInWorkspace({ tenantId, workspaceId }: FigureFilter): Sql {
  if (workspaceId !== undefined) return sql`p.workspace_id = ${workspaceId}`;
  return sql`p.workspace_id = any(array(
       select w.workspace_id
         from workspaces w
        where w.tenant_id = ${tenantId}))`;
}

function equals(column: string, value: string | null | undefined): Sql | null {
  if (value === undefined) return null;
  const name = trustedSql(`p.${column}`);
  return value === null ? sql`${name} is null` : sql`${name} = ${value}`;
}

function isOfCampaign(tenantId: string, words: string): Sql {
  return sql`p.campaign_id = any(array(
       select c.campaign_id
         from campaigns c
        where c.tenant_id = ${tenantId}
          and (c.external_id = ${words} or strpos(lower(c.name), lower(${words})) > 0)))`;
}
