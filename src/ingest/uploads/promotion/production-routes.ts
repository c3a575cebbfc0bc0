import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { platformName } from '../platforms/profile-schema.ts';
import { assertPlatform } from '../platforms/service.ts';
import type { EntityKind } from '../reports/types.ts';
import {
  type FactFilter,
  listBreakdowns,
  listEntities,
  listMetrics,
  listPeriodMetrics,
  type ProductionRow,
} from './production-store.ts';

const tags = ['ad data'];

const origin = {
  workspace_id: z.uuid(),
  client_id: z.uuid().nullable(),
  platform: z.string(),
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
const fact = {
  ...origin,
  ...parent,
  ...adSetParent,
  ad_id: z.uuid().nullable(),
  ad_external_id: z.string().nullable(),
  ad_name: z.string().nullable(),
  impressions: count,
  clicks: count.describe('All clicks'),
  link_clicks: count.describe('Clicks on the link of the ad'),
  reach: count.describe('Null where lines were added up: people cannot be'),
  spend: decimal,
  conversions: decimal,
  conversion_value: decimal,
  currency: z.string().nullable(),
};
const range = { date_from: z.iso.date(), date_to: z.iso.date() };
const metricReply = z
  .object({ metric_id: z.int(), metric_date: z.iso.date(), ...fact })
  .meta({ id: 'DailyMetric' });
const periodReply = z.object({ metric_id: z.int(), ...range, ...fact }).meta({ id: 'PeriodMetric' });
const breakdownReply = z
  .object({
    breakdown_id: z.int(),
    ...range,
    dimensions: z.record(z.string(), z.string()).describe('What the line is about, by column of the report'),
    line: z.int().nullable().describe('The line of the file of last_upload'),
    ...fact,
  })
  .meta({ id: 'MetricBreakdown' });

const filterQuery = {
  ...pageQuery,
  workspace_id: z.uuid().optional(),
  platform: platformName.optional(),
  upload_id: z
    .uuid()
    .optional()
    .describe('Only rows that this upload created, or was the last to confirm or change'),
};

/** The tables that uploads are promoted into. */
export function installProduction(app: RouteApp, deps: RouteDeps): void {
  installEntity(app, deps, {
    kind: 'campaign',
    url: '/api/campaigns',
    what: 'campaigns',
    reply: campaignReply,
  });
  installEntity(app, deps, { kind: 'ad_set', url: '/api/ad-sets', what: 'ad sets', reply: adSetReply });
  installEntity(app, deps, { kind: 'ad', url: '/api/ads', what: 'ads', reply: adReply });
  for (const facts of factLists) installFacts(app, deps, facts);
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
      const rows = await db.read(tenantId, async (tx) => {
        if (platform !== undefined) await assertPlatform(tx, { tenantId, name: platform });
        return listEntities(tx, kind, { tenantId, workspaceId, platform, uploadId, ...page });
      });
      const key = (row: ProductionRow) => String(row[`${kind}_id`]);
      return pageOf(rows, { limit, list: what, cursors, key, render: renderRow });
    },
  });
}

interface FactList {
  url: string;
  list: string;
  summary: string;
  reply: z.ZodType;
  read: (tx: Tx, filter: FactFilter) => Promise<ProductionRow[]>;
  /** Where a row stands in the list. */
  key: (row: ProductionRow) => [date: string, id: number];
}

const factLists: FactList[] = [
  {
    url: '/api/daily-metrics',
    list: 'daily metrics',
    summary: 'List daily figures by date',
    reply: metricReply,
    read: listMetrics,
    key: (row) => [String(row.metric_date), Number(row.metric_id)],
  },
  {
    url: '/api/period-metrics',
    list: 'period metrics',
    summary: 'List figures of reports without a day, by their first day',
    reply: periodReply,
    read: listPeriodMetrics,
    key: (row) => [String(row.date_from), Number(row.metric_id)],
  },
  ...(['daily', 'period'] as const).map((kind) => ({
    url: `/api/${kind}-metrics/breakdowns`,
    list: `${kind} breakdowns`,
    summary: `List the lines of reports with a breakdown that ${kind} figures are the sums of`,
    reply: breakdownReply,
    read: (tx: Tx, filter: FactFilter) => listBreakdowns(tx, { ...filter, isDaily: kind === 'daily' }),
    key: (row: ProductionRow): [string, number] => [String(row.date_from), Number(row.breakdown_id)],
  })),
];

function installFacts(app: RouteApp, { db, cursors }: RouteDeps, facts: FactList): void {
  const { url, list, summary, reply, read, key } = facts;
  app.route({
    method: 'GET',
    url,
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary,
      querystring: z.strictObject({
        ...filterQuery,
        client_id: z.uuid().optional(),
        campaign_id: z.uuid().optional(),
        from: z.iso.date().optional().describe('First day'),
        to: z.iso.date().optional().describe('Last day'),
      }),
      response: { 200: listOf(reply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { limit, cursor, workspace_id: workspaceId, platform, upload_id: uploadId } = request.query;
      const { from, to, client_id: clientId, campaign_id: campaignId } = request.query;
      const [date, id] = cursor === undefined ? [] : cursors.decode(list, cursor);
      const after = cursor === undefined ? null : { date: String(date), id: Number(id) };
      const rows = await db.read(tenantId, async (tx) => {
        if (platform !== undefined) await assertPlatform(tx, { tenantId, name: platform });
        return read(tx, {
          tenantId,
          workspaceId,
          clientId,
          platform,
          campaignId,
          uploadId,
          from,
          to,
          after,
          limit: limit + 1,
        });
      });
      return pageOf(rows, { limit, list, cursors, key, render: renderRow });
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
