import { z } from 'zod';
import { longListValidator } from '../../kernel/http/long-list.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../kernel/http/route.ts';
import type { Database } from '../../lib/postgres/db.ts';
import {
  referencesForm,
  referencesOf,
  refuseReference,
  sourceForm,
  sourceKeyOf,
  sourceOf,
  sourceParams,
} from './form.ts';
import { historyRoutes } from './runs/history-routes.ts';
import { listLastRuns } from './runs/run-store.ts';
import { type SyncDeps, sync } from './runs/sync.ts';
import { getSource, removeSource, type SourceDeps, saveSource } from './service.ts';
import { listSources } from './store.ts';
import type { ScrapeRun, ScrapeSource } from './types.ts';
import { renderSource, renderSync, sourceReply, syncReply } from './views.ts';

export interface ScrapeRouteDeps extends SyncDeps, SourceDeps {
  maxReferences: number;
  maxBodyBytes: number;
}

const tags = ['scrapes'];

export function scrapeRoutes(deps: ScrapeRouteDeps): RouteModule {
  return (app, routeDeps) => {
    installReading(app, routeDeps);
    installChanges(app, deps);
    installSync(app, deps);
    historyRoutes(app, routeDeps);
  };
}

function installReading(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'scrape sources';
  app.route({
    method: 'GET',
    url: '/api/scraping/sources',
    config: { action: 'scrape.read' },
    schema: {
      tags,
      summary: 'List scrape sources by name, each with its last run',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(sourceReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listSources(tx, { tenantId, ...page }));
      const last = await lastRuns(db, tenantId, rows);
      const render = (row: ScrapeSource) => renderSource(row, last.get(row.source));
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.source, render });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/scraping/sources/:source',
    config: { action: 'scrape.read' },
    schema: {
      tags,
      summary: 'Get a scrape source',
      params: sourceParams,
      response: { 200: sourceReply, ...problems(404) },
    },
    handler: async (request) => {
      const source = await getSource({ db }, sourceKeyOf(request));
      const last = await lastRuns(db, source.tenantId, [source]);
      return renderSource(source, last.get(source.source));
    },
  });
}

async function lastRuns(
  db: Database,
  tenantId: string,
  rows: readonly ScrapeSource[],
): Promise<Map<string, ScrapeRun>> {
  const sources = rows.map(({ source }) => source);
  const runs = await db.read(tenantId, (tx) => listLastRuns(tx, { tenantId, sources }));
  return new Map(runs.map((run) => [run.source, run]));
}

function installChanges(app: RouteApp, deps: ScrapeRouteDeps): void {
  app.route({
    method: 'PUT',
    url: '/api/scraping/sources/:source',
    config: { action: 'scrape.manage', takesData: true },
    schema: {
      tags,
      summary: 'Create or change a scrape source',
      params: sourceParams,
      body: sourceForm,
      response: { 200: sourceReply, 201: sourceReply, ...problems(413, 415, 422) },
    },
    handler: async (request, reply) => {
      const key = sourceKeyOf(request);
      const { userId: createdBy } = principalOf(request);
      const { isNew, ...saved } = await saveSource(deps, { ...key, ...sourceOf(request.body), createdBy });
      const last = await lastRuns(deps.db, key.tenantId, [saved]);
      const body = renderSource(saved, last.get(saved.source));
      if (!isNew) return reply.code(200).send(body);
      return reply.code(201).header('location', `/api/scraping/sources/${saved.source}`).send(body);
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/scraping/sources/:source',
    config: { action: 'scrape.manage' },
    schema: {
      tags,
      summary: 'Delete a scrape source with its references and hand-offs; its runs are kept as history',
      params: sourceParams,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      await removeSource(deps, sourceKeyOf(request));
      return reply.code(204).send(null);
    },
  });
}

function installSync(app: RouteApp, deps: ScrapeRouteDeps): void {
  const statusOf = (run: ScrapeRun) => (run.mode === 'crawl' ? 202 : 200);
  const place = (run: ScrapeRun) => ({ location: `/api/scraping/${run.source}/runs/${run.scrapeRunId}` });
  app.route({
    method: 'POST',
    url: '/api/scraping/:source/sync',
    config: { action: 'scrape.sync', idempotent: true },
    bodyLimit: deps.maxBodyBytes,
    validatorCompiler: longListValidator({
      member: 'references',
      maxElements: deps.maxReferences,
      refuse: refuseReference,
    }),
    schema: {
      tags,
      summary: 'Store the pushed references and hand them over (200), or start the crawl (202)',
      params: sourceParams,
      body: referencesForm(deps.maxReferences),
      response: { 200: syncReply, 202: syncReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { userId: createdBy } = principalOf(request);
      const given = request.body?.references;
      const references = given && (await referencesOf(given));
      const { receipt } = request;
      const run = await sync(deps, sourceKeyOf(request), { references, createdBy }, (tx, made) =>
        receipt.keep(tx, { status: statusOf(made), body: renderSync(made), headers: place(made) }),
      );
      return reply.code(statusOf(run)).headers(place(run)).send(renderSync(run));
    },
  });
}
