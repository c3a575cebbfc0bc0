import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { problemMediaType } from '../problem.ts';
import { sessionCookie } from '../requests/cookies.ts';
import { requestExamples } from './examples.ts';
import { operationIdOf } from './operation-ids.ts';
import { renderReferencePage } from './reference-page.ts';

type Document = OpenAPIV3_1.Document;

/** Before any route: collects them for the OpenAPI document. */
export async function installOpenApi(app: FastifyInstance, { version }: { version: string }): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice',
        version,
        description:
          'Takes other people’s data in. Errors are RFC 9457 problem details; their codes are in docs/errors.md.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The server that serves this document' }],
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          api_key: { type: 'http', scheme: 'bearer', description: 'A key that begins with slk_' },
          session: { type: 'apiKey', in: 'cookie', name: sessionCookie },
        },
      },
    },
    transform: (route) => {
      const { schema, url } = jsonSchemaTransform(route as Parameters<typeof jsonSchemaTransform>[0]);
      const { action, idempotent } = route.route.config ?? {};
      if (action === undefined) return { schema, url };
      const security: Record<string, string[]>[] = [{ token: [] }, { api_key: [] }, { session: [] }];
      const description = [schema.description, `Right: \`${action}\`.`].filter(Boolean).join(' ');
      const headers = idempotent === undefined ? schema.headers : idempotencyHeader;
      return { schema: { ...schema, security, description, headers }, url };
    },
    transformObject: (input) => finish(jsonSchemaTransformObject(input) as Document),
  });
}

/** The document and its reference page; made once, when all routes are known. */
export function installOpenApiRoutes(app: RouteApp): void {
  const made: { document?: string; page?: string } = {};
  const hide = true;
  app.route({
    method: 'GET',
    url: '/api/openapi.json',
    config: { public: true },
    schema: { hide, response: { 200: z.string(), ...publicProblems() } },
    handler: async (_request, reply) => {
      made.document ??= renderDocument(app);
      return reply.type('application/json; charset=utf-8').send(made.document);
    },
  });
  app.route({
    method: 'GET',
    url: '/api/docs',
    config: { public: true },
    schema: { hide, response: { 200: z.string(), ...publicProblems() } },
    handler: async (_request, reply) => {
      made.page ??= renderReferencePage(app.swagger() as Document);
      return reply.type('text/html; charset=utf-8').send(made.page);
    },
  });
}

/** The text of openapi.json. */
function renderDocument(app: Pick<FastifyInstance, 'swagger'>): string {
  return `${JSON.stringify(app.swagger(), null, 2)}\n`;
}

/** Completes the generated document: names, problems, security, descriptions; unused schemas go. */
function finish(document: Document): Document {
  const problems: Record<string, OpenAPIV3_1.ResponseObject> = {};
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item ?? {}) as [string, OpenAPIV3_1.OperationObject][]) {
      operation.operationId = operationIdOf({ method, path }, item?.get !== undefined);
      // Without a right of its own an operation needs no login.
      operation.security ??= [];
      for (const [status, reply] of Object.entries(operation.responses ?? {})) {
        const finished = finishReply(status, reply as OpenAPIV3_1.ResponseObject);
        if (!isProblem(finished)) continue;
        const name = nameOfProblem(status);
        problems[name] = finished;
        operation.responses = {
          ...operation.responses,
          [status]: { $ref: `#/components/responses/${name}` },
        };
      }
      addExamples(operation);
    }
  }
  document.components = { ...document.components, responses: sortByName(problems) };
  dropUnusedSchemas(document);
  document.components.schemas = sortByName(document.components.schemas ?? {});
  return document;
}

/** Otherwise the order would depend on how modules were loaded. */
function sortByName<T>(named: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Every schema comes twice, for input and output, and ours describe replies. Some are used only by unused ones. */
function dropUnusedSchemas(document: Document): void {
  const schemas = document.components?.schemas ?? {};
  for (let before = -1; before !== Object.keys(schemas).length; ) {
    before = Object.keys(schemas).length;
    const text = JSON.stringify(document);
    for (const name of Object.keys(schemas)) {
      if (!text.includes(`"#/components/schemas/${name}"`)) delete schemas[name];
    }
  }
}

function finishReply(status: string, reply: OpenAPIV3_1.ResponseObject): OpenAPIV3_1.ResponseObject {
  if (reply.description === 'Default Response') reply.description = STATUS_CODES[status] ?? status;
  const media = Object.values(reply.content ?? {})[0];
  // The 503 of /health/ready is a report, not a problem document: only the schema tells them apart.
  if (!media || !JSON.stringify(media.schema ?? {}).includes('/Problem"')) return reply;
  reply.content = { [problemMediaType]: media };
  return reply;
}

function isProblem(reply: OpenAPIV3_1.ResponseObject): boolean {
  return reply.content?.[problemMediaType] !== undefined;
}

/** `NotFound` for 404. */
function nameOfProblem(status: string): string {
  return (STATUS_CODES[status] ?? `Status ${status}`).replaceAll(/[^A-Za-z]/g, '');
}

function addExamples(operation: OpenAPIV3_1.OperationObject): void {
  const example = requestExamples[operation.operationId ?? ''];
  const body = operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined;
  const media = body?.content['application/json'];
  if (example !== undefined && media) media.example = example;
}

const idempotencyHeader = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'Makes a retry safe: the same key and content get the same response for 24 hours.',
    },
  },
};
