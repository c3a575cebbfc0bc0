import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fileErrors } from '../../kernel/files/errors.ts';
import { clientSignal } from '../../kernel/http/client-signal.ts';
import { dropRest } from '../../kernel/http/multipart.ts';
import { problems } from '../../kernel/http/replies.ts';
import {
  principalOf,
  type RouteApp,
  type RouteDeps,
  type RouteModule,
  sendKept,
} from '../../kernel/http/route.ts';
import { jobKeyOf } from '../../kernel/jobs/routes.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { readerErrors } from '../../lib/rows/errors.ts';
import { type ExportFormat, exportFormats, exportItems } from './export/export.ts';
import { fixingRoutes } from './fixing/routes.ts';
import type { PageTiming } from './grid/page-timing.ts';
import { gridRoutes } from './grid/routes.ts';
import { imageRoutes } from './images/image-routes.ts';
import type { ArrivingFile } from './images/types.ts';
import { openFileRef } from './intake/file-refs.ts';
import { type ItemSource, readItemForm } from './intake/form.ts';
import { type IngestDeps, ingestFile } from './intake/ingest.ts';

import { previewRoutes } from './preview/routes.ts';
import type { TryDeps } from './preview/try-rows.ts';
import { getItemJob, reprocess } from './service.ts';
import { templateRoutes } from './templates/routes.ts';
import { withTemplate } from './templates/service.ts';
import { itemJobReply, noteReply, renderItemJob } from './views.ts';

export interface ItemRoutesDeps extends Omit<IngestDeps, 'secrets'>, TryDeps {
  ingestEnabled: boolean;
  ingestFolder: string | null;
  pages: PageTiming;
}

const tags = ['items'];
const params = z.strictObject({ job_id: z.uuid() });

export function itemRoutes(deps: ItemRoutesDeps): RouteModule {
  return (app, routeDeps) => {
    installIngest(app, deps);
    previewRoutes(app, { ...deps, openSource: (request, more) => openSource(deps, request, more) });
    gridRoutes(app, { ...routeDeps, pages: deps.pages });
    imageRoutes(app, { ...routeDeps, files: deps.files });
    installReprocess(app, deps);
    fixingRoutes(app, routeDeps, deps);
    templateRoutes(app, deps);
    installExport(app, routeDeps);
  };
}

function installIngest(app: RouteApp, deps: ItemRoutesDeps): void {
  app.route({
    method: 'POST',
    url: '/api/jobs',
    config: { action: 'item.create', idempotent: 'by_handler', takesData: true, share: 'uploads' },
    schema: {
      tags,
      summary:
        'Create a job from a file of rows, several images or a ZIP of images: multipart with processor, options ' +
        'and file, or JSON with a fileRef',
      consumes: ['multipart/form-data', 'application/json'],
      response: {
        201: z.object({ jobId: z.uuid(), notes: z.array(noteReply).optional() }),
        ...problems(404, 409, 413, 415, 422),
      },
    },
    handler: async (request, reply) => {
      if (!deps.ingestEnabled) {
        throw fileErrors.raise.ingest_disabled('DB_INGEST_ENABLED is false on this server');
      }
      try {
        const { tenantId, userId, role } = principalOf(request);
        const { digest, ...source } = hashing(await openSource(deps, request));
        const ingest = {
          ...source,
          tenantId,
          userId,
          role,
          ipAddress: request.ip,
          signal: clientSignal(reply),
        };
        const { kept, made } = await ingestFile(deps, ingest, async ({ fields, notes, reveal }) => {
          const { options = {} } = fields;
          const answer = await request.receipt.claim({ ...fields, options, sha256: digest() });
          if (answer) return { kept: answer };
          const told = notes.length > 0 ? { notes: notes.map((note) => ({ ...note })) } : {};
          const keep = request.receipt.keeping<Job>(201, ({ jobId }) => ({ jobId, ...told }), placeOf);
          const { jobId } = await reveal(keep);
          return { made: { jobId, ...told } };
        });
        if (kept) return sendKept(reply, kept);
        return reply.code(201).headers(placeOf(made)).send(made);
      } catch (error) {
        dropRest(request);
        throw error;
      }
    },
  });
}

function placeOf({ jobId }: Pick<Job, 'jobId'>): { location: string } {
  return { location: `/api/jobs/${jobId}` };
}

