import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fileErrors } from '../../kernel/files/errors.ts';
import { clientSignal } from '../../kernel/http/client-signal.ts';
import { dropRest } from '../../kernel/http/multipart.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../kernel/http/route.ts';
import { normalizedFields } from '../../kernel/rows/normalized-fields.ts';
import { readCatalogForm } from './loading/form.ts';
import { type LoadDeps, loadCatalog } from './loading/load.ts';
import { defaultSettings } from './matching/matching.ts';
import { catalogFields, settingsShape, strategiesOption } from './matching/options.ts';
import { readQuestion } from './matching/product-fields.ts';
import { getCatalog, matchQuestions, removeCatalog } from './service.ts';
import { listCatalogs } from './store.ts';
import { type CatalogKey, catalogNamePattern } from './types.ts';
import { catalogReply, matchReply, renderCatalog, renderMatch } from './views.ts';

export interface CatalogRoutesDeps extends LoadDeps {
  ingestEnabled: boolean;
  maxUploadBytes: number;
}

const tags = ['catalogs'];
const list = 'catalogs';
const params = z.strictObject({
  name: z.string().regex(catalogNamePattern, 'must be at most 63 lower-case letters, digits, - and _'),
});

export function catalogRoutes(deps: CatalogRoutesDeps): RouteModule {
  return (app, routeDeps) => {
    installReading(app, routeDeps);
    installLoading(app, deps);
    installMatching(app, routeDeps);
  };
}

function keyOf(request: FastifyRequest & { params: { name: string } }): CatalogKey {
  return { tenantId: principalOf(request).tenantId, name: request.params.name };
}

function installReading(app: RouteApp, { db, cursors }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/catalogs',
    config: { action: 'catalog.read' },
    schema: {
      tags,
      summary: 'List catalogues with their counts and versions',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(catalogReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listCatalogs(tx, { tenantId, ...page }));
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.name, render: renderCatalog });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/catalogs/:name',
    config: { action: 'catalog.read' },
    schema: {
      tags,
      summary: 'Get a catalogue',
      params,
      response: { 200: catalogReply, ...problems(404) },
    },
    handler: async (request) => renderCatalog(await getCatalog(db, keyOf(request))),
  });
  app.route({
    method: 'DELETE',
    url: '/api/catalogs/:name',
    config: { action: 'catalog.manage' },
    schema: {
      tags,
      summary: 'Delete a catalogue; jobs that use it fail from then on',
      params,
      response: { 204: z.null(), ...problems(404, 409, 413, 415) },
    },
    handler: async (request, reply) => {
      await removeCatalog(db, keyOf(request));
      return reply.code(204).send(null);
    },
  });
}

function installLoading(app: RouteApp, deps: CatalogRoutesDeps): void {
  app.route({
    method: 'PUT',
    url: '/api/catalogs/:name',
    config: { action: 'catalog.manage', share: 'uploads' },
    schema: {
      tags,
      summary:
        'Replace a whole catalogue with a file of products: multipart with fields (JSON), sheet and file',
      params,
      consumes: ['multipart/form-data'],
      response: { 200: catalogReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      if (!deps.ingestEnabled) {
        throw fileErrors.raise.ingest_disabled('DB_INGEST_ENABLED is false on this server');
      }
      try {
        const form = await readCatalogForm(request, { maxFileBytes: deps.maxUploadBytes });
        const loaded = { ...keyOf(request), ...form, userId: principalOf(request).userId };
        return renderCatalog(await loadCatalog(deps, { ...loaded, signal: clientSignal(reply) }));
      } catch (error) {
        dropRest(request);
        throw error;
      }
    },
  });
}

const maxRows = 100;

function installMatching(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'POST',
    url: '/api/catalogs/:name/match',
    config: { action: 'catalog.read', takesData: true, share: 'searches' },
    schema: {
      tags,
      summary: `Match up to ${maxRows} rows at once, as the processor catalog would`,
      params,
      body: z.strictObject({
        rows: z
          .array(z.record(z.string().max(200), z.unknown()))
          .min(1)
          .max(maxRows),
        fields: catalogFields.optional(),
        strategies: strategiesOption,
        ...settingsShape,
      }),
      response: { 200: matchReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { rows, fields = {}, strategies, ...settings } = request.body;
      const catalog = await getCatalog(db, keyOf(request));
      const questions = rows.map((row) => readQuestion(row, fields, normalizedFields(JSON.stringify(row))));
      const all = { ...defaultSettings, ...settings };
      const tried = await matchQuestions(db, catalog, {
        questions,
        strategies,
        settings: all,
        signal: clientSignal(reply),
      });
      // Text and not objects: every name of a column survives, also `__proto__`.
      const body = JSON.stringify({ version: catalog.version, matches: tried.map(renderMatch) });
      return reply.type('application/json; charset=utf-8').send(Buffer.from(body, 'utf8'));
    },
  });
}
