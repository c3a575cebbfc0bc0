import { z } from 'zod';
import { problems } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteModule } from '../../kernel/http/route.ts';
import { storedText } from '../../kernel/http/stored-text.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { jsonSchemaOf } from './definitions/schema.ts';
import { dispatchOwn, type OwnDeps } from './service.ts';
import { renderTask, taskReply } from './views.ts';

const tags = ['tasks'];

/** Lists and dispatches the pipelines and tasks that this installation has defined. */
export function ownRoutes(deps: OwnDeps): RouteModule {
  return (app) => {
    app.route({
      method: 'GET',
      url: '/api/tasks',
      config: { action: 'job.read' },
      schema: {
        tags,
        summary: 'List the pipelines and tasks that are defined here',
        response: { 200: z.object({ data: z.array(taskReply) }), ...problems() },
      },
      handler: async () => ({ data: [...deps.definitions.values()].map(renderTask) }),
    });
    installDispatch(app, deps, null);
    for (const name of deps.definitions.keys()) installDispatch(app, deps, name);
  };
}

const dispatchReply = z.object({ jobId: z.uuid() });
const place = ({ jobId }: Job) => ({ location: `/api/jobs/${jobId}` });

/** The general route; and for each name one of its own, so that its schema is in the OpenAPI document. */
function installDispatch(app: RouteApp, deps: OwnDeps, only: string | null): void {
  const definition = only === null ? undefined : deps.definitions.get(only);
  const jsonSchema = definition ? jsonSchemaOf(definition.input) : null;
  const input = z.unknown().meta(jsonSchema ?? { description: 'What the schema of the task allows' });
  app.route({
    method: 'POST',
    url: `/api/tasks/${only ?? ':name'}`,
    config: { action: 'job.control', idempotent: true, takesData: true, anyKeys: true },
    schema: {
      tags,
      summary: only === null ? 'Dispatch a pipeline or a task' : `Dispatch ${definition?.kind} ${only}`,
      ...(only === null && { params: z.strictObject({ name: storedText(64) }) }),
      body: z.strictObject({
        input,
        subjectId: storedText(500).min(1).optional().describe('One active job of a subject at a time'),
        runAt: z.iso.datetime({ offset: true }).optional().describe('Not before'),
      }),
      response: { 202: dispatchReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId } = principalOf(request);
      const { input, subjectId, runAt } = request.body;
      const name = only ?? (request.params as { name: string }).name;
      const wish = { tenantId, subjectId, createdBy: userId, userId, ipAddress: request.ip };
      const moment = runAt === undefined ? {} : { runAt: new Date(runAt) };
      const render = ({ jobId }: Job) => ({ jobId });
      const keep = request.receipt.keeping(202, render, place);
      const job = await dispatchOwn(deps, { name, input, wish: { ...wish, ...moment } }, keep);
      return reply.code(202).headers(place(job)).send(render(job));
    },
  });
}
