import { z } from 'zod';
import type { CircuitBreakers } from '../../../kernel/limits/circuit-breaker.ts';
import type { SecretLender } from '../../../kernel/secrets/types.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { toReranker } from './custom-reranker.ts';
import type { RerankerDefinition } from './define-reranker.ts';
import { endpointReranker } from './endpoint.ts';
import { rerankerErrors } from './errors.ts';
import { candidateBounds, type Reranker, type RerankerSettings } from './reranker.ts';

export interface RerankerDeps {
  /** For addresses that tenants choose. */
  fetch: GuardedFetch;
  secrets: Pick<SecretLender, 'lend'>;
  breakers: Pick<CircuitBreakers, 'check' | 'recordSuccess' | 'recordFailure' | 'returnProbe'>;
  /** The `rerankers` of sluice.config.mjs. */
  custom?: readonly RerankerDefinition[];
}

/** The scores of the texts in their order; or why there are none, in a sentence for whoever searches. */
export type Reranking = { scores: number[] } | { note: string };

export interface Rerankers {
  rerank(
    settings: RerankerSettings,
    question: { tenantId: string; query: string; texts: readonly string[]; signal: AbortSignal },
  ): Promise<Reranking>;
  close(): Promise<void>;
}

const candidates = z.int().min(1).max(candidateBounds.most);

/** As stored with a knowledge base. */
const rerankerSettings: z.ZodType<RerankerSettings> = z.discriminatedUnion('provider', [
  z.strictObject({
    provider: z.literal('endpoint'),
    url: z.url({ protocol: /^https?$/ }).max(2_000),
    model: z.string().min(1).max(200),
    apiKeySecret: z.string().min(1).max(200).nullable(),
    candidates,
  }),
  z.strictObject({ provider: z.literal('custom'), name: z.string().min(1).max(100), candidates }),
]);

export const rerankerUse = 'reranker:endpoint';
/** Who may create a knowledge base may use every secret, and its searches act for its creator. */
const creatorRole = 'admin';

export function openRerankers(deps: RerankerDeps): Rerankers {
  const custom = new Map((deps.custom ?? []).map((each) => [each.name, toReranker(each)]));
  const find = (tenantId: string, given: RerankerSettings): Reranker => {
    const settings = rerankerSettings.parse(given);
    if (settings.provider === 'endpoint') {
      return endpointReranker(settings, {
        fetch: deps.fetch,
        readKey: () => readKey(deps, tenantId, settings),
      });
    }
    const known = custom.get(settings.name);
    if (known !== undefined) return known;
    const names = [...custom.keys()].join(', ') || 'none';
    throw rerankerErrors.raise.reranker_unknown(
      `There is no custom reranker ${JSON.stringify(settings.name)}; defined: ${names}`,
    );
  };
  return {
    rerank: async (settings, { tenantId, query, texts, signal }) => {
      try {
        const reranker = find(tenantId, settings);
        return await callGuarded(deps, { reranker, settings, tenantId }, (known) =>
          known.rerank(query, texts, { signal }),
        );
      } catch (error) {
        signal.throwIfAborted();
        // Whatever it is, the results are there already. What the provider said is for the owner and not for everyone.
        if (!isSluiceError(error)) throw error;
        return {
          note: `${error.definition.title} (${error.code}): the results are in the order of the search.`,
        };
      }
    },
    close: async () => {
      await Promise.all([...custom.values()].map((reranker) => reranker.close()));
    },
  };
}

/** Through the breaker of the tenant's endpoint, or of the installation's own reranker. */
async function callGuarded(
  { breakers }: RerankerDeps,
  { reranker, settings, tenantId }: { reranker: Reranker; settings: RerankerSettings; tenantId: string },
  call: (reranker: Reranker) => Promise<number[]>,
): Promise<Reranking> {
  const name = `reranker ${reranker.name}`;
  const dependency = settings.provider === 'custom' ? name : { tenantId, name };
  const answer = await breakers.check(dependency);
  if (!answer.allowed) {
    return {
      note: `The reranker has failed several times (breaker open): the results are in the order of the search.`,
    };
  }
  try {
    const scores = await call(reranker);
    if (answer.isProbe || answer.hasFailed) await breakers.recordSuccess(dependency);
    return { scores };
  } catch (error) {
    const isDown = isSluiceError(error) && error.kind === 'transient';
    if (isDown) await breakers.recordFailure(dependency, messageOf(error));
    else if (answer.isProbe) await breakers.returnProbe(dependency);
    throw error;
  }
}

async function readKey(
  { secrets }: RerankerDeps,
  tenantId: string,
  { apiKeySecret, url }: Extract<RerankerSettings, { provider: 'endpoint' }>,
) {
  if (apiKeySecret === null) return null;
  try {
    const lent = await secrets.lend({ tenantId, role: creatorRole, use: rerankerUse }, apiKeySecret);
    lent.assertMayGoTo(url);
    return lent;
  } catch (error) {
    if (!isSluiceError(error) || !['not_found', 'forbidden', 'invalid'].includes(error.kind)) throw error;
    throw rerankerErrors.raise.reranker_unauthorized(messageOf(error), { cause: error });
  }
}
