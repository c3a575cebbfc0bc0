import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../../kernel/http/route.ts';
import { getJob, listJobsPage } from '../../../kernel/jobs/dispatch/service.ts';
import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { jobStatuses } from '../../../kernel/jobs/types.ts';
import { connectorFormParts } from '../form.ts';
import { pipelineName } from '../types.ts';
import { renderSync, syncReply } from '../views.ts';

const tags = ['connectors'];

/** The history: every sync with its result. Its timeline is GET /api/events?subject={job_id}. */
export const syncRoutes: RouteModule = (app, { db, cursors }) => {
  const list = 'syncs';
  app.route({
    method: 'GET',
    url: '/api/syncs',
    config: { action: 'connector.read' },
    schema: {
      tags,
      summary: 'List syncs, newest first',
      querystring: z.strictObject({
        ...pageQuery,
        status: z.enum(jobStatuses).optional(),
        connector_id: connectorFormParts.id.optional(),
        error_code: connectorFormParts.id.optional(),
      }),
      response: { 200: listOf(syncReply), ...problems() },
    },
    handler: async (request) => {
      const { limit, status, connector_id: connectorId, error_code: errorCode } = request.query;
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const filter = { tenantId, pipeline: pipelineName, status, connectorId, errorCode, ...page };
      const rows = await listJobsPage({ db }, filter);
      return pageOf(rows, { limit, list, cursors, key: (row) => row.jobId, render: renderSync });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/syncs/:job_id',
    config: { action: 'connector.read' },
    schema: {
      tags,
      summary: 'Get a sync',
      params: z.strictObject({ job_id: z.uuid() }),
      response: { 200: syncReply, ...problems(404) },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { job_id: jobId } = request.params;
      const job = await getJob({ db }, { tenantId, jobId });
      if (job.pipeline === pipelineName) return renderSync(job);
      throw jobErrors.raise.job_not_found(`Job ${jobId} is not a sync`);
    },
  });
};
