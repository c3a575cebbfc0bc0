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

export function listMetrics(
  tx: Tx,
  filter: ProductionFilter & {
    from?: string | undefined;
    to?: string | undefined;
    after: { date: string; id: number } | null;
  },
): Promise<ProductionRow[]> {
  const { after } = filter;
  const parents = ['campaign', 'ad_set', 'ad'] as const;
  return tx.rows<ProductionRow>(sql`
    select p.metric_id, p.metric_date, ${parentColumns(parents)} p.impressions, p.clicks, p.reach, p.spend,
           p.conversions, p.conversion_value, p.currency, ${originColumns}
      from daily_metrics p
      ${joinParents(parents)}
     where ${isWanted(filter)}
       and (${filter.from ?? null}::date is null or p.metric_date >= ${filter.from ?? null})
       and (${filter.to ?? null}::date is null or p.metric_date <= ${filter.to ?? null})
       and (${after === null}
            or (p.metric_date, p.metric_id) > (${after?.date ?? null}::date, ${after?.id ?? 0}::bigint))
     order by p.metric_date, p.metric_id
     limit ${filter.limit}`);
}

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
