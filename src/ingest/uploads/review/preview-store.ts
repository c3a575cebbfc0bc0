import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import { differsFrom } from '../promotion/figure-columns.ts';
import type { Upload } from '../types.ts';

type Target = Pick<
  Upload,
  'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform' | 'layout' | 'createdAt'
>;

/** What promoting would do to one kind of entity, in distinct keys. */
export interface PreviewCounts {
  created: number;
  updated: number;
  /** Says nothing new, or a newer upload has spoken already. */
  unchanged: number;
}

/** Of several rows of one key the last counts, as in promotion; what a row leaves out stays as it is. */
export function previewCampaigns(tx: Tx, target: Target): Promise<PreviewCounts> {
  return counts(
    tx,
    sql`
      select p.campaign_id is not null as is_known, p.as_of,
             (p.name, p.status, p.type) is distinct from
               (coalesce(s.name, p.name), coalesce(s.status, p.status), coalesce(s.type, p.type)) as is_new
        from (
          select distinct on (r.external_id) r.*
            from staging_rows g, jsonb_to_record(g.raw_data) as r (external_id text, name text, status text, type text)
           where g.tenant_id = ${target.tenantId}
             and g.upload_id = ${target.uploadId}
             and g.entity_type = 'campaign'
             and g.validation_status = 'valid'
           order by r.external_id, g.row_index desc) s
        left join campaigns p
          on p.tenant_id = ${target.tenantId} and p.workspace_id = ${target.workspaceId}
         and p.client_id is not distinct from ${target.clientId} and p.platform = ${target.platform}
         and p.external_id = s.external_id`,
    target,
  );
}

export function previewAdSets(tx: Tx, target: Target): Promise<PreviewCounts> {
  return counts(
    tx,
    sql`
      select p.ad_set_id is not null as is_known, p.as_of,
             (p.name, p.status) is distinct from (coalesce(s.name, p.name), coalesce(s.status, p.status))
               or (s.campaign_external_id is not null and s.campaign_external_id is distinct from c.external_id)
               as is_new
        from (
          select distinct on (r.external_id) r.*
            from staging_rows g,
                 jsonb_to_record(g.raw_data) as r (
                   external_id text, name text, status text, campaign_external_id text)
           where g.tenant_id = ${target.tenantId}
             and g.upload_id = ${target.uploadId}
             and g.entity_type = 'ad_set'
             and g.validation_status = 'valid'
           order by r.external_id, g.row_index desc) s
        left join ad_sets p
          on p.tenant_id = ${target.tenantId} and p.workspace_id = ${target.workspaceId}
         and p.client_id is not distinct from ${target.clientId} and p.platform = ${target.platform}
         and p.external_id = s.external_id
        left join campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id`,
    target,
  );
}

export function previewAds(tx: Tx, target: Target): Promise<PreviewCounts> {
  return counts(
    tx,
    sql`
      select p.ad_id is not null as is_known, p.as_of,
             (p.name, p.status) is distinct from (coalesce(s.name, p.name), coalesce(s.status, p.status))
               or (s.campaign_external_id is not null and s.campaign_external_id is distinct from c.external_id)
               or (s.ad_set_external_id is not null and s.ad_set_external_id is distinct from a.external_id)
               as is_new
        from (
          select distinct on (r.external_id) r.*
            from staging_rows g,
                 jsonb_to_record(g.raw_data) as r (
                   external_id text, name text, status text, campaign_external_id text, ad_set_external_id text)
           where g.tenant_id = ${target.tenantId}
             and g.upload_id = ${target.uploadId}
             and g.entity_type = 'ad'
             and g.validation_status = 'valid'
           order by r.external_id, g.row_index desc) s
        left join ads p
          on p.tenant_id = ${target.tenantId} and p.workspace_id = ${target.workspaceId}
         and p.client_id is not distinct from ${target.clientId} and p.platform = ${target.platform}
         and p.external_id = s.external_id
        left join campaigns c on c.tenant_id = p.tenant_id and c.campaign_id = p.campaign_id
        left join ad_sets a on a.tenant_id = p.tenant_id and a.ad_set_id = p.ad_set_id`,
    target,
  );
}

export function previewMetrics(tx: Tx, target: Target): Promise<PreviewCounts> {
  return counts(
    tx,
    sql`
      select p.metric_id is not null as is_known, p.as_of,
             ${differsFrom(target, sql`s`)} as is_new
        from (
          select distinct on (g.natural_key_hash) g.*
            from staging_rows g
           where g.tenant_id = ${target.tenantId}
             and g.upload_id = ${target.uploadId}
             and g.entity_type = 'daily_metric'
             and g.validation_status = 'valid'
           order by g.natural_key_hash, g.row_index desc) s
        left join campaigns c
          on c.tenant_id = ${target.tenantId} and c.workspace_id = ${target.workspaceId}
         and c.client_id is not distinct from ${target.clientId} and c.platform = ${target.platform}
         and c.external_id = s.campaign_external_id
        left join ad_sets a
          on a.tenant_id = ${target.tenantId} and a.workspace_id = ${target.workspaceId}
         and a.client_id is not distinct from ${target.clientId} and a.platform = ${target.platform}
         and a.external_id = s.ad_set_external_id
        left join ads d
          on d.tenant_id = ${target.tenantId} and d.workspace_id = ${target.workspaceId}
         and d.client_id is not distinct from ${target.clientId} and d.platform = ${target.platform}
         and d.external_id = s.ad_external_id
        left join daily_metrics p
          on p.tenant_id = ${target.tenantId} and p.workspace_id = ${target.workspaceId}
         and p.client_id is not distinct from ${target.clientId} and p.platform = ${target.platform}
         and p.metric_date = s.metric_date
         and p.campaign_id is not distinct from c.campaign_id
         and p.ad_set_id is not distinct from a.ad_set_id
         and p.ad_id is not distinct from d.ad_id
         -- A parent that is not there yet has no figures either.
         and (s.campaign_external_id is null or c.campaign_id is not null)
         and (s.ad_set_external_id is null or a.ad_set_id is not null)
         and (s.ad_external_id is null or d.ad_id is not null)`,
    target,
  );
}

async function counts(tx: Tx, compared: Sql, { createdAt }: Target): Promise<PreviewCounts> {
  const row = await tx.find<PreviewCounts>(sql`
    select count(*) filter (where not x.is_known) as created,
           count(*) filter (where x.is_known and x.is_new and x.as_of <= ${createdAt}) as updated,
           count(*) filter (where x.is_known and not (x.is_new and x.as_of <= ${createdAt})) as unchanged
      from (${compared}) x`);
  return row ?? { created: 0, updated: 0, unchanged: 0 };
}
