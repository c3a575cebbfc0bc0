import { hasZodFastifySchemaValidationErrors } from '@fastify/type-provider-zod';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FieldProblem, isSluiceError, type SluiceError } from '../lib/errors.ts';
import { apiErrors } from './errors.ts';

export const problemMediaType = 'application/problem+json';

/** Every error leaves the server as a problem document; an unforeseen one reveals no internals. */
export function installProblems(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0];
    return sendProblem(
      apiErrors.raise.route_not_found(`There is no route ${request.method} ${path}`),
      request,
      reply,
    );
  });
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toSluiceError(error, request);
  if (known.definition.status >= 500) request.log.error({ err: error, code: known.code }, 'request failed');
  if (known.retryAfterSeconds !== undefined) {
    reply.header('retry-after', String(Math.max(1, Math.ceil(known.retryAfterSeconds))));
  }
  if (known.definition.status === 401) reply.header('www-authenticate', 'Bearer');
  return reply
    .code(known.definition.status)
    .type(problemMediaType)
    .send(JSON.stringify(documentFor(known, request)));
}

function documentFor(error: SluiceError, { url, id }: FastifyRequest): Record<string, unknown> {
  const document = problemDocument(error, { instance: url, requestId: id });
  return url.startsWith('/v1/') ? { ...document, error: openAiError(document) } : document;
}

/** Clients of OpenAI look for the reason in `error`, and show nothing without it. */
function openAiError({ status, detail, code, errors }: Record<string, unknown>): Record<string, unknown> {
  const [first] = (errors ?? []) as FieldProblem[];
  const type = Number(status) >= 500 ? 'server_error' : 'invalid_request_error';
  return { message: detail, type, param: first?.pointer ?? null, code };
}

export function problemDocument(
  error: SluiceError,
  { instance, requestId }: { instance: string; requestId: string },
): Record<string, unknown> {
  return {
    ...error.details,
    type: `/docs/errors.md#${error.code}`,
    title: error.definition.title,
    status: error.definition.status,
    // The message of a bug may name internals; the log has it under the request id.
    detail: error.definition.kind === 'bug' ? error.definition.title : error.message,
    // The query may hold a login code or a filter with personal data.
    instance: instance.split('?')[0] ?? '/',
    code: error.code,
    errors: error.fields,
    request_id: requestId,
  };
}

function toSluiceError(error: unknown, request: FastifyRequest): SluiceError {
  if (isSluiceError(error)) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return validationError(error, request);
  return (
    frameworkError(error, request) ?? apiErrors.raise.internal_error('An unexpected error', { cause: error })
  );
}

/** Refusals of Fastify and its plugins, by status or code. */
function frameworkError(error: unknown, request: FastifyRequest): SluiceError | null {
  const { code, statusCode, message } = error as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(request);
  if (statusCode === 413) {
    return apiErrors.raise.body_too_large('The body is larger than this route accepts');
  }
  if (statusCode === 415) return mediaTypeRefused(request);
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return apiErrors.raise.malformed_url('The path of the request cannot be decoded');
  }
  if (error instanceof SyntaxError || /^FST_ERR_CTP_/.test(code ?? '')) {
    if (statusCode === 400) return apiErrors.raise.malformed_body('The body is not a JSON document');
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return apiErrors.raise.malformed_request(message ?? 'The request was refused');
  }
  return null;
}

function bodyTooLarge({ routeOptions }: FastifyRequest): SluiceError {
  const most = routeOptions.bodyLimit;
  return apiErrors.raise.body_too_large(
    `The body is larger than ${most} bytes, the most that this route accepts`,
    {
      details: { max_bytes: most },
      fields: [{ pointer: '/body', message: `must not have more than ${most} bytes` }],
    },
  );
}

function mediaTypeRefused({ routeOptions }: FastifyRequest): SluiceError {
  const { consumes = ['application/json'] } = (routeOptions.schema ?? {}) as { consumes?: string[] };
  const allowed = consumes.join(', ');
  return apiErrors.raise.unsupported_media_type(
    `The body’s media type is missing or not accepted here; allowed: ${allowed}`,
    { fields: [{ pointer: '/headers/content-type', message: `must be one of ${allowed}` }] },
  );
}

const partNames: Record<string, string> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'headers',
};

function validationError(
  error: Parameters<typeof hasZodFastifySchemaValidationErrors>[0] & object,
  request: FastifyRequest,
): SluiceError {
  const { validation, validationContext } = error as {
    validation: { instancePath?: string; message?: string; keyword?: string }[];
    validationContext?: string;
  };
  const part = partNames[validationContext ?? ''] ?? 'body';
  const schema = (request.routeOptions.schema as Record<string, unknown> | undefined)?.[
    validationContext ?? ''
  ];
  const fields: FieldProblem[] = validation.slice(0, 50).map((issue) => {
    // The whole part is `/` here, and nothing as a JSON pointer.
    const path = issue.instancePath === '/' ? '' : (issue.instancePath ?? '');
    return { pointer: `/${part}${path}`, message: explain(issue, { schema, path, part }) };
  });
  const first = fields[0];
  return apiErrors.raise.malformed_request(
    first ? `${first.pointer}: ${first.message}` : `The ${part} does not have the right form`,
    { fields },
  );
}

function explain(
  issue: { message?: string; keyword?: string },
  { schema, path, part }: { schema: unknown; path: string; part: string },
): string {
  const message = issue.message ?? 'is not valid';
  if (issue.keyword !== 'unrecognized_keys') return message;
  const names = namesAt(schema, path.split('/').slice(1));
  if (names === null) return message;
  return `${message}; allowed: ${names.length > 0 ? names.join(', ') : `no ${part} parameters`}`;
}

/** The property names that a schema allows at a path, when that can be told. */
function namesAt(schema: unknown, path: string[]): string[] | null {
  let at = unwrap(schema);
  for (const step of path) {
    if (at instanceof z.ZodObject) at = unwrap(at.shape[step]);
    else if (at instanceof z.ZodArray) at = unwrap(at.element);
    else return null;
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : null;
}

function unwrap(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap();
  }
  return inner;
}
