import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';

/** What was promoted, for reading. Rows come as the API shows them. */
export interface ProductionFilter {
  tenantId: string;
  workspaceId?: string | undefined;
  platform?: string | undefined;
  /** What this upload created or was the last to confirm or change. */
  uploadId?: string | undefined;
  limit: number;
}

export type ProductionRow = Record<string, unknown>;

export function listCampaigns(
  tx: Tx,
  filter: ProductionFilter & { after: string | null },
): Promise<ProductionRow[]> {
  return tx.rows<ProductionRow>(sql`
    select p.campaign_id, p.workspace_id, p.client_id, p.platform, p.external_id, p.is_name_key, p.name, p.status,
           p.type, p.created_by_upload, p.last_upload, p.created_at, p.updated_at
      from campaigns p
     where p.tenant_id = ${filter.tenantId}
       and (${filter.workspaceId ?? null}::uuid is null or p.workspace_id = ${filter.workspaceId ?? null})
       and (${filter.platform ?? null}::text is null or p.platform = ${filter.platform ?? null})
       and (${filter.uploadId ?? null}::uuid is null
            or ${filter.uploadId ?? null} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload))
       and (${filter.after}::uuid is null or p.campaign_id > ${filter.after})
     order by p.campaign_id
     limit ${filter.limit}`);
}

export function listAdSets(
  tx: Tx,
  filter: ProductionFilter & { after: string | null },
): Promise<ProductionRow[]> {
  return tx.rows<ProductionRow>(sql`
    select p.ad_set_id, p.campaign_id, c.external_id as campaign_external_id, c.name as campaign_name, p.workspace_id,
           p.client_id, p.platform, p.external_id, p.is_name_key, p.name, p.status, p.created_by_upload, p.last_upload,
           p.created_at, p.updated_at
      from ad_sets p
      left join campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
     where p.tenant_id = ${filter.tenantId}
       and (${filter.workspaceId ?? null}::uuid is null or p.workspace_id = ${filter.workspaceId ?? null})
       and (${filter.platform ?? null}::text is null or p.platform = ${filter.platform ?? null})
       and (${filter.uploadId ?? null}::uuid is null
            or ${filter.uploadId ?? null} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload))
       and (${filter.after}::uuid is null or p.ad_set_id > ${filter.after})
     order by p.ad_set_id
     limit ${filter.limit}`);
}

export function listAds(
  tx: Tx,
  filter: ProductionFilter & { after: string | null },
): Promise<ProductionRow[]> {
  return tx.rows<ProductionRow>(sql`
    select p.ad_id, p.campaign_id, c.external_id as campaign_external_id, c.name as campaign_name, p.ad_set_id,
           s.external_id as ad_set_external_id, s.name as ad_set_name, p.workspace_id, p.client_id, p.platform,
           p.external_id, p.is_name_key, p.name, p.status, p.created_by_upload, p.last_upload, p.created_at,
           p.updated_at
      from ads p
      left join campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
      left join ad_sets s on s.tenant_id = p.tenant_id and s.ad_set_id = p.ad_set_id
     where p.tenant_id = ${filter.tenantId}
       and (${filter.workspaceId ?? null}::uuid is null or p.workspace_id = ${filter.workspaceId ?? null})
       and (${filter.platform ?? null}::text is null or p.platform = ${filter.platform ?? null})
       and (${filter.uploadId ?? null}::uuid is null
            or ${filter.uploadId ?? null} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload))
       and (${filter.after}::uuid is null or p.ad_id > ${filter.after})
     order by p.ad_id
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
  return tx.rows<ProductionRow>(sql`
    select p.metric_id, p.metric_date, p.workspace_id, p.client_id, p.platform, p.campaign_id,
           c.external_id as campaign_external_id, c.name as campaign_name, p.ad_set_id,
           s.external_id as ad_set_external_id, s.name as ad_set_name, p.ad_id, a.external_id as ad_external_id,
           a.name as ad_name, p.impressions, p.clicks, p.reach, p.spend, p.conversions,
           p.conversion_value, p.currency, p.created_by_upload, p.last_upload, p.created_at, p.updated_at
      from daily_metrics p
      left join campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
      left join ad_sets s on s.tenant_id = p.tenant_id and s.ad_set_id = p.ad_set_id
      left join ads a on a.tenant_id = p.tenant_id and a.ad_id = p.ad_id
     where p.tenant_id = ${filter.tenantId}
       and (${filter.workspaceId ?? null}::uuid is null or p.workspace_id = ${filter.workspaceId ?? null})
       and (${filter.platform ?? null}::text is null or p.platform = ${filter.platform ?? null})
       and (${filter.uploadId ?? null}::uuid is null
            or ${filter.uploadId ?? null} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload))
       and (${filter.from ?? null}::date is null or p.metric_date >= ${filter.from ?? null})
       and (${filter.to ?? null}::date is null or p.metric_date <= ${filter.to ?? null})
       and (${after === null}
            or (p.metric_date, p.metric_id) > (${after?.date ?? null}::date, ${after?.id ?? 0}::bigint))
     order by p.metric_date, p.metric_id
     limit ${filter.limit}`);
}
