import { nearestName } from '../../../../../lib/nearest-name.ts';
import { processorErrors } from '../errors.ts';
import type { ItemInput, ItemOutcome, ProcessorContext } from '../types.ts';

/** A processor as written in sluice.config.mjs: a name, and what to do with one item or many. */
export interface ProcessorDefinition<Options = unknown> {
  name: string;
  /** No outside effect, and fast: items are then claimed and finished in one transaction. Default: false. */
  isPure?: boolean;
  /** The key of what is called, for backpressure. Default: the name. */
  provider?: (options: Options) => string;
  /** How many strategies there are to process an item. */
  strategies?: number | ((options: Options) => number);
  /** What options a job may have; they are checked when the job is created, not when it runs. */
  optionsSchema?: OptionsSchema<Options>;
  /** The same without a schema: returns the options, or throws an Error whose message says what is allowed. */
  validateOptions?: (options: unknown) => Options;
  normalize?: (input: Record<string, unknown>) => unknown;
  /** For one item; an exception becomes the item's error. */
  processItem?: (
    item: ItemInput,
    options: Options,
    context: ProcessorContext,
  ) => ItemOutcome | Promise<ItemOutcome>;
  /** For many items: returns one outcome each, in order. */
  process?: (
    items: ItemInput[],
    options: Options,
    context: ProcessorContext,
  ) => ItemOutcome[] | Promise<ItemOutcome[]>;
}

/** Standard Schema, https://standardschema.dev: schemas of zod, valibot and arktype implement it. */
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

/** Checks a processor where it is written, with the types of its options. */
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

/** For definitions that no type checker has seen, too. */
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

/** A misspelt `validateOptions` would silently accept everything; other unknown members do no harm. */
function refuseMisspelt(name: string, given: readonly string[]): void {
  const known = Object.keys(members);
  for (const member of given) {
    const nearest = known.includes(member) ? null : nearestName(member, known);
    if (nearest !== null) {
      throw refusal(`The processor ${name} has an unknown member ${member}; perhaps ${nearest} is meant`);
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
