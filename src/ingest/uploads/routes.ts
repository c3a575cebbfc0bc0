import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientSignal } from '../../kernel/http/client-signal.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../kernel/http/replies.ts';
import {
  type KeptAnswer,
  principalOf,
  type RouteApp,
  type RouteDeps,
  type RouteModule,
  sendKept,
} from '../../kernel/http/route.ts';
import { storedText } from '../../kernel/http/stored-text.ts';
import { cancel } from '../../kernel/jobs/dispatch/service.ts';
import { ownerFilter, type Principal } from '../../kernel/tenancy/types.ts';
import { installCorrections } from './corrections/routes.ts';
import { installFigures } from './figures/routes.ts';
import {
  columnRecord,
  keyOf,
  mappingSchema,
  uploadParams as params,
  rangeFields,
  rangeOf,
} from './intake/fields.ts';
import { type ReceivedUpload, receiveForm, receiveReference } from './intake/form.ts';
import { type IntakeDeps, takeInAll, type UploadsOfFile } from './intake/intake.ts';
import { listMappedPlatforms, readMapping } from './intake/mapping-store.ts';
import { platformName } from './platforms/profile-schema.ts';
import { installPlatforms } from './platforms/routes.ts';
import { assertPlatform } from './platforms/service.ts';
import { installProduction } from './promotion/production-routes.ts';
import { entityTypes, type HeaderMapping } from './reports/types.ts';
import { writeRejected } from './review/rejected.ts';
import { installReview } from './review/routes.ts';
import { getUpload, releaseForPromotion, saveMapping } from './service.ts';
import { listStagedRows } from './staging/store.ts';
import { listUploads } from './store.ts';
import { type StagedRow, uploadStatuses } from './types.ts';
import { installUndo } from './undo/routes.ts';
import { renderStagedRow, renderUpload, stagedRowReply, uploadReply } from './views.ts';

export interface UploadRoutesDeps extends IntakeDeps {
  ingestFolder: string | null;
}

const tags = ['uploads'];

export function uploadRoutes(deps: UploadRoutesDeps): RouteModule {
  return (app, routeDeps) => {
    installIntake(app, deps);
    installMappings(app, routeDeps);
    installPlatforms(app, routeDeps, deps);
    installReading(app, routeDeps);
    installRows(app, routeDeps);
    installRejected(app, routeDeps);
    installReview(app, routeDeps, deps);
    installCorrections(app, routeDeps, deps);
    installControl(app, deps);
    installUndo(app, deps);
    installProduction(app, routeDeps);
    installFigures(app, routeDeps);
  };
}

function installIntake(app: RouteApp, deps: UploadRoutesDeps): void {
  const created = (uploads: UploadsOfFile) => ({
    upload_id: uploads[0].uploadId,
    status: uploads[0].status,
    uploads: uploads.map(({ uploadId, filename }) => ({ upload_id: uploadId, filename })),
  });
  const place = ([{ uploadId }]: UploadsOfFile) => ({ location: `/api/uploads/${uploadId}` });
  app.route({
    method: 'POST',
    url: '/api/uploads',
    config: {
      action: 'upload.create',
      idempotent: 'by_handler',
      anyKeys: true,
      takesData: true,
      share: 'uploads',
    },
    schema: {
      tags,
      summary: 'Upload an ad report: multipart with the fields and a file, or JSON with a file_ref',
      consumes: ['multipart/form-data', 'application/json'],
      response: {
        201: z.object({
          upload_id: z.uuid().describe('The first one'),
          status: z.enum(uploadStatuses),
          uploads: z
            .array(z.object({ upload_id: z.uuid(), filename: z.string().nullable() }))
            .describe('One for each report: a ZIP archive may hold several'),
        }),
        ...problems(409, 413, 415, 422),
      },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      const received = request.isMultipart()
        ? await receiveForm(deps, request, principal.tenantId)
        : await receiveReference(deps, { body: request.body, tenantId: principal.tenantId });
      const kept = await claimFor(request, received).catch(async (error: unknown) => {
        await deps.files.remove(received.stored.storageKey);
        throw error;
      });
      if (kept) {
        await deps.files.remove(received.stored.storageKey);
        return sendKept(reply, kept);
      }
      const uploads = await takeInAll(deps, {
        ...received,
        tenantId: principal.tenantId,
        userId: principal.userId,
        createdBy: creatorOf(principal, received),
        ipAddress: request.ip,
        signal: clientSignal(reply),
        beforeCommit: request.receipt.keeping(201, created, place),
      });
      return reply.code(201).headers(place(uploads)).send(created(uploads));
    },
  });
}

/** Two requests with one Idempotency-Key are the same if all fields and the bytes of the file are. */
function claimFor(request: FastifyRequest, { fields, stored }: ReceivedUpload): Promise<KeptAnswer | null> {
  return request.receipt.claim({ ...fields, sha256: stored.sha256 });
}

/** Only a service may name another creator, because it uploads for others. */
function creatorOf({ role, userId }: Principal, { fields }: ReceivedUpload): string {
  return role === 'service' ? (fields.created_by ?? userId) : userId;
}

