import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../../kernel/http/route.ts';
import { cancel, type JobsDeps, pause, resume } from '../../../kernel/jobs/dispatch/service.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import { viewOf } from '../../../kernel/tenancy/types.ts';
import type { TenantView } from '../../../lib/postgres/db.ts';
import { toSnakeCase } from '../../../lib/snake-case.ts';
import { kbKeyOf, kbParams, knowledgeFormParts } from '../bases/form.ts';
import { planReply, renderRun, renderStarted, runReply, startedRunReply } from '../views.ts';
import { planRun } from './plan.ts';
import { changeRun, getRun, type RunName, startRun } from './runs.ts';

export interface RunRouteDeps extends JobsDeps {
  plan: Parameters<typeof planRun>[0];
}

const tags = ['knowledge'];
/** A request names a run by its job, or by its knowledge base, whose last run is meant. */
const params = z.strictObject({ id: knowledgeFormParts.id.describe('A kb_id or a job_id') });

function nameOf(request: FastifyRequest & { params: { id: string } }): RunName & TenantView {
  return { ...viewOf(principalOf(request)), id: request.params.id };
}

export function runRoutes(deps: RunRouteDeps): RouteModule {
  return (app, routeDeps) => {
    installStart(app, deps);
    installControl(app, deps);
    installStatus(app, routeDeps);
    installPlan(app, deps);
  };
}

const budget = z
  .strictObject({
    max_tokens: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
    max_cost: z.number().positive().max(1e12).optional(),
  })
  .describe('The run pauses when the budget is used up');

function installStart(app: RouteApp, deps: RunRouteDeps): void {
  const place = ({ jobId }: Job) => ({ location: `/api/ingestion/jobs/${jobId}/status` });
  app.route({
    method: 'POST',
    url: '/api/ingestion/jobs/:id/start',
    config: { action: 'knowledge.ingest', idempotent: true },
    schema: {
      tags,
      summary: 'Start a run of a knowledge base; 409 with the active job if there is one',
      params,
      body: z.strictObject({ budget: budget.optional() }).nullish(),
      response: { 202: startedRunReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { userId } = principalOf(request);
      const { max_tokens: maxTokens, max_cost: maxCost } = request.body?.budget ?? {};
      const wish = { createdBy: userId, ipAddress: request.ip, budget: { maxTokens, maxCost } };
      const keep = request.receipt.keeping(202, renderStarted, place);
      const job = await startRun(deps, nameOf(request), wish, keep);
      return reply.code(202).headers(place(job)).send(renderStarted(job));
    },
  });
}

function installControl(app: RouteApp, deps: RunRouteDeps): void {
  const moves = {
    pause: { change: pause, summary: 'Pause a run; what is committed stays' },
    resume: { change: resume, summary: 'Resume a paused run from its checkpoint' },
    cancel: { change: cancel, summary: 'Cancel a run and remove what it added' },
  };
  for (const [name, { change, summary }] of Object.entries(moves)) {
    app.route({
      method: 'POST',
      url: `/api/ingestion/jobs/:id/${name}`,
      config: { action: 'knowledge.ingest' },
      schema: {
        tags,
        summary,
        params,
        response: { 200: runReply, ...problems(404, 409, 413, 415) },
      },
      handler: async (request) => renderRun(await changeRun(deps, nameOf(request), change)),
    });
  }
}

function installStatus(app: RouteApp, deps: Pick<RouteDeps, 'db'>): void {
  app.route({
    method: 'GET',
    url: '/api/ingestion/jobs/:id/status',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'Get the state of a run: the last one of a knowledge base, or the one of a job',
      params,
      response: { 200: runReply, ...problems(404) },
    },
    handler: async (request) => renderRun(await getRun(deps, nameOf(request))),
  });
}

function installPlan(app: RouteApp, deps: RunRouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/plan',
    // Reading the sources may crawl a website.
    config: { action: 'knowledge.ingest' },
    schema: {
      tags,
      summary: 'Estimate what a run would do and cost, without calling the embedder',
      params: kbParams,
      response: { 200: planReply, ...problems(404, 409, 422) },
    },
    handler: async (request) => {
      return toSnakeCase(await planRun(deps.plan, kbKeyOf(request)));
    },
  });
}
