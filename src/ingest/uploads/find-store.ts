import type { Findable, NamedRow } from '../../kernel/find/types.ts';
import { type Sql, sql, trustedSql } from '../../lib/postgres/sql.ts';

const row = sql`
  u.upload_id::text as id, coalesce(u.filename, 'Upload to ' || u.platform) as name, u.platform as more,
  null::text as within`;

const uploads: Findable = {
  kind: 'upload',
  action: 'upload.read',
  url: ({ id }) => `/uploads/${id}`,
  newest: ({ tenantId, ownerId }, limit) => sql`
    select ${row}
      from data_uploads u
     where u.tenant_id = ${tenantId}
       and (${ownerId ?? null}::text is null or u.user_id = ${ownerId ?? null})
     order by u.upload_id desc
     limit ${limit}`,
  one: ({ tenantId, ownerId }, id) => sql`
    select ${row}
      from data_uploads u
     where u.tenant_id = ${tenantId}
       and u.upload_id = ${id}
       and (${ownerId ?? null}::text is null or u.user_id = ${ownerId ?? null})`,
};

const campaignRow = sql`
  e.campaign_id::text as id, coalesce(e.name, e.external_id) as name, e.external_id as more,
  null::text as within`;

const campaigns: Findable = {
  kind: 'campaign',
  action: 'upload.read',
  url: ({ id }) => `/data?campaign=${id}`,
  newest: ({ tenantId }, limit) => sql`
    select ${campaignRow}
      from campaigns e
     where e.tenant_id = ${tenantId}
     order by e.campaign_id desc
     limit ${limit}`,
  one: ({ tenantId }, id) => sql`
    select ${campaignRow}
      from campaigns e
     where e.tenant_id = ${tenantId}
       and e.campaign_id = ${id}`,
};

/** Ad sets and ads have no page of their own: the figures of their campaign have. */
const adSets: Findable = {
  kind: 'ad_set',
  action: 'upload.read',
  url: urlOfCampaign,
  newest: ({ tenantId }, limit) => sql`
    select ${childRow('ad_set_id')}
      from ad_sets e
     where e.tenant_id = ${tenantId}
     order by e.ad_set_id desc
     limit ${limit}`,
  one: ({ tenantId }, id) => sql`
    select ${childRow('ad_set_id')}
      from ad_sets e
     where e.tenant_id = ${tenantId}
       and e.ad_set_id = ${id}`,
};

const ads: Findable = {
  kind: 'ad',
  action: 'upload.read',
  url: urlOfCampaign,
  newest: ({ tenantId }, limit) => sql`
    select ${childRow('ad_id')}
      from ads e
     where e.tenant_id = ${tenantId}
     order by e.ad_id desc
     limit ${limit}`,
  one: ({ tenantId }, id) => sql`
    select ${childRow('ad_id')}
      from ads e
     where e.tenant_id = ${tenantId}
       and e.ad_id = ${id}`,
};

export const uploadFindables: readonly Findable[] = [uploads, campaigns, adSets, ads];

function childRow(id: 'ad_set_id' | 'ad_id'): Sql {
  return trustedSql(`
    e.${id}::text as id, coalesce(e.name, e.external_id) as name, e.external_id as more,
    e.campaign_id::text as within`);
}

function urlOfCampaign({ within }: NamedRow): string {
  return within === null ? '/data' : `/data?campaign=${within}`;
}
