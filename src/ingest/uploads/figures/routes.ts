import { Readable } from 'node:stream';
import { z } from 'zod';
import { listOf, pageOf, pageQuery, problems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import { ownerFilter } from '../../../kernel/tenancy/types.ts';
import { exportFigures, exportFormats } from './export.ts';
import { lineageLink } from './lineage-link.ts';
import { listFigures, listSourceUploads, type StoredFigure } from './lineage-store.ts';
import { filterOf, filterQuery } from './query.ts';
import { groupChoice, readSummary } from './summary.ts';
import type { GroupPosition } from './summary-store.ts';
import { type FigureGroup, groupings, type Sums, sortings, summedFields } from './types.ts';

const tags = ['ad data'];

const decimal = z.number().nullable();
/** Not `z.int()`, which refuses unsafe integers: one such count would fail the whole page. */
const count = z.number().meta({ type: 'integer' }).nullable();
const sums = {
  impressions: count,
  clicks: count,
  link_clicks: count,
  spend: decimal,
  conversions: decimal,
  conversion_value: decimal,
};
const totalReply = z
  .object({
    currency: z.string().nullable(),
    date_from: z.iso.date(),
    date_to: z.iso.date(),
    rows: z.int().describe('How many stored rows were added up'),
    ...sums,
  })
  .meta({ id: 'FigureTotal' });
const groupReply = totalReply
  .extend({
    key: z
      .string()
      .nullable()
      .describe('The day, the Monday of the week, the month as 2026-03, the range, the platform or the id'),
    name: z.string().nullable(),
    external_id: z.string().nullable(),
    campaign_name: z.string().nullable(),
    ad_set_name: z.string().nullable(),
    lineage: z.string().describe('Where to read the stored rows, uploads and lines behind these sums'),
  })
  .meta({ id: 'FigureGroup' });
const note = z.object({ code: z.string(), message: z.string() });

const groupQuery = {
  group_by: z
    .enum(groupings)
    .optional()
    .describe('`day`, `week` and `month` only for daily figures, `range` only for periods'),
  sort: z.enum(sortings).optional().describe('Time by `key`, everything else by `spend` if it is not given'),
  order: z.enum(['asc', 'desc']).optional(),
};

/** What was promoted, for people who use it: sums, what they consist of, and files. */
export function installFigures(app: RouteApp, deps: RouteDeps): void {
  installSummary(app, deps);
  installLineage(app, deps);
  installExport(app, deps);
}

function installSummary(app: RouteApp, { db, cursors }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/data/summary',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary:
        'Add figures up by day, week, month, campaign, ad set, ad, platform or client; never across currencies',
      querystring: z.strictObject({ ...pageQuery, ...filterQuery, ...groupQuery }),
      response: {
        200: listOf(groupReply).extend({ totals: z.array(totalReply), notes: z.array(note) }),
        ...problems(),
      },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { limit, cursor, group_by, sort, order, ...query } = request.query;
      const filter = filterOf(tenantId, query);
      const choice = groupChoice(query.kind, { groupBy: group_by, sort, order });
      const list = `figures ${JSON.stringify([filter, choice])}`;
      const after = cursor === undefined ? null : positionIn(cursors.decode(list, cursor));
      const found = await readSummary(db, { ...filter, ...choice, after, limit });
      return {
        data: found.groups.map((group) => ({
          key: group.key,
          name: group.name,
          external_id: group.externalId,
          campaign_name: group.campaignName,
          ad_set_name: group.adSetName,
          ...renderTotal(group),
          lineage: lineageLink(query, choice.groupBy, group),
        })),
        has_more: found.next !== null,
        next_cursor: found.next === null ? null : cursors.encode(list, positionValues(found.next)),
        totals: found.totals.map(renderTotal),
        notes: found.notes,
      };
    },
  });
}

const positionValues = ({ value, key, currency, from, to }: GroupPosition) => [
  value,
  key,
  currency,
  from,
  to,
];

function positionIn([value, key, currency, from, to]: (string | number | null)[]): GroupPosition {
  return {
    value: String(value),
    key: String(key),
    currency: String(currency),
    from: String(from),
    to: String(to),
  };
}

function renderTotal({ currency, dateFrom, dateTo, rows, ...group }: FigureGroup) {
  return { currency, date_from: dateFrom, date_to: dateTo, rows, ...renderSums(group) };
}

/** Sums are exact in the database. As JSON numbers they are exact to 15 digits, which no account exceeds. */
function renderSums(group: Sums): Record<keyof Sums, number | null> {
  const shown = summedFields.map((name) => [name, group[name] === null ? null : Number(group[name])]);
  return Object.fromEntries(shown) as Record<keyof Sums, number | null>;
}