function installReading(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'uploads';
  app.route({
    method: 'GET',
    url: '/api/uploads',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List uploads, newest first',
      querystring: z.strictObject({
        ...pageQuery,
        workspace_id: z.uuid().optional(),
        status: z.enum(uploadStatuses).optional(),
        platform: platformName.optional(),
        filename: storedText(200).min(1).optional().describe('Part of the file name'),
      }),
      response: { 200: listOf(uploadReply), ...problems() },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const { limit, status, platform, filename, workspace_id: workspaceId } = request.query;
      const page = pageRequest(request.query, { list, cursors });
      const scope = { tenantId: principal.tenantId, ownerId: ownerFilter(principal) };
      const rows = await db.read(principal.tenantId, async (tx) => {
        if (platform !== undefined)
          await assertPlatform(tx, { tenantId: principal.tenantId, name: platform });
        return listUploads(tx, { ...scope, ...page, status, platform, filename, workspaceId });
      });
      return pageOf(rows, { limit, list, cursors, key: (row) => row.uploadId, render: renderUpload });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id',
    config: { action: 'upload.read' },
    schema: { tags, summary: 'Get an upload', params, response: { 200: uploadReply, ...problems(404) } },
    handler: async (request) => renderUpload(await getUpload({ db }, keyOf(request))),
  });
}

function installRows(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'staged rows';
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/rows',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List the staged rows of an upload in the order of the file',
      params,
      querystring: z.strictObject({
        ...pageQuery,
        validation_status: z.enum(['pending', 'valid', 'invalid']).optional(),
        entity_type: z.enum(entityTypes).optional(),
        line: z.coerce
          .number()
          .int()
          .min(1)
          .max(2_147_483_647)
          .optional()
          .describe('Only this line of the file'),
      }),
      response: { 200: listOf(stagedRowReply), ...problems(404) },
    },
    handler: async (request) => {
      const {
        limit,
        cursor,
        line,
        validation_status: validationStatus,
        entity_type: entityType,
      } = request.query;
      const upload = await getUpload({ db }, keyOf(request));
      const [rowIndex, afterEntity] = cursor === undefined ? [] : cursors.decode(list, cursor);
      const after =
        cursor === undefined ? null : { rowIndex: Number(rowIndex), entityType: String(afterEntity) };
      const rows = await db.read(upload.tenantId, (tx) =>
        listStagedRows(tx, { ...upload, validationStatus, entityType, line, after, limit: limit + 1 }),
      );
      const key = (row: StagedRow) => [row.rowIndex, row.entityType];
      return pageOf(rows, { limit, list, cursors, key, render: renderStagedRow });
    },
  });
}

function installRejected(app: RouteApp, { db }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/uploads/:upload_id/rejected.csv',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary:
        'Download the refused rows as CSV with their reasons; the corrected file can be uploaded again',
      params,
      response: { 200: z.any().describe('The file'), ...problems(404) },
    },
    handler: async (request, reply) => {
      const upload = await getUpload({ db }, keyOf(request));
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="rejected-${upload.uploadId}.csv"`)
        .send(Readable.from(writeRejected(db, upload), { objectMode: false }));
    },
  });
}

function installControl(app: RouteApp, deps: UploadRoutesDeps): void {
  app.route({
    method: 'POST',
    url: '/api/uploads/:upload_id/promote',
    config: { action: 'upload.control', anyKeys: true, takesData: true },
    schema: {
      tags,
      summary: 'Promote an upload that is held for review',
      params,
      body: z
        .strictObject({
          mapping: mappingSchema.optional(),
          force_partial: z.boolean().optional(),
          ...rangeFields,
        })
        .nullish(),
      response: { 202: uploadReply, ...problems(404, 409, 413, 415) },
    },
    handler: async (request, reply) => {
      const { mapping, force_partial: forcePartial } = request.body ?? {};
      const upload = await releaseForPromotion(deps, keyOf(request), {
        mapping: mapping as HeaderMapping | undefined,
        forcePartial,
        range: rangeOf(request.body ?? {}),
      });
      return reply.code(202).send(renderUpload(upload));
    },
  });
  app.route({
    method: 'POST',
    url: '/api/uploads/:upload_id/cancel',
    config: { action: 'upload.control' },
    schema: {
      tags,
      summary: 'Cancel an upload that is not yet being promoted',
      params,
      response: { 200: uploadReply, ...problems(404, 409, 413, 415) },
    },
    handler: async (request) => {
      const key = keyOf(request);
      const { jobId } = await getUpload(deps, key);
      await cancel(deps, { tenantId: key.tenantId, jobId });
      return renderUpload(await getUpload(deps, key));
    },
  });
}

function installMappings(app: RouteApp, { db }: RouteDeps): void {
  const reply = z
    .object({ platform: z.string(), mapping: columnRecord(z.string().nullable()) })
    .meta({ id: 'UploadMapping' });
  app.route({
    method: 'GET',
    url: '/api/uploads/mappings',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List the saved column mappings by platform',
      querystring: z.strictObject({ platform: platformName.optional() }),
      response: { 200: z.object({ data: z.array(reply) }), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { platform: wanted } = request.query;
      return db.read(tenantId, async (tx) => {
        if (wanted !== undefined) await assertPlatform(tx, { tenantId, name: wanted });
        const named = wanted === undefined ? await listMappedPlatforms(tx, tenantId) : [wanted];
        const data = [];
        for (const platform of named)
          data.push({ platform, mapping: await readMapping(tx, { tenantId, platform }) });
        return { data };
      });
    },
  });
  app.route({
    method: 'PUT',
    url: '/api/uploads/mappings',
    config: { action: 'upload.control', anyKeys: true, takesData: true },
    schema: {
      tags,
      summary: 'Replace the saved column mapping of a platform',
      body: z.strictObject({
        platform: platformName.meta({ examples: ['meta'] }),
        mapping: mappingSchema,
      }),
      response: { 200: reply, ...problems(413, 415) },
    },
    handler: async (request) => {
      const { tenantId, userId } = principalOf(request);
      const { platform } = request.body;
      const mapping = request.body.mapping as HeaderMapping;
      await db.read(tenantId, (tx) => assertPlatform(tx, { tenantId, name: platform }));
      await saveMapping({ db }, { tenantId, platform, mapping, userId });
      return { platform, mapping };
    },
  });
}
