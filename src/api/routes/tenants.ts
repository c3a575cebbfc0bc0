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
import { changeTenant, createTenant, getTenant, listTenants } from '../../kernel/tenancy/service.ts';
import {
  idMaxLength,
  isPlainId,
  isUsableId,
  plainIdRule,
  plans,
  type Tenant,
} from '../../kernel/tenancy/types.ts';

const tags = ['tenants'];
const list = 'tenants';
const atMost = (most: number) => z.int().min(0).max(most).optional();
/** Each within the range of the database's integers: a larger one would stop the work of every tenant. */
const limits = z.strictObject({
  concurrent_jobs: atMost(1_000_000).describe('Slices that run at once'),
  concurrent_jobs_per_workspace: atMost(1_000_000).describe('Slices of one workspace that run at once'),
  queued_jobs: atMost(1_000_000_000).describe('Jobs that wait'),
  open_items: atMost(1_000_000_000_000).describe('Rows that are not processed yet'),
  job_retention_days: atMost(36_500).describe('Days for which ended jobs are kept'),
});
const displayName = z.string().min(1).max(200).refine(isUsableId, 'must not contain control characters');
const tenantId = z
  .string()
  .min(1)
  .refine(isUsableId, `must be 1 to ${idMaxLength} characters without control characters`);
const params = z.strictObject({ tenant_id: tenantId });

export const tenantReply = z
  .object({
    tenant_id: z.string(),
    name: z.string(),
    plan: z.enum(plans),
    limits: z.record(z.string(), z.number()),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Tenant' });

export function renderTenant(tenant: Tenant): z.output<typeof tenantReply> {
  return shownAs(tenantReply, tenant);
}

export const tenantRoutes: RouteModule = (app, { db, cursors }) => {
  app.route({
    method: 'GET',
    url: '/api/tenants',
    config: { action: 'tenant.read_own' },
    schema: {
      tags,
      summary: 'List tenants: an operator sees all, everybody else only their own',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(tenantReply), ...problems() },
    },
    handler: async (request) => {
      const page = pageRequest(request.query, { list, cursors });
      const rows = await listTenants(db, principalOf(request), page);
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.tenantId, render: renderTenant });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/tenants',
    config: { action: 'tenant.manage', idempotent: true },
    schema: {
      tags,
      summary: 'Create a tenant with its first workspace',
      body: z.strictObject({
        tenant_id: z.string().min(1).refine(isPlainId, `must be ${plainIdRule}`),
        name: displayName.optional(),
        plan: z.enum(plans).default('free'),
      }),
      response: { 201: tenantReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenant_id, name, plan } = request.body;
      const locate = (tenant: Tenant) => ({
        location: `/api/tenants/${encodeURIComponent(tenant.tenantId)}`,
      });
      const keep = request.receipt.keeping(201, renderTenant, locate);
      const tenant = await createTenant(db, { tenantId: tenant_id, name: name ?? tenant_id, plan }, keep);
      return reply.code(201).headers(locate(tenant)).send(renderTenant(tenant));
    },
  });
  app.route({
    method: 'GET',
    url: '/api/tenants/:tenant_id',
    config: { action: 'tenant.read_own' },
    schema: { tags, summary: 'Get a tenant', params, response: { 200: tenantReply, ...problems(404) } },
    handler: async (request) =>
      renderTenant(await getTenant(db, principalOf(request), request.params.tenant_id)),
  });
  app.route({
    method: 'PATCH',
    url: '/api/tenants/:tenant_id',
    config: { action: 'tenant.manage' },
    schema: {
      tags,
      summary: 'Change a tenant’s name, plan or limits',
      params,
      body: z.strictObject({
        name: displayName.optional(),
        plan: z.enum(plans).optional(),
        limits: limits.optional().describe('Replaces all limits'),
      }),
      response: { 200: tenantReply, ...problems(404, 413, 415) },
    },
    handler: async (request) =>
      renderTenant(await changeTenant(db, { tenantId: request.params.tenant_id, ...request.body })),
  });
};
