import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { toSnakeCase } from '../../lib/snake-case.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../http/replies.ts';
import { principalOf, type RouteApp, type RouteModule } from '../http/route.ts';
import { storedText } from '../http/stored-text.ts';
import { can } from '../tenancy/rights.ts';
import { ownerFilter } from '../tenancy/types.ts';
import {
  cancel,
  getJob,
  type JobKey,
  listJobsPage,
  pause,
  requeue,
  requeueMatching,
  resume,
} from './dispatch/service.ts';
import type { Kernel } from './kernel.ts';
import { type JobNames, jobNames, type SubjectNames } from './names.ts';
import { countJobsUpTo } from './store.ts';
import { type Job, jobStatuses } from './types.ts';
import {
  deadLetterReply,
  jobReply,
  queueState,
  queueStateSchema,
  renderDeadLetter,
  renderJob,
} from './views.ts';

const params = z.strictObject({ job_id: z.uuid() });
const maxKickoffMs = 60_000;
const maxCycleSeconds = 240;

/** What a house shows of its jobs beside what every job shows, by job id. */
export type JobDetails = (tenantId: string, jobs: readonly Job[]) => Promise<Map<string, object>>;

/** Jobs of every pipeline: see them, steer them, drive them, and work the dead-letter queue. */
export function jobRoutes(
  kernel: Kernel,
  detailsOf: JobDetails = async () => new Map(),
  subjectNames: ReadonlyMap<string, SubjectNames> = new Map(),
): RouteModule {
  return (app, deps) => {
    const shown = { detailsOf, namesOf: jobNames(deps.db, subjectNames) };
    installReading(app, deps, shown);
    installCount(app, deps);
    installControl(app, kernel, shown);
    installDriving(app, kernel);
    installDeadLetters(app, deps, shown);
    installRequeue(app, kernel, shown);
  };
}

/** What jobs are shown with beside what the kernel knows of them. */
interface Shown {
  detailsOf: JobDetails;
  namesOf: JobNames;
}

/** The job that a request names, as its caller may see it. */
export function jobKeyOf(request: FastifyRequest & { params: { job_id: string } }): JobKey {
  const principal = principalOf(request);
  return { tenantId: principal.tenantId, jobId: request.params.job_id, ownerId: ownerFilter(principal) };
}

const jobFilter = {
  status: z.enum(jobStatuses).optional(),
  pipeline: storedText(64).optional(),
  subjectId: storedText(500).optional(),
};

const countedAtMost = 10_000;

function installCount(app: RouteApp, { db }: Parameters<RouteModule>[1]): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/count',
    config: { action: 'job.read' },
    schema: {
      tags: ['jobs'],
      summary: `Count the jobs that match, up to ${countedAtMost}`,
      querystring: z.strictObject(jobFilter),
      response: {
        200: z.object({ count: z.int(), isExact: z.boolean().describe('False: there are more') }),
        ...problems(),
      },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const scope = { tenantId: principal.tenantId, ownerId: ownerFilter(principal) };
      const filter = { ...request.query, ...scope, limit: countedAtMost + 1 };
      const found = await db.read(scope.tenantId, (tx) => countJobsUpTo(tx, filter));
      return { count: Math.min(found, countedAtMost), isExact: found <= countedAtMost };
    },
  });
}

