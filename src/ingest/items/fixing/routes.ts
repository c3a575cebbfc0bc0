import { z } from 'zod';
import { problems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import { jobKeyOf } from '../../../kernel/jobs/routes.ts';
import { sendItemRow } from '../grid/item-row.ts';
import { getItemJob } from '../service.ts';
import { itemStatuses } from '../types.ts';
import { itemJobReply, renderItemJob } from '../views.ts';
import { adviceOn } from './advice.ts';
import { correctCells, deleteItemsJob, type FixingDeps } from './service.ts';
import { listCorrections, listFailures } from './store.ts';

const tags = ['items'];
const params = z.strictObject({ job_id: z.uuid() });
const mostGroups = 100;
const mostCorrections = 500;

const cellText = z
  .string()
  .max(1024 * 1024)
  .refine((text) => !/[\0\p{Surrogate}]/u.test(text), 'must have no NUL and no broken surrogate pair');

const columnName = z.string().min(1).max(200);
const cellValue = z.union([cellText, z.number(), z.boolean(), z.null()]);
type Cells = Record<string, z.output<typeof cellValue>>;

const hasCells = (cells: Cells) => Object.keys(cells).length > 0;

function cellsOf(body: { input: Cells } | { column: string; value: Cells[string] }) {
  if ('column' in body) return [{ ...body, pointer: '/column' }];
  return Object.entries(body.input).map(([column, value]) => ({
    column,
    value,
    pointer: `/input/${column}`,
  }));
}

const failureReply = z
  .object({
    status: z.enum(itemStatuses),
    errorCode: z.string().nullable(),
    count: z.int(),
    firstRowNo: z.int(),
    example: z.string().nullable().describe('The reason of one of the rows'),
    title: z.string(),
    next: z.string().describe('What to do about it'),
    canRetry: z.boolean().describe('Whether trying again can help when nothing else has changed'),
  })
  .meta({ id: 'FailureGroup' });

const correctionReply = z
  .object({
    itemId: z.string(),
    rowNo: z.int(),
    column: z.string(),
    oldValue: z.string().nullable().describe('JSON text; null: the row did not have the column'),
    newValue: z.string().describe('JSON text'),
    userId: z.string(),
    createdAt: timestamp,
  })
  .meta({ id: 'Correction' });

/** What people do about rows that failed: see why, correct them, or let go of the job. */
export function fixingRoutes(app: RouteApp, { db }: RouteDeps, deps: FixingDeps): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id/failures',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary: 'Failed rows grouped by reason, with what to do about each',
      params,
      response: { 200: z.object({ data: z.array(failureReply) }), ...problems(404) },
    },
    handler: async (request) => {
      const key = jobKeyOf(request);
      await getItemJob({ db }, key);
      const groups = await db.read(key.tenantId, (tx) => listFailures(tx, { ...key, limit: mostGroups }));
      return { data: groups.map((group) => ({ ...group, ...adviceOn(group) })) };
    },
  });
  app.route({
    method: 'PATCH',
    url: '/api/jobs/:job_id/items/:item_id',
    config: { action: 'item.control', takesData: true },
    schema: {
      tags,
      summary:
        'Correct values of a row, and process the row again: returns the row, or with `column` its job',
      params: params.extend({ item_id: z.coerce.number().int().min(1) }),
      body: z.union([
        z.strictObject({ input: z.record(columnName, cellValue).refine(hasCells, 'must have a column') }),
        z.strictObject({ column: columnName, value: cellValue }),
      ]),
      response: {
        200: z.union([itemJobReply, z.looseObject({ id: z.string(), status: z.string() })]),
        ...problems(404, 409, 413, 415, 422),
      },
    },
    handler: async (request, reply) => {
      const key = jobKeyOf(request);
      const { userId } = principalOf(request);
      const itemId = request.params.item_id;
      await correctCells(deps, key, { itemId, cells: cellsOf(request.body), userId });
      if ('input' in request.body) return sendItemRow(reply, { db }, { ...key, itemId });
      const { job, items } = await getItemJob({ db }, key);
      return renderItemJob(job, items);
    },
  });
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id/corrections',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary: `Values that people corrected, newest first; at most ${mostCorrections}`,
      params,
      response: { 200: z.object({ data: z.array(correctionReply) }), ...problems(404) },
    },
    handler: async (request) => {
      const key = jobKeyOf(request);
      await getItemJob({ db }, key);
      const made = await db.read(key.tenantId, (tx) =>
        listCorrections(tx, { ...key, limit: mostCorrections }),
      );
      return { data: made.map(({ createdAt, ...one }) => ({ ...one, createdAt: createdAt.toISOString() })) };
    },
  });
  deleteRoute(app, deps);
}

function deleteRoute(app: RouteApp, deps: FixingDeps): void {
  app.route({
    method: 'DELETE',
    url: '/api/jobs/:job_id',
    config: { action: 'item.control' },
    schema: {
      tags,
      summary: 'Delete an ended items job with its rows, results and files',
      params,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      await deleteItemsJob(deps, jobKeyOf(request));
      return reply.code(204).send(null);
    },
  });
}
