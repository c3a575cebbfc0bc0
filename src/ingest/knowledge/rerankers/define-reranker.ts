import { messageOf } from '../../../lib/errors.ts';
import { rerankerErrors } from './errors.ts';

/** A reranker as defined in sluice.config.mjs. */
export interface RerankerDefinition {
  /** Knowledge bases use it with `{"provider": "custom", "name": …}`. */
  name: string;
  /** How long a search waits for it. Default: 5,000. */
  timeoutMs?: number;
  /** Returns one number per text, in order: the higher, the better the text answers the query. */
  rerank(
    query: string,
    texts: readonly string[],
    context: { signal: AbortSignal },
  ): ArrayLike<number> | Promise<ArrayLike<number>>;
  /** Called when the process ends. */
  close?(): void | Promise<void>;
}

/** Checks a definition where it is written. */
export function defineReranker(definition: RerankerDefinition): RerankerDefinition {
  assertRerankerDefinition(definition);
  return definition;
}

const maxCustom = 100;
const longestTimeoutMs = 30_000;

/** Problems of the `rerankers` in a config file, one sentence each. */
export function findRerankerProblems(value: unknown): string[] {
  if (!Array.isArray(value) || value.length > maxCustom) {
    return [
      `it must be an array of at most ${maxCustom} rerankers, such as [defineReranker({ name, rerank })]`,
    ];
  }
  const names = new Set<string>();
  return [...value].flatMap((definition: unknown, index) => {
    try {
      assertRerankerDefinition(definition);
      if (names.has(definition.name)) throw refusal(`Two rerankers are named ${definition.name}`);
      names.add(definition.name);
      return [];
    } catch (error) {
      return [`number ${index + 1}: ${messageOf(error)}`];
    }
  });
}

/** Checks definitions that may not have been type-checked. */
function assertRerankerDefinition(definition: unknown): asserts definition is RerankerDefinition {
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition)) {
    throw refusal('A reranker must be an object with a name and a function rerank');
  }
  const { name, rerank, close, timeoutMs } = definition as Record<string, unknown>;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,49}$/.test(name)) {
    throw refusal(
      'A reranker needs a name of at most 50 lower-case letters, digits, - and _ that starts with a letter',
    );
  }
  if (typeof rerank !== 'function') throw refusal(`The rerank of the reranker ${name} must be a function`);
  if (close !== undefined && typeof close !== 'function') {
    throw refusal(`The close of the reranker ${name} must be a function`);
  }
  if (timeoutMs === undefined) return;
  const isInRange = Number.isInteger(timeoutMs) && Number(timeoutMs) >= 1;
  if (isInRange && Number(timeoutMs) <= longestTimeoutMs) return;
  throw refusal(`The timeoutMs of the reranker ${name} must be a whole number from 1 to ${longestTimeoutMs}`);
}

function refusal(message: string): Error {
  return rerankerErrors.raise.reranker_definition_invalid(message);
}
