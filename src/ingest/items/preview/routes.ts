import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientSignal } from '../../../kernel/http/client-signal.ts';
import { dropRest } from '../../../kernel/http/multipart.ts';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp } from '../../../kernel/http/route.ts';
import { itemErrors } from '../errors.ts';
import { type ChoiceDeps, chooseAtLast, chooseForRows, refuseEarly } from '../intake/choose-processor.ts';
import type { ItemSource } from '../intake/form.ts';
import type { IngestDeps } from '../intake/ingest.ts';
import { noteReply } from '../views.ts';
import { type FilePreview, previewFile } from './preview.ts';
import { type TriedRow, type TryDeps, tryRows } from './try-rows.ts';
import { valueKinds } from './value-kinds.ts';

export interface PreviewRoutesDeps extends ChoiceDeps, TryDeps, Pick<IngestDeps, 'workbooks'> {
  secrets: TryDeps['secrets'];
  openSource(request: FastifyRequest, moreFields?: readonly string[]): Promise<ItemSource>;
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

const trialReply = z
  .object({
    columns: z.array(z.object({ name: z.string(), type: z.enum(valueKinds) })),
    totalRows: z.int(),
    rows: z.array(
      z.object({
        input: z.looseObject({}),
        status: z.enum(['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED']),
        result: z.any(),
        lastError: z.string().nullable(),
        errorCode: z.string().nullable(),
      }),
    ),
    repairs: z.array(z.object({ code: z.string(), row: z.int().nullable(), message: z.string() })),
  })
  .meta({ id: 'JobPreview' });

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
        const read = await readFile(deps, { request, reply, shownRows: triedRows });
        const { processor, tried } = await tryFirst(deps, request, { ...read, count: triedRows });
        return sendJson(reply, triedJson(processor, tried));
      }),
  });
  installTrial(app, deps);
}

/** Both at once, under the path of jobs: what the file says, and what becomes of its first rows. */
function installTrial(app: RouteApp, deps: PreviewRoutesDeps): void {
  app.route({
    method: 'POST',
    url: '/api/jobs/preview',
    config: { action: 'item.create', takesData: true, share: 'uploads' },
    schema: {
      tags,
      consumes,
      summary: `Read a file as a job would, and run its first rows (\`rows\`, at most ${previewRows}); nothing is kept`,
      response: { 200: trialReply, ...errors },
    },
    handler: (request, reply) =>
      reading(request, async () => {
        const read = await readFile(deps, { request, reply, shownRows: previewRows, moreFields: ['rows'] });
        const count = wantedRows(read.source.text?.('rows'));
        const { tried } = await tryFirst(deps, request, { ...read, count });
        return sendJson(reply, trialJson(read.preview, tried));
      }),
  });
}

function wantedRows(text: string | undefined): number {
  if (text === undefined) return triedRows;
  const count = Number(text);
  if (/^\d{1,3}$/.test(text) && count >= 1 && count <= previewRows) return count;
  throw itemErrors.raise.form_invalid(`The field rows is not a whole number from 1 to ${previewRows}`, {
    fields: [{ pointer: '/rows', message: `must be a whole number from 1 to ${previewRows}` }],
  });
}

function trialJson({ columns, rowCount, notes }: FilePreview, tried: readonly TriedRow[]): string {
  const repairs = notes.flatMap(({ code, message, places }) =>
    places.length === 0
      ? [{ code, row: null, message }]
      : places.map(({ row, what }) => ({
          code,
          row,
          message: what === '' ? message : `${message} (${what})`,
        })),
  );
  const head = { columns: columns.map(({ name, type }) => ({ name, type })), totalRows: rowCount, repairs };
  const rows = tried.map(({ input, result, status, lastError, errorCode }) => {
    const row = JSON.stringify({ status, lastError, errorCode });
    return `${row.slice(0, -1)},"input":${input},"result":${result}}`;
  });
  return `${JSON.stringify(head).slice(0, -1)},"rows":[${rows.join(',')}]}`;
}

async function tryFirst(
  deps: PreviewRoutesDeps,
  request: FastifyRequest,
  { preview, source, signal, count }: Awaited<ReturnType<typeof readFile>> & { count: number },
): Promise<{ processor: string; tried: TriedRow[] }> {
  const principal = principalOf(request);
  const wish = { ...source.fields(), ...principal, fileName: preview.fileName };
  const choice = await chooseAtLast(deps, wish, {
    jobType: 'csv',
    processor: chooseForRows(deps, wish, 'csv'),
  });
  const tried = await tryRows(deps, { principal, choice, rows: preview.rows.slice(0, count), signal });
  return { processor: choice.processor.name, tried };
}

interface Reading {
  request: FastifyRequest;
  reply: FastifyReply;
  shownRows: number;
  moreFields?: readonly string[];
}

async function readFile(
  deps: PreviewRoutesDeps,
  { request, reply, shownRows, moreFields = [] }: Reading,
): Promise<{ preview: FilePreview; source: ItemSource; signal: AbortSignal }> {
  const principal = principalOf(request);
  const source = await deps.openSource(request, moreFields);
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
