import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import type { RouteApp, RouteDeps } from '../../../kernel/http/route.ts';
import { keyOf, mappingSchema, uploadParams as params, rangeFields, rangeOf } from '../intake/fields.ts';
import type { HeaderMapping } from '../reports/types.ts';
import { remap, type UploadServiceDeps } from '../service.ts';
import { problemsReply, reconciliationReply, renderUpload, uploadReply } from '../views.ts';
import { getReconciliation, listProblems, preview } from './review.ts';

const tags = ['uploads'];

/** What a person checks and changes before deciding about a held upload. */
export function installReview(app: RouteApp, routeDeps: RouteDeps, deps: UploadServiceDeps): void {
  installPreview(app, routeDeps);
  installProblems(app, routeDeps);
  installMapping(app, deps);
  installReconciliation(app, routeDeps);
}

function installPreview(app: RouteApp, { db }: RouteDeps): void {
  const counts = z.object({ created: z.int(), updated: z.int(), unchanged: z.int() });
  const threshold = z
    .object({ total_rows: z.int(), valid_rows: z.int(), percent_needed: z.int(), is_met: z.boolean() })
    .describe('If it is not met, promoting needs force_partial');
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/preview',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'Preview what promoting a held upload would create, update and leave unchanged',
      params,
      response: {
        200: z
          .object({
            campaigns: counts,
            ad_sets: counts,
            ads: counts,
            daily_metrics: counts,
            period_metrics: counts,
            threshold,
          })
          .meta({ id: 'UploadPreview' }),
        ...problems(404, 409),
      },
    },
    handler: (request) => preview({ db }, keyOf(request)),
  });
}

function installProblems(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/problems',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List why rows were refused: reasons with fix and example rows, most frequent first',
      params,
      response: { 200: problemsReply, ...problems(404) },
    },
    handler: (request) => listProblems({ db }, keyOf(request)),
  });
}

function installReconciliation(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/reconciliation',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary:
        'Compare the sums of an upload: its lines, its own total row, what was promoted and what was refused',
      params,
      response: { 200: reconciliationReply, ...problems(404, 409) },
    },
    handler: async (request) => getReconciliation({ db }, keyOf(request)),
  });
}

function installMapping(app: RouteApp, deps: UploadServiceDeps): void {
  app.route({
    method: 'PUT',
    url: '/api/uploads/:upload_id/mapping',
    config: { action: 'upload.control', anyKeys: true, takesData: true },
    schema: {
      tags,
      summary:
        'Map the columns of a held upload, or give its range; the file is read again and the upload stays held',
      params,
      body: z.strictObject({ mapping: mappingSchema.optional(), ...rangeFields }),
      response: { 202: uploadReply, ...problems(404, 409, 413, 415) },
    },
    handler: async (request, reply) => {
      const upload = await remap(deps, keyOf(request), {
        mapping: request.body.mapping as HeaderMapping | undefined,
        range: rangeOf(request.body),
      });
      return reply.code(202).send(renderUpload(upload));
    },
  });
}
