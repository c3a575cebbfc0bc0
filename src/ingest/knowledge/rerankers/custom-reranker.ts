import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { RerankerDefinition } from './define-reranker.ts';
import { rerankerErrors } from './errors.ts';
import type { Reranker } from './reranker.ts';

const { raise } = rerankerErrors;
const usualTimeoutMs = 5_000;

/** Makes a reranker of a definition, and checks what it returns. */
export function toReranker(definition: RerankerDefinition): Reranker {
  const { name, timeoutMs = usualTimeoutMs } = definition;
  return {
    name,
    rerank: async (query, texts, { signal }) => {
      const late = AbortSignal.timeout(timeoutMs);
      const either = AbortSignal.any([signal, late]);
      let answer: unknown;
      try {
        answer = await Promise.race([
          definition.rerank(query, texts, { signal: either }),
          rejectedBy(either),
        ]);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (late.aborted) {
          throw raise.reranker_unreachable(`The reranker ${name} did not respond within ${timeoutMs} ms`);
        }
        if (isSluiceError(error)) throw error;
        throw raise.reranker_failed(`The reranker ${name} failed: ${messageOf(error)}`, { cause: error });
      }
      return checked(answer, { name, texts: texts.length });
    },
    close: async () => {
      await definition.close?.();
    },
  };
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function checked(answer: unknown, { name, texts }: { name: string; texts: number }): number[] {
  const isList = Array.isArray(answer) || answer instanceof Float32Array || answer instanceof Float64Array;
  const scores = isList ? [...(answer as ArrayLike<number> & Iterable<number>)] : [];
  if (isList && scores.length === texts && scores.every((score) => Number.isFinite(score))) return scores;
  throw raise.reranker_misbehaved(
    `The reranker ${name} must return ${texts} numbers, one per text; it returned ${
      isList ? `${scores.length} values, some of which may be no numbers` : typeof answer
    }`,
  );
}
