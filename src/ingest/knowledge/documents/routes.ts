import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../../kernel/http/replies.ts';
import {
  principalOf,
  type RouteApp,
  type RouteDeps,
  type RouteModule,
  sendKept,
} from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { refuseDeepJson } from '../../../lib/json-depth.ts';
import { kbKeyOf, kbParams } from '../bases/form.ts';
import { findShownGeneration } from '../bases/overview-store.ts';
import { knowledgeErrors } from '../errors.ts';
import { compileFilter, type DocumentFilter } from '../labels/filter.ts';
import { allowForm, labelsOfForm, metadataForm } from '../labels/form.ts';
import type { Labels } from '../labels/types.ts';
import { unknownFieldNotes } from '../labels/unknown-fields.ts';
import { getKb, getKbIn } from '../service.ts';
import { listKbFiles } from '../store.ts';
import { documentStates, type KnowledgeFile } from '../types.ts';
import { knowledgeDocumentReply, knowledgeFileReply, renderDocument, renderFile } from '../views.ts';
import {
  addFiles,
  type DocumentDeps,
  getDocument,
  labelDocument,
  removeDocument,
  removeMatching,
} from './documents.ts';
import { forgetFiles, type ReceivedFile, receiveDocuments } from './form.ts';
import { listDocuments } from './store.ts';

const tags = ['knowledge'];
const params = kbParams.extend({ document_id: z.uuid() });
const origin = storedText(1_000)
  .min(1)
  .optional()
  .describe('Where the files come from, to tell them apart later; shown with each file');

const filterQuery = storedText(8_000)
  .min(2)
  .describe('A filter over the metadata, as JSON; see the field `filter` of a search');

function filterOf({ filter }: { filter?: string | undefined }): DocumentFilter | null {
  if (filter === undefined) return null;
  refuseDeepJson(filter, 'The filter');
  try {
    return compileFilter(JSON.parse(filter));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw knowledgeErrors.raise.knowledge_filter_refused('The filter is not JSON', { cause: error });
  }
}

export function documentRoutes(deps: DocumentDeps): RouteModule {
  return (app, routeDeps) => {
    installIntake(app, deps);
    installDocuments(app, routeDeps);
    installFiles(app, routeDeps);
    installLabels(app, deps);
    installRemoval(app, deps);
  };
}

function installIntake(app: RouteApp, deps: DocumentDeps): void {
  const render = (made: KnowledgeFile[]) => ({ files: made.map(renderFile) });
  app.route({
    method: 'POST',
    url: '/api/knowledge/:kb_id/documents',
    config: { action: 'knowledge.ingest', idempotent: 'by_handler', share: 'uploads' },
    schema: {
      tags,
      summary:
        'Add files; a file with a known name replaces the earlier one and keeps its metadata and access',
      description:
        'Beside files the form may have the fields `metadata` (JSON: fields with texts, numbers, true, false or ' +
        'lists of those) and `allow` (JSON: a list of groups). Both hold for all files of the form.',
      consumes: ['multipart/form-data'],
      params: kbParams,
      querystring: z.strictObject({ origin }),
      response: {
        201: z.object({ files: z.array(knowledgeFileReply) }),
        ...problems(404, 409, 413, 415, 422),
      },
    },
    handler: async (request, reply) => {
      const key = kbKeyOf(request);
      // Check first: a client should not send a whole file to a knowledge base that does not exist.
      await getKb(deps, key);
      const { files: received, labels } = await receiveDocuments(deps, request);
      const kept = await claimFor(request, received, labels).catch(async (error: unknown) => {
        await forgetFiles(deps, received);
        throw error;
      });
      if (kept) {
        await forgetFiles(deps, received);
        return sendKept(reply, kept);
      }
      const { userId } = principalOf(request);
      const keep = request.receipt.keeping(201, render);
      const made = await addFiles(deps, key, {
        received,
        labels,
        origin: request.query.origin ?? null,
        createdBy: userId,
        beforeCommit: keep,
      });
      return reply.code(201).send(render(made));
    },
  });
}

/** Two requests with one Idempotency-Key are the same if names and bytes are. */
function claimFor(request: FastifyRequest, received: readonly ReceivedFile[], labels: Labels) {
  const files = received.map(({ name, stored }) => ({ name, sha256: stored.sha256 }));
  const hasLabels = labels.allow !== null || Object.keys(labels.metadata).length > 0;
  return request.receipt.claim(hasLabels ? [...files, labels] : files);
}

