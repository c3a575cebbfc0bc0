import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../../kernel/http/route.ts';
import { addSource, getKbIn, getSource, type KnowledgeServiceDeps, removeSource } from '../service.ts';
import { sourceForm } from '../sources/source-form.ts';
import type { KnowledgeSource } from '../types.ts';
import { knowledgeSourceReply, renderSource, renderSourceFor } from '../views.ts';
import { kbKeyOf, kbParams } from './form.ts';
import { listSourceHeads } from './overview-store.ts';

const tags = ['knowledge'];
const params = kbParams.extend({ source_id: z.uuid() });

export function sourceRoutes(deps: KnowledgeServiceDeps): RouteModule {
  return (app, routeDeps) => {
    installCreation(app, deps);
    installReading(app, { ...routeDeps, secrets: deps.secrets });
    installRemoval(app, deps);
  };
}

function installCreation(app: RouteApp, deps: KnowledgeServiceDeps): void {
  const place = ({ kbId, sourceId }: KnowledgeSource) => ({
    location: `/api/knowledge/${encodeURIComponent(kbId)}/sources/${sourceId}`,
  });
  app.route({
    method: 'POST',
    url: '/api/knowledge/:kb_id/sources',
    config: { action: 'knowledge.manage', idempotent: true, takesData: true },
    schema: {
      tags,
      summary: 'Add a source; the next run loads it',
      params: kbParams,
      body: sourceForm,
      response: { 201: knowledgeSourceReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const keep = request.receipt.keeping(201, renderSource, place);
      const { role } = principalOf(request);
      const source = await addSource(deps, { ...kbKeyOf(request), role }, request.body, keep);
      return reply.code(201).headers(place(source)).send(renderSource(source));
    },
  });
}

function installReading(
  app: RouteApp,
  { db, cursors, secrets }: RouteDeps & Pick<KnowledgeServiceDeps, 'secrets'>,
): void {
  const list = 'knowledge sources';
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/sources',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'List the sources of a knowledge base, oldest first, without their texts',
      params: kbParams,
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(knowledgeSourceReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = kbKeyOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(key.tenantId, async (tx) => {
        await getKbIn(tx, key);
        return listSourceHeads(tx, { ...key, ...page });
      });
      const { limit } = request.query;
      const sees = await secrets.visibleTo(principalOf(request));
      const render = (source: KnowledgeSource) => renderSourceFor(key, source, sees);
      return pageOf(rows, { limit, list, cursors, key: (row) => row.sourceId, render });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/sources/:source_id',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'Get a source',
      params,
      response: { 200: knowledgeSourceReply, ...problems(404) },
    },
    handler: async (request) => {
      const key = { ...kbKeyOf(request), sourceId: request.params.source_id };
      const sees = await secrets.visibleTo(principalOf(request));
      return renderSourceFor(key, await getSource({ db }, key), sees);
    },
  });
}

function installRemoval(app: RouteApp, deps: KnowledgeServiceDeps): void {
  app.route({
    method: 'DELETE',
    url: '/api/knowledge/:kb_id/sources/:source_id',
    config: { action: 'knowledge.manage' },
    schema: {
      tags,
      summary: 'Delete a source while no run is active; the next run removes its documents from the index',
      params,
      response: { 204: z.null(), ...problems(404, 409, 422) },
    },
    handler: async (request, reply) => {
      await removeSource(deps, { ...kbKeyOf(request), sourceId: request.params.source_id });
      return reply.code(204).send(null);
    },
  });
}
