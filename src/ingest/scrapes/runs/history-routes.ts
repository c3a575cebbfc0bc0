import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../../kernel/http/replies.ts';
import type { RouteApp, RouteDeps } from '../../../kernel/http/route.ts';
import { scrapeFormParts, sourceKeyOf, sourceParams } from '../form.ts';
import { listReferences } from '../references/reference-store.ts';
import { getRun, getSourceIn, listHandoffPage } from '../service.ts';
import { handoffStatuses } from '../types.ts';
import {
  handoffListReply,
  referenceReply,
  renderHandoff,
  renderReference,
  renderRun,
  renderRunWithHandoffs,
  runReply,
  runWithHandoffsReply,
} from '../views.ts';
import { listRuns } from './run-store.ts';

const tags = ['scrapes'];

export function historyRoutes(app: RouteApp, deps: RouteDeps): void {
  installHandoffs(app, deps);
  installReferences(app, deps);
  installRuns(app, deps);
}

const maxOffset = 1_000_000;

function installHandoffs(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'hand-offs';
  app.route({
    method: 'GET',
    url: '/api/scraping/:source/handoffs',
    config: { action: 'scrape.read' },
    schema: {
      tags,
      summary: 'List hand-offs, newest first; 503 while hand-offs are disabled',
      params: sourceParams,
      querystring: z.strictObject({
        ...pageQuery,
        offset: z.coerce
          .number()
          .int()
          .min(0)
          .max(maxOffset)
          .default(0)
          .describe('For numbered pages; not together with cursor'),
        status: z.enum(handoffStatuses).optional(),
        scrape_run_id: scrapeFormParts.runId.optional().describe('Only hand-offs that this run opened'),
      }),
      response: { 200: handoffListReply, ...problems(404) },
    },
    handler: async (request) => {
      const { limit, status, scrape_run_id: scrapeRunId, cursor } = request.query;
      const page = pageRequest(request.query, { list, cursors });
      const offset = cursor === undefined ? request.query.offset : 0;
      const filter = { ...sourceKeyOf(request), status, scrapeRunId, ...page, offset };
      const { handoffs, total } = await listHandoffPage({ db }, filter);
      const render = renderHandoff;
      return { ...pageOf(handoffs, { limit, list, cursors, key: (row) => row.handoffId, render }), total };
    },
  });
}

function installReferences(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'references';
  app.route({
    method: 'GET',
    url: '/api/scraping/:source/references',
    config: { action: 'scrape.read' },
    schema: {
      tags,
      summary: 'List references, newest first',
      params: sourceParams,
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(referenceReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = sourceKeyOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(key.tenantId, async (tx) => {
        await getSourceIn(tx, key);
        return listReferences(tx, { ...key, ...page });
      });
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.referenceId, render: renderReference });
    },
  });
}

function installRuns(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'scrape runs';
  app.route({
    method: 'GET',
    url: '/api/scraping/:source/runs',
    config: { action: 'scrape.read' },
    schema: {
      tags,
      summary: 'List runs of a source, newest first',
      params: sourceParams,
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(runReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = sourceKeyOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(key.tenantId, async (tx) => {
        await getSourceIn(tx, key);
        return listRuns(tx, { ...key, ...page });
      });
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.scrapeRunId, render: renderRun });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/scraping/:source/runs/:scrape_run_id',
    config: { action: 'scrape.read' },
    schema: {
      tags,
      summary: 'Get a run and the current state of its hand-offs',
      params: z.strictObject({ ...sourceParams.shape, scrape_run_id: scrapeFormParts.runId }),
      response: { 200: runWithHandoffsReply, ...problems(404) },
    },
    handler: async (request) => {
      const { scrape_run_id: scrapeRunId } = request.params;
      return renderRunWithHandoffs(await getRun({ db }, { ...sourceKeyOf(request), scrapeRunId }));
    },
  });
}