async function openSource(
  deps: ItemRoutesDeps,
  request: FastifyRequest,
  moreFields: readonly string[] = [],
): Promise<ItemSource> {
  refuseCompressed(request);
  const { tenantId } = principalOf(request);
  const source = request.isMultipart()
    ? await readItemForm(request, { maxFileBytes: deps.maxUploadBytes, moreFields })
    : await openFileRef(request.body, { folder: deps.ingestFolder, tenantId });
  return withTemplate(deps, source, { tenantId });
}

/** The server does not decompress requests: a few bytes could expand to any number. */
function refuseCompressed({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw readerErrors.raise.unsupported_format(
    `The request is compressed (content-encoding ${encoding.slice(0, 40)}); send it as it is.`,
    { details: { detected: encoding.slice(0, 40) } },
  );
}

function installReprocess(app: RouteApp, deps: ItemRoutesDeps): void {
  app.route({
    method: 'POST',
    url: '/api/jobs/:job_id/reprocess',
    config: { action: 'item.control', takesData: true },
    schema: {
      tags,
      summary: 'Reprocess rows: failed ones, or selected ones',
      params,
      body: z
        .strictObject({
          scope: z.enum(['job', 'items']).default('job'),
          itemIds: z
            .array(z.string().regex(/^\d{1,18}$/))
            .max(10_000)
            .optional(),
          statuses: z
            .array(z.enum(['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED']))
            .min(1)
            .default(['ERROR', 'NOT_FOUND']),
          errorCode: z
            .string()
            .min(1)
            .max(200)
            .optional()
            .describe('Only rows that failed for this reason, as GET …/failures names it'),
          resetAttempts: z.boolean().default(false),
        })
        .refine(({ scope, itemIds }) => scope === 'job' || (itemIds?.length ?? 0) > 0, {
          path: ['itemIds'],
          message: 'must name items when scope is items',
        }),
      response: {
        200: itemJobReply.extend({ reset: z.int(), exhausted: z.int() }).meta({ id: 'ReprocessedJob' }),
        ...problems(404, 409, 413, 415),
      },
    },
    handler: async (request) => {
      const key = jobKeyOf(request);
      const { scope, itemIds, statuses, errorCode = null, resetAttempts } = request.body;
      const ids = scope === 'items' ? (itemIds ?? []).map(Number) : null;
      const report = await reprocess(deps, key, { statuses, itemIds: ids, errorCode, resetAttempts });
      const { job, items } = await getItemJob(deps, key);
      return { ...renderItemJob(job, items), ...report };
    },
  });
}

const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
};

const yesNo = z.enum(['true', 'false']).default('false');

const exportQuery = z.strictObject({
  format: z.enum(exportFormats).default('csv'),
  input: yesNo.describe('Also the columns of the file, as input.NAME'),
  reasons: yesNo.describe('Also why rows failed: error_code and last_error'),
  columns: z
    .union([z.string(), z.array(z.string()).min(1).max(1_000)])
    .transform((names) => [names].flat())
    .optional()
    .describe('Only these columns, in this order: columns=sku&columns=price'),
});

function installExport(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'POST',
    url: '/api/jobs/:job_id/export',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary: 'Export the grid as a file: CSV, XLSX or Parquet',
      params,
      querystring: exportQuery,
      response: { 200: z.any().describe('The file'), ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { format, input, reasons, columns = null } = request.query;
      const wish = { input: input === 'true', reasons: reasons === 'true', columns };
      const { job, items } = await getItemJob({ db }, jobKeyOf(request));
      const content = Readable.from(exportItems(db, items, { format, wish }), { objectMode: false });
      return reply
        .type(mediaTypes[format])
        .header('content-disposition', `attachment; filename="job-${job.jobId}.${format}"`)
        .send(content);
    },
  });
}

/** A retried upload is the same request if its fields, the bytes of its files and the names of further files match. */
function hashing({ fields, file, more }: ItemSource): ItemSource & { digest(): string } {
  const hashes: { fileName: string | null; hash: Hash }[] = [];
  async function* read({ fileName, content }: ArrivingFile): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    hashes.push({ fileName, hash });
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  }
  return {
    fields,
    file: { ...file, content: read(file) },
    more: async () => {
      const next = await more();
      return next === null ? null : { ...next, content: read(next) };
    },
    digest: () => {
      const [first, ...others] = hashes.map(({ fileName, hash }) => ({
        fileName,
        sha256: hash.digest('hex'),
      }));
      if (others.length === 0) return first?.sha256 ?? '';
      return createHash('sha256')
        .update(JSON.stringify([first, ...others]))
        .digest('hex');
    },
  };
}
