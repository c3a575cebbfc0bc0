import { messageOf } from '../../../lib/errors.ts';
import { nearestName } from '../../../lib/nearest-name.ts';
import type { EmbedderLimits } from './embedder.ts';
import { embedderErrors } from './errors.ts';

/** An embedder as defined in sluice.config.mjs. */
export interface EmbedderDefinition {
  /** Knowledge bases use it with `{"provider": "custom", "name": …}`. */
  name: string;
  /** Change it whenever the vectors change: a knowledge base with another model name is embedded again. */
  model: string;
  dimensions: number;
  /** Limits of one call. Default: 64 texts, 100,000 tokens, 8,000 tokens per text, 2 calls at once. */
  limits?: Partial<EmbedderLimits>;
  pricePerMillionTokens?: number;
  /**
   * Returns one vector per text, in order, of any length but 0. Errors are retried, unless they have a `kind`:
   * `invalid` (a text is the cause, halves are tried), `rate_limited` (with `retryInMs`, if known) or `forbidden`.
   */
  embed(
    texts: readonly string[],
    context: { signal: AbortSignal },
  ): ArrayLike<number>[] | Promise<ArrayLike<number>[]>;
  /** Called when the process ends. */
  close?(): void | Promise<void>;
}

/** Checks a definition where it is written. */
export function defineEmbedder(definition: EmbedderDefinition): EmbedderDefinition {
  assertEmbedderDefinition(definition);
  return definition;
}

const members = {
  name: 'string',
  model: 'string',
  dimensions: 'number',
  limits: 'object',
  pricePerMillionTokens: 'number',
  embed: 'function',
  close: 'function',
} as const;
const required = ['name', 'model', 'dimensions', 'embed'] as const;
const limitNames = ['textsPerCall', 'tokensPerCall', 'tokensPerText', 'callsInFlight'];
const maxDimensions = 16_000;
const builtIn = ['local', 'openai', 'custom'];
const maxCustom = 100;

/** Problems of the `embedders` in a config file, one sentence each. */
export function findEmbedderProblems(value: unknown): string[] {
  const allowed =
    'Allowed: an array of embedders, such as [defineEmbedder({ name, model, dimensions, embed })]';
  if (!Array.isArray(value)) return [`it is ${nameOfType(value)}. ${allowed}`];
  if (value.length > maxCustom) return [`it has ${value.length} embedders. Allowed: at most ${maxCustom}`];
  const names = new Set<string>();
  return [...value].flatMap((definition: unknown, index) => {
    try {
      assertEmbedderDefinition(definition);
      if (names.has(definition.name)) throw refusal(`Two embedders are named ${definition.name}`);
      names.add(definition.name);
      return [];
    } catch (error) {
      return [`number ${index + 1}: ${messageOf(error)}`];
    }
  });
}

/** Checks definitions that may not have been type-checked. */
export function assertEmbedderDefinition(definition: unknown): asserts definition is EmbedderDefinition {
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition)) {
    throw refusal(`An embedder is ${nameOfType(definition)}. Allowed: an object with a name and an embed`);
  }
  const given = definition as Record<string, unknown>;
  const { name, model, dimensions } = given;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,49}$/.test(name)) {
    throw refusal(
      'An embedder needs a name of at most 50 lower-case letters, digits, - and _ that starts with a letter',
    );
  }
  if (builtIn.includes(name)) throw refusal(`The name ${name} is taken by a built-in embedder`);
  assertMembers(name, given);
  if (typeof model !== 'string' || model.length === 0 || model.length > 200) {
    throw refusal(`The model of the embedder ${name} must be a text of 1 to 200 characters`);
  }
  if (!isWhole(dimensions) || dimensions > maxDimensions) {
    throw refusal(`The dimensions of the embedder ${name} must be a whole number from 1 to ${maxDimensions}`);
  }
  for (const [limit, value] of Object.entries(given.limits ?? {})) {
    if (limitNames.includes(limit) && isWhole(value)) continue;
    throw refusal(
      `The limit ${limit} of the embedder ${name} is not valid. Allowed: ${limitNames.join(', ')}, each at least 1`,
    );
  }
}

function assertMembers(name: string, given: Record<string, unknown>): void {
  for (const [member, type] of Object.entries(members)) {
    const value = given[member];
    const mayBeMissing = !required.some((known) => known === member);
    if ((value === undefined && mayBeMissing) || typeof value === type) continue;
    throw refusal(`The ${member} of the embedder ${name} is ${nameOfType(value)}. Allowed: a ${type}`);
  }
  const known = Object.keys(members);
  for (const member of Object.keys(given)) {
    const nearest = known.includes(member) ? null : nearestName(member, known);
    if (nearest === null) continue;
    throw refusal(`The embedder ${name} has an unknown member ${member}; perhaps ${nearest} is meant`);
  }
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1;
}

export function nameOfType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

function refusal(message: string): Error {
  return embedderErrors.raise.embedder_definition_invalid(message);
}
