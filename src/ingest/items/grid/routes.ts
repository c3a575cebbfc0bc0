import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import type { RouteApp, RouteDeps } from '../../../kernel/http/route.ts';
import type { JobKey } from '../../../kernel/jobs/dispatch/service.ts';
import { jobKeyOf } from '../../../kernel/jobs/routes.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { itemErrors } from '../errors.ts';
import { getItemJob } from '../service.ts';
import { byIndexAlone, countNameOf, type ItemJob, type ItemStatus, itemStatuses } from '../types.ts';
import { listCalls } from './calls-store.ts';
import { sendItemRow } from './item-row.ts';
import { orderOf } from './order.ts';
import { type PageTiming, timePage } from './page-timing.ts';
import { listSorted, type Place } from './sorted-store.ts';
import {
  findIdBefore,
  type GridRow,
  type KeysetQuery,
  listById,
  listByReason,
  listOpen,
  listPage,
} from './store.ts';
import { inputSummary } from './summary.ts';
import { type Order, sorts } from './types.ts';

const tags = ['items'];
const params = z.strictObject({ job_id: z.uuid() });
const itemParams = params.extend({ item_id: z.coerce.number().int().min(1) });
const maxPageSize = 500;

const statusList = z
  .string()
  .max(200)
  .transform((text) => text.split(',').filter((part) => part !== ''))
  .pipe(z.array(z.enum(itemStatuses)).min(1));

const gridFields = z.strictObject({
  status: z.enum(itemStatuses).optional(),
  statuses: statusList.optional(),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  pageSize: z.coerce.number().int().min(1).max(maxPageSize).default(100),
  sort: z
    .enum(sorts)
    .optional()
    .describe(
      'rowNo, or with - from the end; by keyset also status, updatedAt (not with DONE), attempts (with minAttempts), ' +
        'errorCode (with statuses=ERROR,NOT_FOUND) and nextAttemptAt (with statuses=PENDING)',
    ),
  minAttempts: z.coerce
    .number()
    .int()
    .min(2)
    .max(1_000)
    .optional()
    .describe('List by keyset the rows with at least so many tries, the most first'),
  after: z.string().max(4000).optional(),
  fromRow: z.coerce
    .number()
    .int()
    .min(1)
    .max(2 ** 31 - 1)
    .optional()
    .describe('List by keyset, starting at this row of the file'),
  errorCode: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('List by keyset the failed rows with this reason, as GET …/failures names it'),
  input: z.enum(['true', 'false']).default('false').describe('Whether to include the input of each row'),
});

const open: readonly ItemStatus[] = ['PENDING', 'PROCESSING'];

const gridQuery = gridFields.refine(
  ({ fromRow, after, statuses, sort = 'rowNo', minAttempts }) =>
    fromRow === undefined ||
    (after === undefined &&
      !statuses?.every((status) => open.includes(status)) &&
      sort === 'rowNo' &&
      minAttempts === undefined),
  {
    path: ['fromRow'],
    message:
      'cannot be combined with after, with another order than rowNo, or with open statuses only, which are listed ' +
      'by time and not by row',
  },
);
type GridQuery = z.output<typeof gridQuery>;

const isByRow = ({ sort = 'rowNo', minAttempts }: GridQuery) =>
  (sort === 'rowNo' || sort === '-rowNo') && minAttempts === undefined;

export interface GridDeps extends RouteDeps {
  pages: PageTiming;
}

