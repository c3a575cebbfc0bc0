import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { SecretLender } from '../../../kernel/secrets/types.ts';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import type { ChunkerSettings, CountTokens } from '../chunkers/chunker.ts';
import { defaultLanguage, type Language } from '../types.ts';
import { toEmbedder } from './custom-embedder.ts';
import type { EmbedderDefinition } from './define-embedder.ts';
import type { Embedder, EmbedderSettings } from './embedder.ts';
import { embedderErrors } from './errors.ts';
import { LocalEmbedder } from './local.ts';
import { currentModel, localModelNames } from './local-models.ts';
import { type OpenAiSettings, openOpenAiEmbedder } from './openai.ts';

export interface EmbedderDependencies {
  /** For addresses that tenants choose. */
  fetch: GuardedFetch;
  secrets: Pick<SecretLender, 'lend'>;
  countTokens: CountTokens;
  /** The `embedders` of sluice.config.mjs. */
  custom?: readonly EmbedderDefinition[];
}

export interface Embedders {
  /**
   * The embedder of a knowledge base. It is shared, so callers do not close it. It may call the provider once if the
   * settings do not give the dimensions.
   */
  get(tenantId: string, settings: EmbedderSettings): Promise<Embedder>;
  close(): Promise<void>;
}

/** As stored with a knowledge base. */
export const embedderSettings: z.ZodType<EmbedderSettings> = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('local'), model: z.enum(localModelNames).optional() }),
  z.strictObject({
    provider: z.literal('openai'),
    baseUrl: z.url({ protocol: /^https?$/ }).max(2_000),
    model: z.string().min(1).max(200),
    dimensions: z.int().min(1).max(16_000).nullable(),
    apiKeySecret: z.string().min(1).max(200).nullable(),
    pricePerMillionTokens: z.number().min(0).max(1_000_000),
  }),
  z.strictObject({ provider: z.literal('custom'), name: z.string().min(1).max(100) }),
]);

export const openAiUse = 'embedder:openai';
/** Who may create a knowledge base may use every secret, and its runs and searches act for its creator. */
const creatorRole = 'admin';
const maxRemembered = 1_000;

export function openEmbedders(dependencies: EmbedderDependencies): Embedders {
  const locals = new Map(localModelNames.map((model) => [model, new LocalEmbedder({ model })]));
  const custom = new Map((dependencies.custom ?? []).map((each) => [each.name, toEmbedder(each)]));
  const remembered = new Map<string, Promise<Embedder>>();
  const openRemote = (tenantId: string, settings: OpenAiSettings) => {
    const key = JSON.stringify([tenantId, settings]);
    const known = remembered.get(key);
    if (known) return known;
    const opening = openFor(tenantId, settings, dependencies);
    remembered.set(key, opening);
    const [oldest] = remembered.keys();
    if (remembered.size > maxRemembered && oldest !== undefined) remembered.delete(oldest);
    opening.catch(() => remembered.delete(key));
    return opening;
  };
  return {
    get: async (tenantId, given) => {
      const settings = parseSettings(given);
      if (settings.provider === 'local') return locals.get(settings.model ?? currentModel) as Embedder;
      if (settings.provider === 'openai') return openRemote(tenantId, settings);
      return custom.get(settings.name) ?? refuse(settings.name, [...custom.keys()]);
    },
    close: async () => {
      await Promise.all([...locals.values(), ...custom.values()].map((embedder) => embedder.close()));
    },
  };
}

/** Vectors and chunks with one fingerprint belong together; another fingerprint means another generation. */
export function fingerprintOf(
  { provider, model, dimensions }: Pick<Embedder, 'provider' | 'model' | 'dimensions'>,
  chunker: ChunkerSettings,
  language: Language = defaultLanguage,
): string {
  const sorted = Object.entries(chunker).sort(([a], [b]) => (a < b ? -1 : 1));
  // English is left out, as it was when there was no other: those indexes stay valid.
  const words = language === defaultLanguage ? [] : [language];
  const text = JSON.stringify([provider, model, dimensions, sorted, ...words]);
  return createHash('sha256').update(text).digest('hex');
}

function parseSettings(given: EmbedderSettings): EmbedderSettings {
  const read = embedderSettings.safeParse(given);
  if (read.success) return read.data;
  const places = read.error.issues.map(({ path, message }) => `${path.join('.') || 'embedder'}: ${message}`);
  throw embedderErrors.raise.embedder_misconfigured(
    `The settings of the embedder are not valid: ${places.join('; ')}`,
  );
}

function openFor(
  tenantId: string,
  settings: OpenAiSettings,
  { fetch, secrets, countTokens }: EmbedderDependencies,
): Promise<Embedder> {
  const { apiKeySecret } = settings;
  const readKey = async () => {
    if (apiKeySecret === null) return null;
    try {
      const lent = await secrets.lend({ tenantId, role: creatorRole, use: openAiUse }, apiKeySecret);
      lent.assertMayGoTo(settings.baseUrl);
      return lent;
    } catch (error) {
      if (!isSluiceError(error) || !isRefusal(error)) throw error;
      throw embedderErrors.raise.embedder_unauthorized(messageOf(error), { cause: error });
    }
  };
  // Not the signal of a caller: several callers may wait for the same embedder.
  const { signal } = new AbortController();
  return openOpenAiEmbedder(settings, { fetch, readKey, countTokens }, { signal });
}

/** A person has to change the secret or the base; retrying and smaller batches do not help. */
function isRefusal({ kind }: SluiceError): boolean {
  return ['not_found', 'forbidden', 'invalid'].includes(kind);
}

function refuse(name: string, known: string[]): never {
  const list = known.length === 0 ? 'none is defined' : `defined: ${known.join(', ')}`;
  throw embedderErrors.raise.embedder_unknown(
    `There is no custom embedder ${JSON.stringify(name.slice(0, 100))}; ${list}`,
  );
}
