import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import type { RouteApp, RouteDeps } from '../../../kernel/http/route.ts';
import { jobKeyOf } from '../../../kernel/jobs/routes.ts';
import { normalizedJson } from '../../../kernel/rows/normalized-fields.ts';
import { itemErrors } from '../errors.ts';
import { getItemJob } from '../service.ts';
import { findItemRow } from '../store.ts';

/** One row with everything that is known of it. */
export function itemRowRoutes(app: RouteApp, deps: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/:job_id/items/:item_id',
    config: { action: 'item.read' },
    schema: {
      tags: ['items'],
      summary: 'One row: its input, the well-known fields of it under their own names, and its result',
      params: z.strictObject({ job_id: z.uuid(), item_id: z.coerce.number().int().min(1) }),
      response: { 200: z.looseObject({ id: z.string(), normalized: z.looseObject({}) }), ...problems(404) },
    },
    handler: async (request, reply) => {
      const key = jobKeyOf(request);
      const itemId = request.params.item_id;
      await getItemJob(deps, key);
      const row = await deps.db.tenant(key.tenantId, (tx) => findItemRow(tx, { ...key, itemId }));
      if (!row) throw itemErrors.raise.item_not_found(`Job ${key.jobId} has no item ${itemId}`);
      const normalized = row.normalizedJson ?? normalizedJson(row.inputJson);
      // Text and not objects: numbers of any length and every key survive.
      const body = `${row.json.slice(0, -1)},"normalized":${normalized}}`;
      return reply.type('application/json; charset=utf-8').send(Buffer.from(body, 'utf8'));
    },
  });
}
