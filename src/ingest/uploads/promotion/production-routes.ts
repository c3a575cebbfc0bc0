import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import { type EntityKind, platforms } from '../reports/types.ts';
import { listEntities, listMetrics, type ProductionRow } from './production-store.ts';

const tags = ['ad data'];

const origin = {
  workspace_id: z.uuid(),
  client_id: z.uuid().nullable(),
  platform: z.enum(platforms),
  created_by_upload: z.uuid(),
  last_upload: z.uuid(),
  created_at: timestamp,
  updated_at: timestamp,
};
const entity = {
  ...origin,
  external_id: z.string(),
  is_name_key: z.boolean().describe('The report had no ids, so the external id is a path of names'),
  name: z.string().nullable(),
  status: z.string().nullable(),
};
const parent = {
  campaign_id: z.uuid().nullable(),
  campaign_external_id: z.string().nullable(),
  campaign_name: z.string().nullable(),
};
const adSetParent = {
  ad_set_id: z.uuid().nullable(),
  ad_set_external_id: z.string().nullable(),
  ad_set_name: z.string().nullable(),
};
const decimal = z.number().nullable();
/** Not `z.int()`, which refuses unsafe integers: one such count would fail the whole page. */
const count = z.number().meta({ type: 'integer' }).nullable();

const campaignReply = z
  .object({ campaign_id: z.uuid(), ...entity, type: z.string().nullable() })
  .meta({ id: 'Campaign' });
const adSetReply = z.object({ ad_set_id: z.uuid(), ...parent, ...entity }).meta({ id: 'AdSet' });
const adReply = z.object({ ad_id: z.uuid(), ...parent, ...adSetParent, ...entity }).meta({ id: 'Ad' });
const metricReply = z
  .object({
    metric_id: z.int(),
    metric_date: z.iso.date(),
    ...origin,
    ...parent,
    ...adSetParent,
    ad_id: z.uuid().nullable(),
    ad_external_id: z.string().nullable(),
    ad_name: z.string().nullable(),
    impressions: count,
    clicks: count,
    reach: count,
    spend: decimal,
    conversions: decimal,
    conversion_value: decimal,
    currency: z.string().nullable(),
  })
  .meta({ id: 'DailyMetric' });

const filterQuery = {
  ...pageQuery,
  workspace_id: z.uuid().optional(),
  platform: z.enum(platforms).optional(),
  upload_id: z
    .uuid()
    .optional()
    .describe('Only rows that this upload created, or was the last to confirm or change'),
};

/** The four tables that uploads are promoted into. */
export function installProduction(app: RouteApp, deps: RouteDeps): void {
  installEntity(app, deps, {
    kind: 'campaign',
    url: '/api/campaigns',
    what: 'campaigns',
    reply: campaignReply,
  });
  installEntity(app, deps, { kind: 'ad_set', url: '/api/ad-sets', what: 'ad sets', reply: adSetReply });
  installEntity(app, deps, { kind: 'ad', url: '/api/ads', what: 'ads', reply: adReply });
  installMetrics(app, deps);
}

function installEntity(
  app: RouteApp,
  { db, cursors }: RouteDeps,
  { kind, url, what, reply }: { kind: EntityKind; url: string; what: string; reply: z.ZodType },
): void {
  app.route({
    method: 'GET',
    url,
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: `List ${what} from uploads`,
      querystring: z.strictObject(filterQuery),
      response: { 200: listOf(reply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { limit, workspace_id: workspaceId, platform, upload_id: uploadId } = request.query;
      const page = pageRequest(request.query, { list: what, cursors });
      const rows = await db.read(tenantId, (tx) =>
        listEntities(tx, kind, { tenantId, workspaceId, platform, uploadId, ...page }),
      );
      const key = (row: ProductionRow) => String(row[`${kind}_id`]);
      return pageOf(rows, { limit, list: what, cursors, key, render: renderRow });
    },
  });
}

function installMetrics(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'daily metrics';
  app.route({
    method: 'GET',
    url: '/api/daily-metrics',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List daily figures by date',
      querystring: z.strictObject({
        ...filterQuery,
        from: z.iso.date().optional().describe('First day'),
        to: z.iso.date().optional().describe('Last day'),
      }),
      response: { 200: listOf(metricReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const {
        limit,
        cursor,
        workspace_id: workspaceId,
        platform,
        upload_id: uploadId,
        from,
        to,
      } = request.query;
      const [date, id] = cursor === undefined ? [] : cursors.decode(list, cursor);
      const after = cursor === undefined ? null : { date: String(date), id: Number(id) };
      const rows = await db.read(tenantId, (tx) =>
        listMetrics(tx, { tenantId, workspaceId, platform, uploadId, from, to, after, limit: limit + 1 }),
      );
      const key = (row: ProductionRow) => [String(row.metric_date), Number(row.metric_id)];
      const render = (row: ProductionRow) => renderRow(row) as z.output<typeof metricReply>;
      return pageOf(rows, { limit, list, cursors, key, render });
    },
  });
}

const decimals = new Set(['spend', 'conversions', 'conversion_value']);

/** Decimals are exact in the database. As JSON numbers they are exact to 15 digits, which no account exceeds. */
function renderRow(row: ProductionRow): ProductionRow {
  const entries = Object.entries(row).map(([name, value]) => {
    if (value instanceof Date) return [name, value.toISOString()];
    return [name, decimals.has(name) && value !== null ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}
