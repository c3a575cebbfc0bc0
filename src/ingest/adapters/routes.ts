import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../kernel/http/route.ts';
import type { Principal } from '../../kernel/tenancy/types.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { countFiles, listFiles } from './files/store.ts';
import { adapterForm, adapterFormParts, settingsOf } from './form.ts';
import {
  type AdapterDeps,
  checkAdapter,
  getAdapter,
  removeAdapter,
  retryFile,
  saveAdapter,
  scanNow,
} from './service.ts';
import { listAdapters } from './store.ts';
import { type Adapter, type AdapterKey, fileStates } from './types.ts';
import {
  adapterReply,
  checkReply,
  type FileCounts,
  fileReply,
  renderAdapter,
  renderFile,
  renderScan,
  scanReply,
} from './views.ts';

const tags = ['adapters'];
const params = z.strictObject({ name: adapterFormParts.name });
const base = '/api/ingestion/adapters';
/** No further file is started after this time: proxies time out not much later. */
const scanBudgetMs = 25_000;

export function adapterRoutes(deps: AdapterDeps): RouteModule {
  return (app, routeDeps) => {
    installReading(app, { ...routeDeps, secrets: deps.secrets });
    installChanges(app, deps);
    installWork(app, deps);
    installFiles(app, routeDeps);
  };
}

function keyOf(request: FastifyRequest & { params: { name: string } }): AdapterKey {
  return { tenantId: principalOf(request).tenantId, name: request.params.name };
}

function installReading(app: RouteApp, { db, cursors, secrets }: RouteDeps & Viewing): void {
  const list = 'adapters';
  app.route({
    method: 'GET',
    url: base,
    config: { action: 'adapter.read' },
    schema: {
      tags,
      summary: 'List adapters by name',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(adapterReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listAdapters(tx, { tenantId, ...page }));
      const files = await countsOf(db, tenantId, rows);
      const sees = await secrets.visibleTo(principalOf(request));
      const render = (row: Adapter) => renderAdapter(row, sees, files.get(row.name));
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.name, render });
    },
  });
  app.route({
    method: 'GET',
    url: `${base}/:name`,
    config: { action: 'adapter.read' },
    schema: { tags, summary: 'Get an adapter', params, response: { 200: adapterReply, ...problems(404) } },
    handler: async (request) => {
      const adapter = await getAdapter({ db }, keyOf(request));
      return rendered({ db, secrets }, adapter, principalOf(request));
    },
  });
}

type Viewing = Pick<AdapterDeps, 'secrets'>;

async function rendered(
  { db, secrets }: Pick<RouteDeps, 'db'> & Viewing,
  adapter: Adapter,
  person: Principal,
) {
  const files = await countsOf(db, adapter.tenantId, [adapter]);
  return renderAdapter(adapter, await secrets.visibleTo(person), files.get(adapter.name));
}

async function countsOf(
  db: Database,
  tenantId: string,
  rows: readonly Adapter[],
): Promise<Map<string, FileCounts>> {
  const names = rows.map(({ name }) => name);
  const found = await db.read(tenantId, (tx) => countFiles(tx, { tenantId, names }));
  const counts = new Map<string, FileCounts>();
  for (const { adapter, state, count } of found) {
    counts.set(adapter, { ...counts.get(adapter), [state]: count });
  }
  return counts;
}

function installChanges(app: RouteApp, deps: AdapterDeps): void {
  app.route({
    method: 'PUT',
    url: `${base}/:name`,
    config: { action: 'adapter.manage', takesData: true },
    schema: {
      tags,
      summary: 'Create or change an adapter: a folder, an S3 prefix or an FTP directory to scan',
      params,
      body: adapterForm,
      response: { 200: adapterReply, 201: adapterReply, ...problems(404, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const key = keyOf(request);
      const person = principalOf(request);
      const { userId: createdBy, role } = person;
      const saved = await saveAdapter(deps, { ...key, ...settingsOf(request.body), createdBy, role });
      const body = await rendered(deps, saved, person);
      if (!saved.isNew) return reply.code(200).send(body);
      return reply.code(201).header('location', `${base}/${saved.name}`).send(body);
    },
  });
  app.route({
    method: 'DELETE',
    url: `${base}/:name`,
    config: { action: 'adapter.manage' },
    schema: {
      tags,
      summary: 'Delete an adapter and its records of files; the files and their jobs stay',
      params,
      response: { 204: z.null(), ...problems(404) },
    },
    handler: async (request, reply) => {
      await removeAdapter(deps, keyOf(request));
      return reply.code(204).send(null);
    },
  });
}

function installWork(app: RouteApp, deps: AdapterDeps): void {
  app.route({
    method: 'POST',
    url: `${base}/:name/check`,
    config: { action: 'adapter.manage' },
    schema: {
      tags,
      summary: 'Test an adapter: connect and list a few files; nothing is ingested',
      params,
      response: { 200: checkReply, ...problems(404, 413, 415) },
    },
    handler: async (request) => {
      const { errorCode, ...check } = await checkAdapter(deps, keyOf(request));
      return { ...check, error_code: errorCode };
    },
  });
  app.route({
    method: 'POST',
    url: '/api/ingestion/scan',
    config: { action: 'adapter.scan' },
    schema: {
      tags,
      summary: 'Scan one adapter or all of them now; each file that no longer changes is ingested once',
      description:
        'A file is ingested when two scans in a row find it unchanged and it has not changed for `settle_seconds`; ' +
        'S3 objects appear whole and are ingested at once.',
      body: z.strictObject({ adapter: adapterFormParts.name.optional() }).nullish(),
      response: { 200: z.object({ data: z.array(scanReply) }), ...problems(404, 413, 415) },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const name = request.body?.adapter ?? null;
      const reports = await scanNow(deps, { tenantId, name, limits: { budgetMs: scanBudgetMs } });
      return { data: reports.map(renderScan) };
    },
  });
}

function installFiles(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'adapter files';
  app.route({
    method: 'GET',
    url: `${base}/:name/files`,
    config: { action: 'adapter.read' },
    schema: {
      tags,
      summary: 'List the files that an adapter has found, newest first, with the outcome of each',
      params,
      querystring: z.strictObject({ ...pageQuery, state: z.enum(fileStates).optional() }),
      response: { 200: listOf(fileReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = keyOf(request);
      const { state, limit } = request.query;
      const page = { ...key, ...pageRequest(request.query, { list, cursors }) };
      await getAdapter({ db }, key);
      const rows = await db.read(key.tenantId, (tx) => listFiles(tx, { ...page, state }));
      return pageOf(rows, { limit, list, cursors, key: (row) => row.fileId, render: renderFile });
    },
  });
  app.route({
    method: 'POST',
    url: `${base}/:name/files/:file_id/retry`,
    config: { action: 'adapter.scan' },
    schema: {
      tags,
      summary: 'Retry a failed file; a scan follows automatically',
      params: params.extend({ file_id: adapterFormParts.fileId }),
      response: { 200: fileReply, ...problems(404, 409, 413, 415) },
    },
    handler: async (request) => {
      const fileId = request.params.file_id;
      return renderFile(await retryFile({ db }, { ...keyOf(request), fileId }));
    },
  });
}
