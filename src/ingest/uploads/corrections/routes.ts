import { Readable } from 'node:stream';
import { z } from 'zod';
import { problems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { csvLine } from '../../../lib/formats/csv-cells.ts';
import { checkedColumns, keyOf, uploadParams as params } from '../intake/fields.ts';
import { getUpload, type UploadServiceDeps } from '../service.ts';
import { renderUpload, uploadReply } from '../views.ts';
import { listCorrections } from './correction-store.ts';
import { correct, takeBack } from './service.ts';
import { type Correction, maxCorrections } from './types.ts';

const tags = ['uploads'];
const rowIndex = z.int().min(0).max(2_147_483_647);

const correctionReply = z
  .object({
    row_index: z.int(),
    line: z.int().nullable(),
    column: z.string(),
    old_value: z.string().describe('What the file says'),
    new_value: z.string(),
    corrected_by: z.string(),
    corrected_at: timestamp,
  })
  .meta({ id: 'UploadCorrection' });

/** Cells that a person corrects during review. */
export function installCorrections(app: RouteApp, routeDeps: RouteDeps, deps: UploadServiceDeps): void {
  installCorrecting(app, deps);
  installTakingBack(app, deps);
  installList(app, routeDeps);
  installDownload(app, routeDeps);
}

function installCorrecting(app: RouteApp, deps: UploadServiceDeps): void {
  app.route({
    method: 'POST',
    url: '/api/uploads/:upload_id/corrections',
    config: { action: 'upload.control', anyKeys: true, takesData: true },
    schema: {
      tags,
      summary:
        'Correct cells of refused rows of a held upload; the file is read again with them and the upload stays held',
      params,
      body: z.strictObject({
        rows: z
          .array(
            z.strictObject({
              row_index: rowIndex,
              cells: checkedColumns(storedText(500).min(1), storedText(10_000)),
            }),
          )
          .min(1)
          .max(500),
      }),
      response: { 202: uploadReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const rows = request.body.rows.map(({ row_index: at, cells }) => ({ rowIndex: at, cells }));
      const { userId } = principalOf(request);
      return reply.code(202).send(renderUpload(await correct(deps, keyOf(request), { rows, userId })));
    },
  });
}

function installTakingBack(app: RouteApp, deps: UploadServiceDeps): void {
  app.route({
    method: 'DELETE',
    url: '/api/uploads/:upload_id/corrections',
    config: { action: 'upload.control' },
    schema: {
      tags,
      summary: 'Take corrections of a held upload back, of one row or of all; the file is read again',
      params,
      querystring: z.strictObject({ row_index: z.coerce.number().pipe(rowIndex).optional() }),
      response: { 202: uploadReply, ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      const { userId } = principalOf(request);
      const row = { rowIndex: request.query.row_index ?? null, userId };
      return reply.code(202).send(renderUpload(await takeBack(deps, keyOf(request), row)));
    },
  });
}

function installList(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/corrections',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary:
        'List the corrected cells of an upload: what the file says, what was read instead, who and when',
      params,
      response: { 200: z.object({ data: z.array(correctionReply) }), ...problems(404) },
    },
    handler: async (request) => {
      const upload = await getUpload({ db }, keyOf(request));
      const found = await db.read(upload.tenantId, (tx) =>
        listCorrections(tx, { ...upload, limit: maxCorrections }),
      );
      return { data: found.map(render) };
    },
  });
}

function installDownload(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/corrections.csv',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'Download the corrected cells of an upload as CSV',
      params,
      response: { 200: z.any().describe('The file'), ...problems(404) },
    },
    handler: async (request, reply) => {
      const upload = await getUpload({ db }, keyOf(request));
      const found = await db.read(upload.tenantId, (tx) =>
        listCorrections(tx, { ...upload, limit: maxCorrections }),
      );
      const lines = [Object.keys(correctionReply.shape), ...found.map((one) => Object.values(render(one)))];
      const text = lines.map((cells) => csvLine(cells.map((cell) => String(cell ?? '')))).join('');
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="corrections-${upload.uploadId}.csv"`)
        .send(Readable.from([Buffer.from(`\uFEFF${text}`)], { objectMode: false }));
    },
  });
}

function render(one: Correction): z.output<typeof correctionReply> {
  return {
    row_index: one.rowIndex,
    line: one.line,
    column: one.header,
    old_value: one.oldValue,
    new_value: one.newValue,
    corrected_by: one.userId,
    corrected_at: one.createdAt.toISOString(),
  };
}
