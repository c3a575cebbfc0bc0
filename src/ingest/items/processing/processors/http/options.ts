import { z } from 'zod';
import type { WantedSecret } from '../../../../../kernel/secrets/types.ts';
import { fetchMethods, isHeaderAllowed } from '../../../../../lib/fetch/request.ts';
import { isShallow, parseOptions } from '../options.ts';
import type { FixedAddress } from '../types.ts';
import { hasDotSegment, hasPlaceholder, parseTemplate } from './template.ts';

const maxDepth = 20;
const template = z
  .string()
  .max(4000)
  .refine((text) => parseTemplate(text) !== null, 'has a {{ without a column and }} after it');
const path = z.string().max(500);
const secretName = z.string().min(1).max(200);
const headerName = z
  .string()
  .refine(isHeaderAllowed, 'is not a header that can be set on an outgoing request');
const json = z
  .unknown()
  .refine((value) => isShallow(value, maxDepth), `is nested deeper than ${maxDepth} levels`)
  .superRefine((value, context) => {
    for (const text of textsIn(value)) {
      if (parseTemplate(text) !== null) continue;
      context.addIssue({
        code: 'custom',
        message: `has a {{ without a column and }} after it: ${text.slice(0, 50)}`,
      });
    }
  });

const url = template.superRefine((text, context) => {
  const problem = findUrlProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const requestParts = {
  method: z.enum(fetchMethods).exclude(['HEAD', 'OPTIONS']),
  url,
  query: z.record(z.string().min(1).max(200), z.union([template, z.number(), z.boolean()])),
  headers: z.record(headerName, template),
  /** Sent as JSON. */
  body: json,
};
const request = z.strictObject({
  method: requestParts.method.default('GET'),
  url,
  query: requestParts.query.default({}),
  headers: requestParts.headers.default({}),
  body: requestParts.body.optional(),
});
/** Replaces parts of the request for one strategy. */
const strategy = z
  .strictObject({ name: z.string().min(1).max(100), ...requestParts })
  .partial()
  .required({ name: true });

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), secret: secretName }),
  z.strictObject({
    type: z.literal('header'),
    secret: secretName,
    header: headerName,
    prefix: z.string().max(50).default(''),
  }),
  z.strictObject({ type: z.literal('basic'), secret: secretName, username: z.string().max(200) }),
  z.strictObject({ type: z.literal('query'), secret: secretName, parameter: z.string().min(1).max(200) }),
]);

const scalar = z.union([z.string().max(1000), z.number(), z.boolean(), z.null()]);
const conditionShape = {
  status: z.union([z.number().int(), z.array(z.number().int()).min(1).max(50)]).optional(),
  path: path.optional(),
  equals: scalar.optional(),
  /** Missing, null, or an empty text, list or object. */
  isEmpty: z.boolean().optional(),
};
type ConditionParts = { status?: unknown; path?: string; equals?: unknown; isEmpty?: boolean };
const isCondition = (condition: ConditionParts) =>
  condition.path === undefined
    ? condition.status !== undefined && condition.equals === undefined && condition.isEmpty === undefined
    : (condition.equals === undefined) !== (condition.isEmpty === undefined);
const conditionText = 'needs a status, or a path with either equals or isEmpty';
const condition = z.strictObject(conditionShape).refine(isCondition, conditionText);
const errorCondition = z
  .strictObject({
    ...conditionShape,
    class: z.enum(['permanent', 'transient', 'throttled']).default('permanent'),
    /** Where the provider says what went wrong. */
    messagePath: path.optional(),
  })
  .refine(isCondition, conditionText);

const batch = z.strictObject({
  size: z.number().int().min(1).max(1000).default(50),
  /** One element of the list that `{{*}}` stands for in the body; the whole row by default. */
  item: json.optional(),
  /** Where the list of results is. */
  path: path.default(''),
  match: z
    .discriminatedUnion('by', [
      z.strictObject({ by: z.literal('index') }),
      /** The result whose value at `path` is the row's value in `column`. */
      z.strictObject({ by: z.literal('key'), column: z.string().min(1).max(200), path }),
    ])
    .default({ by: 'index' }),
});

const response = z.strictObject({
  format: z.enum(['json', 'text']).default('json'),
  /** A path, or a name and a path per member of the result; everything by default. */
  result: z.union([path, z.record(z.string().min(1).max(200), path)]).default(''),
  /** Replaces the default, which is status 404 (except of a batch: there it means a wrong address). */
  notFoundWhen: z.array(condition).max(20).optional(),
  /** Checked first, whatever the status. */
  errorWhen: z.array(errorCondition).max(20).default([]),
});