function installReading(app: RouteApp, { db, cursors }: Parameters<RouteModule>[1], shown: Shown): void {
  const list = 'jobs';
  app.route({
    method: 'GET',
    url: '/api/jobs',
    config: { action: 'job.read' },
    schema: {
      tags: ['jobs'],
      summary: 'List jobs, newest first',
      querystring: z.strictObject({ ...pageQuery, ...jobFilter }),
      response: { 200: listOf(jobReply), ...problems() },
    },
    handler: async (request) => {
      const { limit, cursor: _cursor, ...filter } = request.query;
      const principal = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const scope = { tenantId: principal.tenantId, ownerId: ownerFilter(principal) };
      const rows = await listJobsPage({ db }, { ...filter, ...scope, ...page });
      const render = await rendererOf(principal.tenantId, rows, shown);
      return pageOf(rows, { limit, list, cursors, key: (row) => row.jobId, render });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id',
    config: { action: 'job.read' },
    schema: { tags: ['jobs'], summary: 'Get a job', params, response: { 200: jobReply, ...problems(404) } },
    handler: async (request) => renderWhole(await getJob({ db }, jobKeyOf(request)), shown),
  });
}

async function renderWhole(job: Job, shown: Shown) {
  const render = await rendererOf(job.tenantId, [job], shown);
  return render(job);
}

async function rendererOf(tenantId: string, jobs: readonly Job[], { detailsOf, namesOf }: Shown) {
  const names = await namesOf(tenantId, jobs);
  const details = await detailsOf(tenantId, jobs);
  return (job: Job) => ({ ...renderJob(job, names.get(job.jobId) ?? ''), ...details.get(job.jobId) });
}

function installControl(app: RouteApp, kernel: Kernel, shown: Shown): void {
  const moves = {
    pause: { run: pause, summary: 'Pause a job; the slice in flight may still finish' },
    resume: { run: resume, summary: 'Resume a paused job' },
    cancel: { run: cancel, summary: 'Cancel a job; what it added is cleaned up' },
  };
  for (const [name, { run, summary }] of Object.entries(moves)) {
    app.route({
      method: 'POST',
      url: `/api/jobs/:job_id/${name}`,
      config: { action: 'job.control' },
      schema: {
        tags: ['jobs'],
        summary,
        params,
        response: { 200: jobReply, ...problems(404, 409, 413, 415) },
      },
      handler: async (request) => renderWhole(await run(kernel, jobKeyOf(request)), shown),
    });
  }
}

function installDriving(app: RouteApp, kernel: Kernel): void {
  app.route({
    method: 'POST',
    url: '/api/jobs/:job_id/kickoff',
    config: { action: 'job.control' },
    schema: {
      tags: ['jobs'],
      summary: 'Run a job for a limited time within this request',
      params,
      querystring: z.strictObject({
        durationMs: z.coerce.number().int().min(1).max(maxKickoffMs).default(5_000),
      }),
      response: {
        200: z.object({
          processed: z.int(),
          remaining: z.int().nullable(),
          elapsedMs: z.int(),
          queueState: queueStateSchema,
          leasedBy: z.uuid().nullable(),
        }),
        ...problems(404, 409, 413, 415, 422),
      },
    },
    handler: async (request) => {
      const { tenantId, jobId } = await getJob(kernel, jobKeyOf(request));
      const report = await kernel.kickOff({ tenantId, jobId, durationMs: request.query.durationMs });
      const { job, ...rest } = report;
      return { ...rest, queueState: queueState(job) };
    },
  });
  app.route({
    method: 'POST',
    url: '/api/worker/cycle',
    config: { action: 'worker.cycle' },
    schema: {
      tags: ['worker'],
      summary: 'Run one worker cycle: for your own tenant, or (operator) for all tenants',
      querystring: z.strictObject({
        budget_seconds: z.coerce.number().int().min(1).max(maxCycleSeconds).default(maxCycleSeconds),
      }),
      response: {
        200: z.object({ queued_processed: z.int(), retry_processed: z.int() }),
        ...problems(413, 415),
      },
    },
    handler: async (request) => {
      const { tenantId, role } = principalOf(request);
      const budgetMs = request.query.budget_seconds * 1000;
      return kernel.cycle(can(role, 'worker.cycle_all') ? { budgetMs } : { budgetMs, tenantId });
    },
  });
}

const deadLetterFilter = {
  error_code: storedText(200).optional(),
  pipeline: storedText(64).optional(),
};

function installDeadLetters(
  app: RouteApp,
  { db, cursors }: Parameters<RouteModule>[1],
  { namesOf }: Shown,
): void {
  const list = 'dead-letters';
  app.route({
    method: 'GET',
    url: '/api/dead-letters',
    config: { action: 'dead_letter.read' },
    schema: {
      tags: ['dead letters'],
      summary: 'List dead letters, newest first',
      querystring: z.strictObject({ ...pageQuery, ...deadLetterFilter }),
      response: { 200: listOf(deadLetterReply), ...problems() },
    },
    handler: async (request) => {
      const { limit, error_code: errorCode, pipeline } = request.query;
      const page = pageRequest(request.query, { list, cursors });
      const { tenantId } = principalOf(request);
      const wanted = { tenantId, status: 'dead_letter', errorCode, pipeline, ...page } as const;
      const rows = await listJobsPage({ db }, wanted);
      const names = await namesOf(tenantId, rows);
      const render = (job: Job) => renderDeadLetter(job, names.get(job.jobId) ?? '');
      return pageOf(rows, { limit, list, cursors, key: (row) => row.jobId, render });
    },
  });
}

function installRequeue(app: RouteApp, kernel: Kernel, { namesOf }: Shown): void {
  app.route({
    method: 'POST',
    url: '/api/dead-letters/:job_id/requeue',
    config: { action: 'dead_letter.requeue', idempotent: true },
    schema: {
      tags: ['dead letters'],
      summary: 'Create a new job from a dead letter, once',
      params,
      body: z.strictObject({ correlation_id: storedText(200).min(1).optional() }).nullish(),
      response: { 201: deadLetterReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId } = principalOf(request);
      const correlationId = request.body?.correlation_id;
      const key = { tenantId, jobId: request.params.job_id };
      const letter = await getJob(kernel, key);
      // The new job is about the same.
      const name = (await namesOf(tenantId, [letter])).get(letter.jobId) ?? '';
      const render = (job: Job) => renderDeadLetter(job, name);
      const job = await requeue(kernel, key, {
        requestedBy: userId,
        ...(correlationId === undefined ? {} : { correlationId }),
        beforeCommit: request.receipt.keeping<Job>(201, render),
      });
      return reply.code(201).header('location', `/api/jobs/${job.jobId}`).send(render(job));
    },
  });
  app.route({
    method: 'POST',
    url: '/api/dead-letters/requeue',
    config: { action: 'dead_letter.requeue' },
    schema: {
      tags: ['dead letters'],
      summary: 'Requeue all dead letters that match, up to a limit',
      body: z.strictObject({ ...deadLetterFilter, limit: z.int().min(1).max(1_000).default(100) }),
      response: {
        200: z.object({
          requeued: z.array(z.object({ job_id: z.uuid(), requeued_from: z.uuid() })),
          skipped: z.array(z.object({ job_id: z.uuid(), code: z.string() })),
        }),
        ...problems(413, 415),
      },
    },
    handler: async (request) => {
      const { tenantId, userId } = principalOf(request);
      const { error_code: errorCode, pipeline, limit } = request.body;
      const filter = { tenantId, errorCode, pipeline, limit };
      const { requeued, skipped } = await requeueMatching(kernel, filter, userId);
      return { requeued: requeued.map(toSnakeCase), skipped: skipped.map(toSnakeCase) };
    },
  });
}
