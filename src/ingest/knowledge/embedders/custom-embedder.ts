import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { assertEmbedderDefinition, type EmbedderDefinition, nameOfType } from './define-embedder.ts';
import type { Embedder, EmbedderLimits } from './embedder.ts';
import { toUnitLength } from './embedder.ts';
import { embedderErrors } from './errors.ts';

const { raise } = embedderErrors;
const defaultLimits: EmbedderLimits = {
  textsPerCall: 64,
  tokensPerCall: 100_000,
  tokensPerText: 8_000,
  callsInFlight: 2,
};

/**
 * Makes an embedder of a definition. It checks what the definition returns: a wrong vector would not be noticed later.
 */
export function toEmbedder(definition: unknown): Embedder {
  assertEmbedderDefinition(definition);
  const { name, model, dimensions, limits, pricePerMillionTokens = 0 } = definition;
  return {
    provider: name,
    model,
    dimensions,
    limits: { ...defaultLimits, ...limits },
    pricePerMillionTokens,
    embed: (texts, { signal }) => run(definition, texts, signal),
    close: async () => {
      await definition.close?.();
    },
  };
}

async function run(
  definition: EmbedderDefinition,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Float32Array[]> {
  signal.throwIfAborted();
  if (texts.length === 0) return [];
  let answer: unknown;
  try {
    answer = await definition.embed(texts, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toEmbedderError(error, definition.name);
  }
  return checkVectors(answer, { definition, texts: texts.length });
}

function toEmbedderError(error: unknown, name: string): unknown {
  if (isSluiceError(error) && error.code in embedderErrors.definitions) return error;
  const message = `The embedder ${name} failed: ${messageOf(error)}`;
  const { kind, retryInMs } = (error ?? {}) as { kind?: unknown; retryInMs?: unknown };
  const isKnown = typeof retryInMs === 'number' && retryInMs >= 0;
  const extras = { cause: error, details: isKnown ? { retryInMs } : {} };
  if (kind === 'invalid') return raise.embedder_refused(message, extras);
  if (kind === 'rate_limited') return raise.embedder_rate_limited(message, extras);
  if (kind === 'forbidden') return raise.embedder_unauthorized(message, extras);
  return raise.embedder_failed(message, extras);
}

function checkVectors(
  answer: unknown,
  { definition: { name, dimensions }, texts }: { definition: EmbedderDefinition; texts: number },
): Float32Array[] {
  if (!Array.isArray(answer) || answer.length !== texts) {
    const found = Array.isArray(answer) ? `${answer.length} vectors` : nameOfType(answer);
    throw raise.embedder_misbehaved(`The embedder ${name} returned ${found} for ${texts} texts`);
  }
  return answer.map((values: unknown, index) => {
    if (!isNumbers(values) || values.length !== dimensions) {
      const found = isNumbers(values) ? `${values.length} numbers` : nameOfType(values);
      throw raise.embedder_misbehaved(
        `The embedder ${name} returned ${found} for text ${index + 1}; its dimensions are ${dimensions}`,
      );
    }
    const vector = toUnitLength(values);
    if (vector !== null) return vector;
    throw raise.embedder_vector_unusable(
      `The embedder ${name} returned a vector for text ${index + 1} without a direction: NaN, or only zeros`,
    );
  });
}

function isNumbers(values: unknown): values is ArrayLike<number> {
  if (values instanceof Float32Array || values instanceof Float64Array) return true;
  return Array.isArray(values) && values.every((value) => typeof value === 'number');
}
