import { z } from 'zod';
import {
  listOf,
  pageOf,
  pageQuery,
  pageRequest,
  problems,
  shownAs,
  timestamp,
} from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import {
  createWorkspace,
  deleteWorkspace,
  listWorkspaces,
  renameWorkspace,
} from '../../kernel/tenancy/service.ts';
import { isUsableId, type Workspace } from '../../kernel/tenancy/types.ts';

const tags = ['workspaces'];
const list = 'workspaces';
const params = z.strictObject({ workspace_id: z.uuid() });
const body = z.strictObject({
  name: z.string().min(1).max(200).refine(isUsableId, 'must not contain control characters'),
});
const workspaceReply = z
  .object({ workspace_id: z.uuid(), name: z.string(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: 'Workspace' });

function renderWorkspace(workspace: Workspace): z.output<typeof workspaceReply> {
  return shownAs(workspaceReply, workspace);
}

export const workspaceRoutes: RouteModule = (app, { db, cursors }) => {
  app.route({
    method: 'GET',
    url: '/api/workspaces',
    config: { action: 'workspace.read' },
    schema: {
      tags,
      summary: 'List workspaces',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(workspaceReply), ...problems() },
    },
    handler: async (request) => {
      const { limit } = request.query;
      const page = pageRequest(request.query, { list, cursors });
      const rows = await listWorkspaces(db, principalOf(request).tenantId, page);
      return pageOf(rows, { limit, list, cursors, key: (row) => row.workspaceId, render: renderWorkspace });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/workspaces',
    config: { action: 'workspace.manage', idempotent: true },
    schema: {
      tags,
      summary: 'Create a workspace',
      body,
      response: { 201: workspaceReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      const keep = request.receipt.keeping(201, renderWorkspace);
      const workspace = await createWorkspace(db, { tenantId, name: request.body.name }, keep);
      return reply.code(201).send(renderWorkspace(workspace));
    },
  });
  app.route({
    method: 'PATCH',
    url: '/api/workspaces/:workspace_id',
    config: { action: 'workspace.manage' },
    schema: {
      tags,
      summary: 'Rename a workspace',
      params,
      body,
      response: { 200: workspaceReply, ...problems(404, 409, 413, 415) },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const workspaceId = request.params.workspace_id;
      return renderWorkspace(await renameWorkspace(db, { tenantId, workspaceId, name: request.body.name }));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/workspaces/:workspace_id',
    config: { action: 'workspace.manage' },
    schema: {
      tags,
      summary: 'Delete an empty workspace',
      params,
      response: { 204: z.null().describe('Deleted'), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      await deleteWorkspace(db, { tenantId, workspaceId: request.params.workspace_id });
      return reply.code(204).send(null);
    },
  });
};