const schema = z
  .strictObject({
    request,
    strategies: z.array(strategy).max(10).default([]),
    auth: auth.optional(),
    batch: batch.optional(),
    response: response.prefault({}),
    /** Sent with a key that is the same for all calls of one attempt of a row; an empty text sends none. */
    idempotencyHeader: z.union([z.literal(''), headerName]).default('Idempotency-Key'),
    timeoutMs: z.number().int().min(100).max(120_000).default(10_000),
    maxResponseBytes: z
      .number()
      .int()
      .min(1)
      .max(32 * 1024 * 1024)
      .default(1024 * 1024),
    maxRedirects: z.number().int().min(0).max(5).default(3),
  })
  .superRefine((options, context) => {
    for (const { path: place, message } of findRequestProblems(options)) {
      context.addIssue({ code: 'custom', path: place, message });
    }
  });

export type HttpOptions = z.output<typeof schema>;
export type HttpRequest = HttpOptions['request'] & { strategy: string };
export type HttpCondition = z.output<typeof condition>;
export type HttpErrorCondition = z.output<typeof errorCondition>;

export function parseHttpOptions(options: unknown): HttpOptions {
  return parseOptions(schema, { processor: 'http', options });
}

/** The request of one attempt: the strategies take turns. */
export function requestFor(options: HttpOptions, strategyNumber: number): HttpRequest {
  const { strategies } = options;
  const { name, ...changes } = strategies[strategyNumber % Math.max(1, strategies.length)] ?? {
    name: 'default',
  };
  return { ...options.request, ...changes, strategy: name };
}

/** Where the calls go. The host is literal in each URL, so a placeholder can stand for anything. */
export function addressesIn(options: HttpOptions): FixedAddress[] {
  if (options.strategies.length === 0) {
    return [{ url: sampleOf(options.request.url), pointer: '/options/request/url' }];
  }
  return options.strategies.map((_, index) => ({
    url: sampleOf(requestFor(options, index).url),
    pointer: `/options/strategies/${index}/url`,
  }));
}

/** Every strategy sends the secret along. The host is literal in each URL, so a placeholder can stand for anything. */
export function secretsIn(options: HttpOptions): WantedSecret[] {
  if (options.auth === undefined) return [];
  const variants = Math.max(1, options.strategies.length);
  const urls = Array.from({ length: variants }, (_, index) => sampleOf(requestFor(options, index).url));
  return [{ name: options.auth.secret, urls, pointer: '/options/auth/secret' }];
}

interface RequestProblem {
  path: (string | number)[];
  message: string;
}

/** Problems that only show when a strategy is applied to the request. */
function findRequestProblems(options: HttpOptions): RequestProblem[] {
  const names = options.strategies.map(({ name }) => name);
  const variants = names.length === 0 ? [0] : [...names.keys()];
  return variants.flatMap((index) => {
    const place = names.length === 0 ? ['request'] : ['strategies', index];
    const problems = findVariantProblems(requestFor(options, index), options.batch !== undefined);
    const found = problems.map(([member, message]) => ({ path: [...place, member], message }));
    if (names.indexOf(names[index] ?? '') === index || names.length === 0) return found;
    return [...found, { path: [...place, 'name'], message: 'is the name of another strategy too' }];
  });
}

function findVariantProblems(variant: HttpRequest, isBatch: boolean): [string, string][] {
  const problems: [string, string][] = [];
  if (variant.method === 'GET' && variant.body !== undefined) {
    problems.push(['body', 'cannot go with the method GET']);
  }
  if (!isBatch) return problems;
  if (variant.method === 'GET') problems.push(['method', 'of a batch must be one with a body, such as POST']);
  const perRow = [variant.url, ...Object.values(variant.query), ...Object.values(variant.headers)];
  if (perRow.some((text) => typeof text === 'string' && hasPlaceholder(text))) {
    problems.push(['url', 'query and headers of a batch cannot have {{columns}}: one call serves many rows']);
  }
  const placeholders = textsIn(variant.body ?? '{{*}}').filter(hasPlaceholder);
  if (placeholders.length !== 1 || !/^\{\{\s*\*\s*\}\}$/.test(placeholders[0] ?? '')) {
    problems.push([
      'body',
      'of a batch must have "{{*}}" once, where the list of items goes, and no other column',
    ]);
  }
  return problems;
}

/** The host must be literal: a row must not choose whom a secret is sent to. */
function findUrlProblem(text: string): string | null {
  if (!/^https?:\/\/[^/?#\\{}@\s]+([/?]|$)/i.test(text)) {
    return 'must start with http:// or https:// and a literal host, without user name and {{columns}} in it';
  }
  if (text.includes('#')) return 'must not have a fragment (#)';
  if (hasDotSegment(text)) return 'must not have . or .. as a part of its path';
  return URL.canParse(sampleOf(text)) ? null : 'is not a URL';
}

function sampleOf(text: string): string {
  return (parseTemplate(text) ?? []).map((part) => (typeof part === 'string' ? part : 'x')).join('');
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || !isShallow(value, maxDepth)) return [];
  return Object.values(value).flatMap(textsIn);
}