const place = {
  workspace_id: z.uuid(),
  client_id: z.uuid().nullable(),
  platform: z.string(),
  date_from: z.iso.date(),
  date_to: z.iso.date(),
};
const figureReply = z
  .object({
    metric_id: z.int(),
    ...place,
    campaign_id: z.uuid().nullable(),
    campaign_external_id: z.string().nullable(),
    campaign_name: z.string().nullable(),
    ad_set_id: z.uuid().nullable(),
    ad_set_external_id: z.string().nullable(),
    ad_set_name: z.string().nullable(),
    ad_id: z.uuid().nullable(),
    ad_external_id: z.string().nullable(),
    ad_name: z.string().nullable(),
    ...sums,
    currency: z.string().nullable(),
    upload_id: z.uuid().describe('The upload that gave the row its values'),
    filename: z.string().nullable().describe('Null for an upload that you may not see'),
    uploaded_at: timestamp.nullable(),
    lines: z
      .array(z.object({ upload_id: z.uuid(), line: z.int() }))
      .describe('The first 100 lines that were added up; empty for rows that older versions stored'),
    line_count: z.int(),
  })
  .meta({ id: 'FigureLineage' });
const sourceReply = z.object({
  upload_id: z.uuid(),
  filename: z.string().nullable(),
  uploaded_at: timestamp.nullable(),
  currency: z.string().nullable(),
  rows: z.int(),
  ...sums,
});

const sourcesShown = 100;

function installLineage(app: RouteApp, { db, cursors }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/data/lineage',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List the stored rows that sums consist of, each with its upload, file name and lines',
      querystring: z.strictObject({ ...pageQuery, ...filterQuery }),
      response: {
        200: listOf(figureReply).extend({
          uploads: z
            .array(sourceReply)
            .describe('On the first page: what each upload contributes, at most 100 of them, newest first'),
        }),
        ...problems(),
      },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const { tenantId } = principal;
      const { limit, cursor, ...query } = request.query;
      const filter = { ...filterOf(tenantId, query), ownerId: ownerFilter(principal) };
      const list = 'figure lineage';
      const [workspaceId, date, id] = cursor === undefined ? [] : cursors.decode(list, cursor);
      const after =
        cursor === undefined
          ? null
          : { workspaceId: String(workspaceId), date: String(date), id: Number(id) };
      return db.read(tenantId, async (tx) => {
        const rows = await listFigures(tx, { ...filter, after, limit: limit + 1 });
        const uploads = after === null ? await listSourceUploads(tx, { ...filter, limit: sourcesShown }) : [];
        const key = (row: StoredFigure) => [row.workspaceId, row.dateFrom, row.metricId];
        return {
          ...pageOf(rows, { limit, list, cursors, key, render: renderFigure }),
          uploads: uploads.map(({ uploadId, filename, uploadedAt, currency, rows: stored, ...figures }) => ({
            upload_id: uploadId,
            filename,
            uploaded_at: uploadedAt?.toISOString() ?? null,
            currency,
            rows: stored,
            ...renderSums(figures),
          })),
        };
      });
    },
  });
}

function renderFigure(row: StoredFigure) {
  return {
    metric_id: row.metricId,
    workspace_id: row.workspaceId,
    client_id: row.clientId,
    platform: row.platform,
    date_from: row.dateFrom,
    date_to: row.dateTo,
    campaign_id: row.campaignId,
    campaign_external_id: row.campaignExternalId,
    campaign_name: row.campaignName,
    ad_set_id: row.adSetId,
    ad_set_external_id: row.adSetExternalId,
    ad_set_name: row.adSetName,
    ad_id: row.adId,
    ad_external_id: row.adExternalId,
    ad_name: row.adName,
    ...renderSums(row),
    currency: row.currency,
    upload_id: row.uploadId,
    filename: row.filename,
    uploaded_at: row.uploadedAt?.toISOString() ?? null,
    lines: row.lines,
    line_count: row.lineCount,
  };
}

function installExport(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/data/export',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'Download figures as CSV or Parquet: the stored rows, or with group_by their sums',
      querystring: z.strictObject({
        format: z.enum(exportFormats).default('csv'),
        ...filterQuery,
        ...groupQuery,
      }),
      response: { 200: z.any().describe('The file'), ...problems() },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      const { format, group_by: groupBy, sort, order, ...query } = request.query;
      const filter = filterOf(tenantId, query);
      const groups = groupBy === undefined ? null : groupChoice(query.kind, { groupBy, sort, order });
      const content = exportFigures(db, filter, { format, groups });
      const name = `${query.kind}-figures${groupBy === undefined ? '' : `-by-${groupBy}`}.${format}`;
      return reply
        .type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/vnd.apache.parquet')
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(Readable.from(content, { objectMode: false }));
    },
  });
}
