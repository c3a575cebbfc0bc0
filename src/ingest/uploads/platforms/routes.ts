import { z } from 'zod';
import { problems, shownAs, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { platformName, profileSchema } from './profile-schema.ts';
import { deletePlatform, getPlatform, listAll, type ShownPlatform, savePlatform } from './service.ts';

const tags = ['uploads'];
const url = '/api/uploads/platforms/:name';
const params = z.strictObject({ name: platformName });

const tableReply = z.record(z.string(), z.array(z.string()));
const platformReply = z
  .object({
    name: z.string(),
    is_built_in: z.boolean(),
    version: z.int().nullable().describe('Of a platform of the tenant’s own; uploads keep theirs'),
    created_by: z.string().nullable(),
    created_at: timestamp.nullable(),
    profile: z.object({
      title: z.string(),
      notes: z.string(),
      aliases: z.record(z.string(), tableReply).describe('Language to field to column names, best first'),
      api: tableReply,
      micros: z.array(z.string()),
      marks: z.array(z.string()),
      dimensions: z.array(z.string()),
      blank_names_are_totals: z.boolean(),
      total_labels: z.array(z.string()).optional(),
      decimal_mark: z.string().nullish(),
      date_order: z.string().nullish(),
      daily_advice: z.string(),
    }),
  })
  .meta({ id: 'UploadPlatform' });

/** What the list shows of each; the profile itself is long. */
const summaryReply = z
  .object({
    name: z.string(),
    title: z.string(),
    is_built_in: z.boolean(),
    version: z.int().nullable(),
    languages: z.array(z.string()),
    created_at: timestamp.nullable(),
  })
  .meta({ id: 'UploadPlatformSummary' });

export function installPlatforms(app: RouteApp, { db }: RouteDeps, deps: { db: Database }): void {
  app.route({
    method: 'GET',
    url: '/api/uploads/platforms',
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'List the platforms whose reports can be uploaded',
      response: { 200: z.object({ data: z.array(summaryReply) }), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const all = await db.read(tenantId, (tx) => listAll(tx, tenantId));
      return { data: all.map(summaryOf) };
    },
  });
  app.route({
    method: 'GET',
    url,
    config: { action: 'upload.read' },
    schema: {
      tags,
      summary: 'Get the profile of a platform',
      params,
      response: { 200: platformReply, ...problems(404) },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { name } = request.params;
      return render(await db.read(tenantId, (tx) => getPlatform(tx, { tenantId, name })));
    },
  });
  app.route({
    method: 'PUT',
    url,
    config: { action: 'upload.platforms' },
    schema: {
      tags,
      summary: 'Define a platform of the tenant’s own, or a new version of it',
      params,
      body: profileSchema,
      response: { 200: platformReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request) => {
      const { tenantId, userId } = principalOf(request);
      const { name } = request.params;
      return render(await savePlatform(deps, { tenantId, name, given: request.body, userId }));
    },
  });
  app.route({
    method: 'DELETE',
    url,
    config: { action: 'upload.platforms' },
    schema: {
      tags,
      summary: 'Delete a platform of the tenant’s own; its uploads stay',
      params,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      await deletePlatform(deps, { tenantId, name: request.params.name });
      return reply.code(204).send(null);
    },
  });
}

function render(platform: ShownPlatform): z.output<typeof platformReply> {
  // Only the lists of a profile are read-only here, and they are not changed.
  return shownAs(platformReply, platform) as unknown as z.output<typeof platformReply>;
}

function summaryOf({ name, isBuiltIn, version, profile, createdAt }: ShownPlatform) {
  return {
    name,
    title: profile.title,
    is_built_in: isBuiltIn,
    version,
    languages: Object.keys(profile.aliases).filter((language) => language !== 'any'),
    created_at: createdAt?.toISOString() ?? null,
  };
}
