import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientSignal } from '../../../kernel/http/client-signal.ts';
import { dropRest } from '../../../kernel/http/multipart.ts';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp } from '../../../kernel/http/route.ts';
import { type ChoiceDeps, chooseAtLast, chooseForRows, refuseEarly } from '../intake/choose-processor.ts';
import type { ItemSource } from '../intake/form.ts';
import type { IngestDeps } from '../intake/ingest.ts';
import { noteReply } from '../views.ts';
import { type FilePreview, previewFile } from './preview.ts';
import { type TriedRow, type TryDeps, tryRows } from './try-rows.ts';
import { valueKinds } from './value-kinds.ts';

export interface PreviewRoutesDeps extends ChoiceDeps, TryDeps, Pick<IngestDeps, 'workbooks'> {
  secrets: TryDeps['secrets'];
  openSource(request: FastifyRequest): Promise<ItemSource>;
}

const previewRows = 20;
const triedRows = 5;
const tags = ['items'];
const consumes = ['multipart/form-data', 'application/json'];
const errors = problems(404, 409, 413, 415, 422);

const previewReply = z
  .object({
    fileName: z.string().nullable(),
    format: z.string(),
    delimiter: z.string().nullable(),
    encoding: z.string().nullable(),
    headerLine: z.int().nullable(),
    sheet: z.string().nullable(),
    sheets: z.array(z.string()),
    rowCount: z.int(),
    fileColumns: z.array(z.string()).nullable(),
    columns: z.array(
      z.object({ name: z.string(), type: z.enum(valueKinds), filled: z.int(), samples: z.array(z.string()) }),
    ),
    notes: z.array(noteReply),
    rows: z.array(z.looseObject({})).describe(`The first ${previewRows} rows, as the job would store them`),
  })
  .meta({ id: 'FilePreview' });

const triedReply = z
  .object({
    processor: z.string(),
    data: z.array(
      z.object({
        rowNo: z.int(),
        status: z.enum(['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED']),
        errorCode: z.string().nullable(),
        lastError: z.string().nullable(),
        wouldRetry: z.boolean(),
        calls: z.array(z.looseObject({ provider: z.string() })),
        input: z.looseObject({}),
        result: z.any(),
      }),
    ),
  })
  .meta({ id: 'TriedRows' });

/** Looks at a file, and tries a few of its rows, before a job is made of it. Both store nothing. */
export function previewRoutes(app: RouteApp, deps: PreviewRoutesDeps): void {
  app.route({
    method: 'POST',
    url: '/api/items/preview',
    config: { action: 'item.create', takesData: true, share: 'uploads' },
    schema: {
      tags,
      consumes,
      summary:
        'Read a file of rows as a job would, and show its columns, its first rows and what was repaired',
      response: { 200: previewReply, ...errors },
    },
    handler: (request, reply) =>
      reading(request, async () => {
        const { preview } = await readFile(deps, { request, reply, shownRows: previewRows });
        return sendJson(reply, previewJson(preview));
      }),
  });
  app.route({
    method: 'POST',
    url: '/api/items/try',
    config: { action: 'item.create', takesData: true, share: 'uploads' },
    schema: {
      tags,
      consumes,
      summary: `Run the first ${triedRows} rows of a file through the processor, for real, without making a job`,
      response: { 200: triedReply, ...errors },
    },
    handler: (request, reply) =>
      reading(request, async () => {
        const { preview, source, signal } = await readFile(deps, { request, reply, shownRows: triedRows });
        const principal = principalOf(request);
        const wish = { ...source.fields(), ...principal, fileName: preview.fileName };
        const choice = await chooseAtLast(deps, wish, {
          jobType: 'csv',
          processor: chooseForRows(deps, wish, 'csv'),
        });
        const tried = await tryRows(deps, { principal, choice, rows: preview.rows, signal });
        return sendJson(reply, triedJson(choice.processor.name, tried));
      }),
  });
}

async function readFile(
  deps: PreviewRoutesDeps,
  { request, reply, shownRows }: { request: FastifyRequest; reply: FastifyReply; shownRows: number },
): Promise<{ preview: FilePreview; source: ItemSource; signal: AbortSignal }> {
  const principal = principalOf(request);
  const source = await deps.openSource(request);
  await refuseEarly(deps, { ...source.fields(), ...principal, fileName: source.file.fileName });
  const signal = clientSignal(reply);
  const reader = { tenantId: principal.tenantId, signal, shownRows };
  return { preview: await previewFile(deps.workbooks, source, reader), source, signal };
}

async function reading<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    dropRest(request);
    throw error;
  }
}

/** Rows are JSON text already: numbers of any length and every key survive. */
function previewJson({ rows, layout, ...preview }: FilePreview): string {
  return `${JSON.stringify({ ...preview, ...layout }).slice(0, -1)},"rows":[${rows.join(',')}]}`;
}

function triedJson(processor: string, rows: readonly TriedRow[]): string {
  const data = rows.map(
    ({ input, result, ...row }) => `${JSON.stringify(row).slice(0, -1)},"input":${input},"result":${result}}`,
  );
  return `{"processor":${JSON.stringify(processor)},"data":[${data.join(',')}]}`;
}

function sendJson(reply: FastifyReply, body: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(Buffer.from(body, 'utf8'));
}
