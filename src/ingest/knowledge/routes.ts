import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../kernel/http/route.ts';
import { type Principal, viewOf } from '../../kernel/tenancy/types.ts';
import { changeFields, kbKeyOf, kbParams, knowledgeFields } from './bases/form.ts';
import { removeKb } from './bases/kb-removal.ts';
import { sourceRoutes } from './bases/source-routes.ts';
import { countContents, type DocumentDeps } from './documents/documents.ts';
import { passageRoutes } from './documents/passage-routes.ts';
import { documentRoutes } from './documents/routes.ts';
import { evaluationRoutes } from './evaluations/routes.ts';
import { type RunRouteDeps, runRoutes } from './run/routes.ts';
import { findLastRuns } from './run/runs.ts';
import { openAiRoutes } from './search/openai-routes.ts';
import { searchRoutes } from './search/routes.ts';
import { changeKb, createKb, getKb, type KnowledgeServiceDeps } from './service.ts';
import { listKbs } from './store.ts';
import type { KnowledgeBase } from './types.ts';
import { knowledgeBaseReply, renderKnowledgeBase } from './views.ts';

export interface KnowledgeRouteDeps extends DocumentDeps, RunRouteDeps {
  search: Parameters<typeof searchRoutes>[0];
}

const tags = ['knowledge'];

export function knowledgeRoutes(deps: KnowledgeRouteDeps): RouteModule {
  return (app, routeDeps) => {
    installCreation(app, deps);
    installReading(app, { ...routeDeps, secrets: deps.secrets });
    sourceRoutes(deps)(app, routeDeps);
    documentRoutes(deps)(app, routeDeps);
    passageRoutes(app, routeDeps);
    searchRoutes(deps.search)(app, routeDeps);
    openAiRoutes(deps.search)(app, routeDeps);
    evaluationRoutes(deps.search)(app, routeDeps);
    runRoutes(deps)(app, routeDeps);
    installChanges(app, deps);
  };
}

function installCreation(app: RouteApp, deps: KnowledgeServiceDeps): void {
  const place = ({ kbId }: KnowledgeBase) => ({ location: `/api/knowledge/${encodeURIComponent(kbId)}` });
  app.route({
    method: 'POST',
    url: '/api/knowledge',
    config: { action: 'knowledge.manage', idempotent: true, takesData: true },
    schema: {
      tags,
      summary: 'Create a knowledge base with its sources; it is empty until its first run',
      body: z.strictObject(knowledgeFields),
      response: { 201: knowledgeBaseReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId: createdBy, role } = principalOf(request);
      const sees = await deps.secrets.visibleTo({ tenantId, role });
      const render = (made: KnowledgeBase) => renderKnowledgeBase(made, sees);
      const keep = request.receipt.keeping(201, render, place);
      const kb = await createKb(deps, { tenantId, createdBy, role }, request.body, keep);
      return reply.code(201).headers(place(kb)).send(render(kb));
    },
  });
}

function installReading(app: RouteApp, { db, cursors, secrets }: RouteDeps & Viewing): void {
  const list = 'knowledge bases';
  app.route({
    method: 'GET',
    url: '/api/knowledge',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'List knowledge bases by id, each with the state of its last run',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(knowledgeBaseReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listKbs(tx, { tenantId, ...page }));
      const runs = await findLastRuns({ db }, tenantId, rows);
      const sees = await secrets.visibleTo(principalOf(request));
      const render = (kb: KnowledgeBase) => renderKnowledgeBase(kb, sees, runs.get(kb.kbId));
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (kb) => kb.kbId, render });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'Get a knowledge base',
      params: kbParams,
      response: { 200: knowledgeBaseReply, ...problems(404) },
    },
    handler: async (request) => {
      const kb = await getKb({ db }, kbKeyOf(request));
      return renderWhole({ db, secrets }, kb, principalOf(request));
    },
  });
}

type Viewing = Pick<KnowledgeServiceDeps, 'secrets'>;

/** With its last run and the number of documents and chunks. */
async function renderWhole(deps: Pick<RouteDeps, 'db'> & Viewing, kb: KnowledgeBase, person: Principal) {
  const runs = await findLastRuns(deps, kb.tenantId, [kb]);
  const sees = await deps.secrets.visibleTo(person);
  return renderKnowledgeBase(
    kb,
    sees,
    runs.get(kb.kbId),
    await countContents(deps, { ...kb, ...viewOf(person) }),
  );
}

function installChanges(app: RouteApp, deps: KnowledgeServiceDeps): void {
  app.route({
    method: 'PATCH',
    url: '/api/knowledge/:kb_id',
    config: { action: 'knowledge.manage', takesData: true },
    schema: {
      tags,
      summary: 'Change a knowledge base; a new chunker or embedder takes effect with the next run',
      params: kbParams,
      body: z.strictObject(changeFields),
      response: { 200: knowledgeBaseReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const person = principalOf(request);
      const changed = await changeKb(deps, { ...kbKeyOf(request), role: person.role }, request.body);
      return renderWhole(deps, changed, person);
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/knowledge/:kb_id',
    config: { action: 'knowledge.manage' },
    schema: {
      tags,
      summary:
        'Delete a knowledge base without an active run; the contents of a large one are deleted in the background',
      params: kbParams,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      await removeKb(deps, kbKeyOf(request));
      return reply.code(204).send(null);
    },
  });
}
