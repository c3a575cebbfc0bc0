import { z } from 'zod';
import type { WantedSecret } from '../../../../../kernel/secrets/types.ts';
import { parseTemplate } from '../http/template.ts';
import { isShallow, parseOptions } from '../options.ts';

const template = z
  .string()
  .min(1)
  .max(50_000)
  .refine((text) => parseTemplate(text) !== null, 'has a {{ without a column and }} after it');
const url = z
  .string()
  .max(2_000)
  .refine((text) => /^https?:\/\/[^/?#\\{}@\s]+/i.test(text) && URL.canParse(text), {
    message: 'must be an http or https URL, such as https://api.example.com/v1',
  });
const dataKeywords = new Set(['enum', 'const', 'default', 'examples', 'example']);
const namedSchemas = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Validators of JSON schemas run patterns by backtracking. */
const noPattern =
  'is not supported in the schema of an answer; use enum, minLength or maxLength, or let a step validate of a ' +
  'chain match the column: its patterns run in linear time';
const jsonSchema = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  if (!isShallow(value, 20)) context.addIssue({ code: 'custom', message: 'is nested deeper than 20 levels' });
  else for (const path of patternsIn(value)) context.addIssue({ code: 'custom', path, message: noPattern });
});

const schema = z
  .strictObject({
    /** The base of the endpoint; `/chat/completions` is added to it. */
    url,
    model: z.string().min(1).max(200),
    /** `{{column}}` stands for a column of the row. */
    prompt: template,
    system: template.optional(),
    /** The answer has to be JSON that fits; without it, the answer is the text. */
    schema: jsonSchema.optional(),
    /** The name of a stored secret, sent as a bearer token. */
    secret: z.string().min(1).max(200).optional(),
    temperature: z.number().min(0).max(2).optional(),
    maxTokens: z.int().min(1).max(1_000_000).optional(),
    /** Per million tokens, in any currency. */
    price: z.strictObject({ input: z.number().min(0), output: z.number().min(0) }).optional(),
    /** What the job may cost, in the currency of `price`; then it is paused. Resumed, it may spend as much again. */
    budget: z.number().positive().optional(),
    timeoutMs: z.int().min(1_000).max(120_000).default(60_000),
  })
  .refine(({ budget, price }) => budget === undefined || price !== undefined, {
    path: ['price'],
    message: 'is needed for a budget: without it the cost is not known',
  });

/** Where a schema asks for patterns. Members that hold data, such as `enum`, may be called like it. */
function patternsIn(schema: unknown): string[][] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, inner]) => {
    if (key === 'patternProperties' || (key === 'pattern' && typeof inner === 'string')) return [[key]];
    if (dataKeywords.has(key) || typeof inner !== 'object' || inner === null) return [];
    const inside = namedSchemas.has(key)
      ? Object.entries(inner).flatMap(([name, each]) => patternsIn(each).map((path) => [name, ...path]))
      : patternsIn(inner);
    return inside.map((path) => [key, ...path]);
  });
}

export type LlmOptions = z.output<typeof schema>;

export function parseLlmOptions(options: unknown): LlmOptions {
  return parseOptions(schema, { processor: 'llm', options });
}

export function endpointOf({ url: base }: Pick<LlmOptions, 'url'>): string {
  return `${base.replace(/\/+$/, '')}/chat/completions`;
}

export function secretsOf(options: LlmOptions): WantedSecret[] {
  if (options.secret === undefined) return [];
  return [{ name: options.secret, urls: [endpointOf(options)], pointer: '/options/secret' }];
}
