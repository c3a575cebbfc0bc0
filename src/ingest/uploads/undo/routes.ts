import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import type { RouteApp } from '../../../kernel/http/route.ts';
import { keyOf, uploadParams as params } from '../intake/fields.ts';
import { getUpload, type UploadServiceDeps } from '../service.ts';
import { renderUpload, uploadReply } from '../views.ts';
import { previewUndo, undo } from './undo.ts';

const url = '/api/uploads/:upload_id/undo';
const tags = ['uploads'];
const counts = z.object({
  campaigns: z.int(),
  ad_sets: z.int(),
  ads: z.int(),
  daily_metrics: z.int(),
  period_metrics: z.int(),
  metric_breakdowns: z.int(),
});

export function installUndo(app: RouteApp, deps: UploadServiceDeps): void {
  app.route({
    method: 'GET',
    url,
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'Preview what undoing an upload would delete and keep',
      params,
      response: {
        200: z.object({ deleted: counts, not_undone: counts }).meta({ id: 'UndoPreview' }),
        ...problems(404, 409),
      },
    },
    handler: (request) => previewUndo(deps, keyOf(request)),
  });
  app.route({
    method: 'POST',
    url,
    config: { action: 'upload.control' },
    schema: {
      tags,
      summary: 'Undo an upload: delete what it created and no other upload uses',
      params,
      response: {
        200: z.object({ upload: uploadReply, deleted: counts, not_undone: counts }),
        ...problems(404, 409, 413, 415),
      },
    },
    handler: async (request) => {
      const key = keyOf(request);
      const report = await undo(deps, key);
      return { upload: renderUpload(await getUpload(deps, key)), ...report };
    },
  });
}
