import { nearestName } from '../../../../../lib/nearest-name.ts';
import { processorErrors } from '../errors.ts';
import type { ItemInput, ItemOutcome, ProcessorContext } from '../types.ts';

/** A processor as somebody writes it in sluice.config.mjs: a name, and what happens to one item or to many. */
export interface ProcessorDefinition<Options = unknown> {
  name: string;
  /** No outside effect, and fast: items are then taken and finished in one transaction. False unless said otherwise. */
  isPure?: boolean;
  /** The key of what is called, for backpressure. Default: the name. */
  provider?: (options: Options) => string;
  /** How many ways there are to try an item. */
  strategies?: number | ((options: Options) => number);
  /** What the options of a job may be; they are refused when the job is made, not when it runs. */
  optionsSchema?: OptionsSchema<Options>;
  /** The same without a schema: answers the options, or throws an Error whose message says what is allowed. */
  validateOptions?: (options: unknown) => Options;
  normalize?: (input: Record<string, unknown>) => unknown;
  /** One item; what it throws becomes the item's error. */
  processItem?: (
    item: ItemInput,
    options: Options,
    context: ProcessorContext,
  ) => ItemOutcome | Promise<ItemOutcome>;
  /** Many items: one outcome each, in order. */
  process?: (
    items: ItemInput[],
    options: Options,
    context: ProcessorContext,
  ) => ItemOutcome[] | Promise<ItemOutcome[]>;
}

/** Standard Schema, https://standardschema.dev: zod, valibot and arktype schemas all are one. */
export interface OptionsSchema<Options> {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaAnswer<Options> | Promise<SchemaAnswer<Options>>;
  };
}

export type SchemaAnswer<Options> =
  | { readonly value: Options; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Checks a processor where it is written, with the types of its options; the registry makes the rest of it. */
export function defineProcessor<Options = unknown>(
  definition: ProcessorDefinition<Options>,
): ProcessorDefinition {
  assertDefinition(definition);
  return definition;
}

const members = {
  name: 'string',
  isPure: 'boolean',
  provider: 'function',
  strategies: 'function or number',
  optionsSchema: 'schema',
  validateOptions: 'function',
  normalize: 'function',
  processItem: 'function',
  process: 'function',
} as const;

/** Also for definitions that no type checker has seen. */
export function assertDefinition(definition: unknown): asserts definition is ProcessorDefinition {
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition)) {
    throw refusal(
      `A processor is ${nameOfType(definition)}. Allowed: an object with a name and a processItem`,
    );
  }
  const given = definition as Record<string, unknown>;
  const { name, process, processItem } = given;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,49}$/.test(name)) {
    throw refusal(
      'A processor needs a name of lower-case letters, digits, - and _, at most 50, that starts with a letter',
    );
  }
  for (const [member, type] of Object.entries(members)) {
    const value = given[member];
    if (value === undefined || isOf(value, type)) continue;
    throw refusal(`The ${member} of the processor ${name} is ${nameOfType(value)}. Allowed: a ${type}`);
  }
  refuseMisspelt(name, Object.keys(given));
  if ((process === undefined) === (processItem === undefined)) {
    throw refusal(
      `The processor ${name} needs one function: process(items, options, context) or processItem(item, …)`,
    );
  }
  if (given.optionsSchema !== undefined && given.validateOptions !== undefined) {
    throw refusal(`The processor ${name} has optionsSchema and validateOptions. Allowed: one of the two`);
  }
}

/** A misspelt `validateOptions` would let everything through without a word; a member of one's own does no harm. */
function refuseMisspelt(name: string, given: readonly string[]): void {
  const known = Object.keys(members);
  for (const member of given) {
    const nearest = known.includes(member) ? null : nearestName(member, known);
    if (nearest !== null) {
      throw refusal(`The processor ${name} has a member ${member}, which means nothing. Is it ${nearest}?`);
    }
  }
}

function isOf(value: unknown, type: string): boolean {
  if (type !== 'schema') return type.split(' or ').includes(typeof value);
  const standard = (value as { '~standard'?: { validate?: unknown } } | null)?.['~standard'];
  return typeof standard?.validate === 'function';
}

export function nameOfType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

function refusal(message: string): Error {
  return processorErrors.raise.processor_definition_invalid(message);
}
