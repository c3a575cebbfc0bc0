import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../kernel/http/route.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import type { Principal } from '../../kernel/tenancy/types.ts';
import { toCamelCase } from '../../lib/snake-case.ts';
import { sourceParams as params, pullFields, sourceForms } from './form.ts';
import {
  changeSource,
  createSource,
  getSource,
  pullNow,
  rangeOf,
  removeSource,
  type SourceDeps,
  type SourcePatch,
  type SourceWish,
} from './service.ts';
import { listLastPulls, listSources } from './store.ts';
import type { Source, SourceKey } from './types.ts';
import { pullReply, renderPull, renderSource, sourceReply } from './views.ts';

const tags = ['uploads'];
const base = '/api/uploads/sources';

export function sourceRoutes(deps: SourceDeps): RouteModule {
  return (app, routeDeps) => {
    const forms = sourceForms(deps.filePlaces.forms);
    installCreation(app, deps, forms.creation);
    installReading(app, deps, routeDeps);
    installChanges(app, deps, forms.change);
    installPull(app, deps);
  };
}

function keyOf(request: FastifyRequest & { params: { source_id: string } }): SourceKey {
  return { tenantId: principalOf(request).tenantId, sourceId: request.params.source_id };
}

type Forms = ReturnType<typeof sourceForms>;

function installCreation(app: RouteApp, deps: SourceDeps, form: Forms['creation']): void {
  const place = ({ sourceId }: Source) => ({ location: `${base}/${sourceId}` });
  app.route({
    method: 'POST',
    url: base,
    config: { action: 'source.manage', idempotent: true },
    schema: {
      tags,
      summary: 'Create a source that reports are pulled from on a schedule',
      body: form,
      response: { 201: sourceReply, ...problems(403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId: createdBy, role } = principalOf(request);
      const sees = await deps.secrets.visibleTo(principalOf(request));
      const render = (source: Source) => renderSource(source, { sees });
      const keep = request.receipt.keeping(201, render, place);
      const wish = toCamelCase(request.body) as SourceWish;
      const source = await createSource(deps, { tenantId, createdBy, role }, wish, keep);
      return reply.code(201).headers(place(source)).send(render(source));
    },
  });
}

function installReading(app: RouteApp, deps: SourceDeps, { db, cursors }: RouteDeps): void {
  const list = 'upload sources';
  app.route({
    method: 'GET',
    url: base,
    config: { action: 'source.read' },
    schema: {
      tags,
      summary: 'List the sources that reports are pulled from, by name, each with its last pull',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(sourceReply), ...problems() },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const { tenantId } = principal;
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listSources(tx, { tenantId, ...page }));
      const render = await rendering(deps, principal, rows);
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.name, render });
    },
  });
  app.route({
    method: 'GET',
    url: `${base}/:source_id`,
    config: { action: 'source.read' },
    schema: { tags, summary: 'Get a source', params, response: { 200: sourceReply, ...problems(404) } },
    handler: async (request) => {
      const source = await getSource({ db }, keyOf(request));
      return (await rendering(deps, principalOf(request), [source]))(source);
    },
  });
}

async function rendering(
  { db, secrets }: SourceDeps,
  principal: Principal,
  rows: readonly Source[],
): Promise<(source: Source) => ReturnType<typeof renderSource>> {
  const { tenantId } = principal;
  const sourceIds = rows.map(({ sourceId }) => sourceId);
  const last = await db.read(tenantId, (tx) => listLastPulls(tx, { tenantId, sourceIds }));
  const byId = new Map(last.map((each) => [each.sourceId, each]));
  const sees = await secrets.visibleTo(principal);
  return (source) => renderSource(source, { sees, last: byId.get(source.sourceId) });
}

function installChanges(app: RouteApp, deps: SourceDeps, form: Forms['change']): void {
  app.route({
    method: 'PATCH',
    url: `${base}/:source_id`,
    config: { action: 'source.manage' },
    schema: {
      tags,
      summary: 'Change a source; its workspace, platform and kind of place stay',
      params,
      body: form,
      response: { 200: sourceReply, ...problems(403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const key = { ...keyOf(request), role: principal.role };
      const source = await changeSource(deps, key, toCamelCase(request.body) as SourcePatch);
      return (await rendering(deps, principal, [source]))(source);
    },
  });
  app.route({
    method: 'DELETE',
    url: `${base}/:source_id`,
    config: { action: 'source.manage' },
    schema: {
      tags,
      summary: 'Delete a source that is not being pulled; its uploads stay',
      params,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      await removeSource(deps, keyOf(request));
      return reply.code(204).send(null);
    },
  });
}

function installPull(app: RouteApp, deps: SourceDeps): void {
  const place = ({ jobId }: Job) => ({ location: `/api/jobs/${jobId}` });
  app.route({
    method: 'POST',
    url: `${base}/:source_id/pull`,
    config: { action: 'source.pull', idempotent: true },
    schema: {
      tags,
      summary: 'Pull now: the last days, or others; 409 with the active job when there is one',
      params,
      body: pullFields.nullish(),
      response: { 202: pullReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { userId } = principalOf(request);
      const wish = { createdBy: userId, userId, range: rangeOf(request.body ?? {}), ipAddress: request.ip };
      const keep = request.receipt.keeping(202, renderPull, place);
      const job = await pullNow(deps, keyOf(request), wish, keep);
      return reply.code(202).headers(place(job)).send(renderPull(job));
    },
  });
}