/** The rows of a job: by page for people, by keyset for programs that read all of them. */
export function gridRoutes(app: RouteApp, deps: GridDeps): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id/items',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary:
        'List the rows of an items job: by page, or by keyset when `after`, `statuses` or `fromRow` is given, or ' +
        'another order than that of the file',
      params,
      querystring: gridQuery,
      response: { 200: z.looseObject({ data: z.array(z.looseObject({})) }), ...problems(400, 404) },
    },
    handler: async (request, reply) => {
      const key = jobKeyOf(request);
      const { items } = await getItemJob(deps, key);
      const { after, statuses, fromRow, errorCode } = request.query;
      const order = orderOf(wishOf(request.query));
      if (!isByRow(request.query)) return sendSorted(deps, reply, { key, order, query: request.query });
      const isPaged = [after, statuses, fromRow, errorCode].every((one) => one === undefined);
      return isPaged
        ? sendPage(deps, reply, { key, items, query: request.query })
        : sendKeyset(deps, reply, { key, query: request.query });
    },
  });
  rowRoutes(app, deps);
  callRoutes(app, deps);
}

async function sendPage(
  { db, pages }: GridDeps,
  reply: FastifyReply,
  { key, items, query }: { key: JobKey; items: ItemJob; query: GridQuery },
): Promise<FastifyReply> {
  const { page, pageSize, status = null } = query;
  const wanted = { ...key, status, page, pageSize, descending: query.sort === '-rowNo' };
  const rows = await timePage(pages, { list: 'grid', log: reply.log }, () =>
    db.read(key.tenantId, (tx) => listPage(tx, { ...wanted, withInput: query.input === 'true' })),
  );
  const total = status === null ? items.counts.total : items.counts[countNameOf(status)];
  return sendRows(reply, rows, { page, pageSize, total });
}

/** A status that was named alone filters every order. */
function wishOf({ status, ...query }: GridQuery) {
  return { ...query, statuses: query.statuses ?? (status === undefined ? undefined : [status]) };
}

/** In the order of a column that an index serves, by keyset. */
async function sendSorted(
  { db, cursors, pages }: GridDeps,
  reply: FastifyReply,
  { key, order, query }: { key: JobKey; order: Order; query: GridQuery },
): Promise<FastifyReply> {
  const { column, descending, statuses, minAttempts } = order;
  const list = `items/${descending ? '-' : ''}${column}/${key.jobId}/${statuses.join(',')}/${minAttempts ?? ''}`;
  const position = query.after === undefined ? null : placeOf(cursors.decode(list, query.after));
  const wanted = { ...key, ...order, after: position, limit: query.pageSize + 1 };
  const rows = await timePage(pages, { list: 'keyset', log: reply.log }, () =>
    db.read(
      key.tenantId,
      (tx) => listSorted(tx, { ...wanted, withInput: query.input === 'true' }),
      byIndexAlone,
    ),
  );
  const shown = rows.slice(0, query.pageSize);
  const last = shown.at(-1)?.place;
  const hasMore = rows.length > shown.length && last !== undefined;
  const nextCursor = hasMore && last ? cursors.encode(list, [last.value, last.id, last.status]) : null;
  return sendRows(reply, shown, { hasMore, nextCursor });
}

function placeOf([value, id, status]: (string | number | null)[]): Place {
  return { value: String(value), id: Number(id), status: status as ItemStatus };
}

/** Open rows by time of their last update, all others in the order of the file: each order has its index. */
async function sendKeyset(
  { db, cursors, pages }: GridDeps,
  reply: FastifyReply,
  { key, query }: { key: JobKey; query: GridQuery },
): Promise<FastifyReply> {
  const statuses = query.statuses ?? null;
  const openStatuses = statuses?.every((status) => open.includes(status)) ? statuses : null;
  const { errorCode } = query;
  const descending = query.sort === '-rowNo';
  if (openStatuses && descending) throw openRowsByTime();
  const order = openStatuses ? 'open' : descending ? '-id' : 'id';
  const list = `items/${order}/${key.jobId}${errorCode ? `/${errorCode}` : ''}`;
  const position = query.after === undefined ? [] : cursors.decode(list, query.after);
  const wanted = { ...key, limit: query.pageSize + 1, withInput: query.input === 'true' };
  const rows = await timePage(pages, { list: 'keyset', log: reply.log }, () =>
    db.read(key.tenantId, (tx) =>
      openStatuses
        ? listOpen(tx, { ...wanted, statuses: openStatuses, after: openPosition(position) }).then(summarised)
        : listFrom(tx, {
            ...{ ...wanted, statuses, errorCode, descending },
            ...{
              afterId: Number(position[0] ?? (descending ? Number.MAX_SAFE_INTEGER : 0)),
              fromRow: query.fromRow,
            },
          }),
    ),
  );
  const shown = rows.slice(0, query.pageSize);
  const last = shown.at(-1);
  const hasMore = rows.length > shown.length && last !== undefined;
  const end = last && (openStatuses ? [last.updatedAt, last.id] : [last.id]);
  return sendRows(reply, shown, { hasMore, nextCursor: hasMore && end ? cursors.encode(list, end) : null });
}