function installDocuments(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'knowledge documents';
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/documents',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'List the documents that runs have found, with their states',
      params: kbParams,
      querystring: z.strictObject({
        ...pageQuery,
        state: z.enum(documentStates).optional(),
        filter: filterQuery.optional(),
      }),
      response: {
        200: listOf(knowledgeDocumentReply).extend({
          notes: z.array(z.string()).optional().describe('Fields of the filter that no document has'),
        }),
        ...problems(404, 422),
      },
    },
    handler: async (request) => {
      const key = kbKeyOf(request);
      const { limit, state } = request.query;
      const page = pageRequest(request.query, { list, cursors });
      const filter = filterOf(request.query);
      const { rows, notes } = await db.read(key, async (tx) => {
        await getKbIn(tx, key);
        const generation = await findShownGeneration(tx, key);
        const found = { ...key, ...page, generation, state, filter: filter?.path ?? null };
        return {
          rows: await listDocuments(tx, found),
          notes: filter ? await unknownFieldNotes(tx, { ...key, generation }, filter.fields) : [],
        };
      });
      const shown = pageOf(rows, {
        limit,
        list,
        cursors,
        key: (row) => row.documentId,
        render: renderDocument,
      });
      return notes.length > 0 ? { ...shown, notes } : shown;
    },
  });
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/documents/:document_id',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'Get a document',
      params,
      response: { 200: knowledgeDocumentReply, ...problems(404) },
    },
    handler: async (request) =>
      renderDocument(
        await getDocument({ db }, { ...kbKeyOf(request), documentId: request.params.document_id }),
      ),
  });
}

function installFiles(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'knowledge files';
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/files',
    config: { action: 'knowledge.read' },
    schema: {
      tags,
      summary: 'List the added files by name',
      params: kbParams,
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(knowledgeFileReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = kbKeyOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(key, async (tx) => {
        await getKbIn(tx, key);
        return listKbFiles(tx, { ...key, afterName: page.after, limit: page.limit });
      });
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.name, render: renderFile });
    },
  });
}

function installLabels(app: RouteApp, deps: DocumentDeps): void {
  app.route({
    method: 'PATCH',
    url: '/api/knowledge/:kb_id/documents/:document_id',
    config: { action: 'knowledge.ingest' },
    schema: {
      tags,
      summary: 'Change metadata and access of a document; both hold at once and through later runs',
      params,
      body: z.strictObject({ metadata: metadataForm.optional(), allow: allowForm.optional() }),
      response: { 200: knowledgeDocumentReply, ...problems(404, 413, 415, 422) },
    },
    handler: async (request) => {
      const key = { ...kbKeyOf(request), documentId: request.params.document_id };
      return renderDocument(await labelDocument(deps, key, labelsOfForm(request.body)));
    },
  });
}

function installRemoval(app: RouteApp, deps: DocumentDeps): void {
  app.route({
    method: 'DELETE',
    url: '/api/knowledge/:kb_id/documents',
    config: { action: 'knowledge.ingest' },
    schema: {
      tags,
      summary:
        'Delete the files whose documents match a filter, at most 500 at a time, while no run is active',
      params: kbParams,
      querystring: z.strictObject({ filter: filterQuery.optional().describe('Needed') }),
      response: {
        200: z.object({
          deleted: z.int(),
          kept: z.int().describe('Matching documents of other sources: the next run would bring them back'),
          has_more: z.boolean().describe('More files match; repeat the request'),
        }),
        ...problems(404, 409, 422),
      },
    },
    handler: async (request) => {
      const key = kbKeyOf(request);
      await getKb(deps, key);
      const filter = filterOf(request.query);
      // A request without a filter must not delete everything.
      if (filter === null) throw knowledgeErrors.raise.knowledge_filter_refused('The filter is missing');
      const { deleted, kept, hasMore } = await removeMatching(deps, key, filter);
      return { deleted, kept, has_more: hasMore };
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/knowledge/:kb_id/documents/:document_id',
    config: { action: 'knowledge.ingest' },
    schema: {
      tags,
      summary: 'Delete a file and its indexed document while no run is active; also accepts a file_id',
      params,
      response: { 204: z.null(), ...problems(404, 409, 422) },
    },
    handler: async (request, reply) => {
      await removeDocument(deps, { ...kbKeyOf(request), documentId: request.params.document_id });
      return reply.code(204).send(null);
    },
  });
}