function openRowsByTime(): Error {
  return itemErrors.raise.order_not_served(
    'sort=-rowNo: open rows are listed by time; use sort=-updatedAt, or status=PENDING and pages',
    { fields: [{ pointer: '/sort', message: 'has no index' }] },
  );
}

/** People know an open row by its title, not by its number. */
function summarised(rows: (GridRow & { inputHead: string })[]): GridRow[] {
  return rows.map(({ inputHead, json, ...row }) => {
    const summary = JSON.stringify(inputSummary(inputHead));
    return { ...row, json: `${json.slice(0, -1)},"inputSummary":${summary}}` };
  });
}

async function listFrom(
  tx: Tx,
  {
    fromRow,
    errorCode,
    ...query
  }: KeysetQuery & { fromRow: number | undefined; errorCode: string | undefined },
): Promise<GridRow[]> {
  const afterId =
    fromRow === undefined ? query.afterId : await findIdBefore(tx, { ...query, rowNo: fromRow });
  if (errorCode === undefined) return listById(tx, { ...query, afterId });
  return listByReason(tx, { ...query, afterId, errorCode });
}

/** One row with everything that is known about it. */
function rowRoutes(app: RouteApp, deps: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id/items/:item_id',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary: 'Get one row: its input, its well-known fields under their standard names, and its result',
      params: itemParams,
      response: { 200: z.looseObject({ id: z.string(), normalized: z.looseObject({}) }), ...problems(404) },
    },
    handler: async (request, reply) => {
      const key = jobKeyOf(request);
      await getItemJob(deps, key);
      return sendItemRow(reply, deps, { ...key, itemId: request.params.item_id });
    },
  });
}

const callReply = z.object({
  provider: z.string(),
  strategy: z.string(),
  status: z.int().nullable(),
  outcome: z.string(),
  error: z.string().nullable(),
  tookMs: z.int(),
  createdAt: z.iso.datetime(),
});

function callRoutes(app: RouteApp, deps: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id/items/:item_id/calls',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary: 'List the provider calls made for a row, newest first',
      params: itemParams,
      response: { 200: z.object({ data: z.array(callReply) }), ...problems(404) },
    },
    handler: async (request) => {
      const key = jobKeyOf(request);
      await getItemJob(deps, key);
      const wanted = { ...key, itemId: request.params.item_id, limit: 100 };
      const calls = await deps.db.read(key.tenantId, (tx) => listCalls(tx, wanted));
      const data = calls.map(({ eventId: _id, createdAt, ...call }) => ({
        ...call,
        createdAt: createdAt.toISOString(),
      }));
      return { data };
    },
  });
}

function openPosition(position: (string | number | null)[]): { updatedAt: string; id: number } | null {
  const [updatedAt, id] = position;
  return updatedAt === undefined ? null : { updatedAt: String(updatedAt), id: Number(id) };
}

/** The rows are JSON text already, exactly as the database holds their values. */
function sendRows(reply: FastifyReply, rows: readonly GridRow[], more: object): FastifyReply {
  const rest = JSON.stringify(more).slice(1);
  const body = `{"data":[${rows.map((row) => row.json).join(',')}],${rest}`;
  return reply.type('application/json; charset=utf-8').send(Buffer.from(body, 'utf8'));
}
