import type { LentSecret } from '../../../kernel/secrets/lent-secret.ts';
import { batchesOf } from '../../../lib/batches.ts';
import type { FetchAnswer, GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import type { CountTokens } from '../chunkers/chunker.ts';
import type { Embedder, EmbedderLimits, EmbedderSettings } from './embedder.ts';
import { embedderErrors } from './errors.ts';
import { readVectors } from './openai-answer.ts';
import { type Exchange, failureOf, refusalOf } from './openai-problems.ts';

export type OpenAiSettings = Extract<EmbedderSettings, { provider: 'openai' }>;

export interface OpenAiDependencies {
  fetch: GuardedFetch;
  /** Reads the key before each call, so that a new key takes effect at once; null without a key. */
  readKey(): Promise<Pick<LentSecret, 'value' | 'scrub'> | null>;
  countTokens: CountTokens;
  timeoutMs?: number;
}

const limits: EmbedderLimits = {
  textsPerCall: 64,
  tokensPerCall: 100_000,
  tokensPerText: 8_191,
  callsInFlight: 4,
};
const defaultTimeoutMs = 60_000;
/** The longest piece of the vocabulary: a text of more characters per token need not be counted. */
const longestToken = 16;
const answerBytes = { base: 1024 * 1024, perVector: 512 * 1024 };

/** The default dimensions of OpenAI's models. */
const usualDimensions: Record<string, number | undefined> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'text-embedding-ada-002': 1536,
};

/**
 * Any OpenAI-compatible endpoint. It embeds one short text to find the dimensions, if neither the settings nor the
 * model name tell them.
 */
export async function openOpenAiEmbedder(
  settings: OpenAiSettings,
  dependencies: OpenAiDependencies,
  { signal }: { signal: AbortSignal },
): Promise<Embedder> {
  const api = new EmbeddingsApi(settings, dependencies);
  const dimensions = settings.dimensions ?? usualDimensions[settings.model] ?? (await probe(api, signal));
  return {
    provider: 'openai',
    model: settings.model,
    dimensions,
    limits,
    pricePerMillionTokens: settings.pricePerMillionTokens,
    embed: async (texts, call) => {
      call.signal.throwIfAborted();
      const vectors: Float32Array[] = [];
      for (const batch of callsOf(texts, dependencies.countTokens)) {
        vectors.push(...(await api.embed(batch, { dimensions, signal: call.signal })));
      }
      return vectors;
    },
    // The connections belong to the fetch that was passed in.
    close: async () => {},
  };
}

async function probe(api: EmbeddingsApi, signal: AbortSignal): Promise<number> {
  const [vector] = await api.embed(['How many dimensions?'], { dimensions: null, signal });
  return vector?.length ?? 0;
}

/** One batch for callers that respect the limits. A text that is too long fails the call before anything is sent. */
function callsOf(texts: readonly string[], countTokens: CountTokens): string[][] {
  const tokens = texts.map((text) => tokensAtMost(text, countTokens));
  const long = tokens.findIndex((count) => count > limits.tokensPerText);
  if (long >= 0) throw tooLong(long, texts.length);
  const batches = batchesOf(texts.entries(), {
    maxItems: limits.textsPerCall,
    maxSize: limits.tokensPerCall,
    sizeOf: ([index]) => tokens[index] ?? 0,
  });
  return [...batches].map((batch) => batch.map(([, text]) => text));
}

/** A text has at most as many tokens as characters, so most texts need not be counted. */
function tokensAtMost(text: string, countTokens: CountTokens): number {
  const isDecided = text.length <= limits.tokensPerText || text.length > limits.tokensPerText * longestToken;
  return isDecided ? text.length : countTokens(text);
}

function tooLong(index: number, texts: number): Error {
  return embedderErrors.raise.embedder_text_too_long(
    `Text ${index + 1} of ${texts} has more than ${limits.tokensPerText} tokens`,
  );
}

type Encoding = 'base64' | 'float';

class EmbeddingsApi {
  readonly #settings: OpenAiSettings;
  readonly #dependencies: OpenAiDependencies;
  readonly #url: string;
  /** Base64 takes a third of the bytes. Endpoints without support return lists, or refuse it once. */
  #encoding: Encoding = 'base64';

  constructor(settings: OpenAiSettings, dependencies: OpenAiDependencies) {
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.#url = `${settings.baseUrl.replace(/\/+$/, '')}/embeddings`;
  }

  async embed(
    texts: readonly string[],
    { dimensions, signal }: { dimensions: number | null; signal: AbortSignal },
  ): Promise<Float32Array[]> {
    const lent = await this.#dependencies.readKey();
    // A key that was pasted often ends in a line break.
    const key = lent?.value.trim() || null;
    const scrub = (text: string) => lent?.scrub(text) ?? text;
    const exchange = { host: hostOf(this.#url), hasKey: key !== null, scrub };
    let answer = await this.#send(texts, { key, exchange, signal });
    if (this.#encoding === 'base64' && refusesEncoding(answer)) {
      this.#encoding = 'float';
      answer = await this.#send(texts, { key, exchange, signal });
    }
    if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer, exchange);
    return readVectors(answer.body, { host: exchange.host, texts: texts.length, dimensions });
  }

  async #send(
    texts: readonly string[],
    { key, exchange, signal }: { key: string | null; exchange: Exchange; signal: AbortSignal },
  ): Promise<FetchAnswer<Buffer>> {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json',
    };
    if (key !== null) headers.authorization = `Bearer ${key}`;
    try {
      return await this.#dependencies.fetch(this.#url, {
        method: 'POST',
        headers,
        body: this.#body(texts),
        timeoutMs: this.#dependencies.timeoutMs ?? defaultTimeoutMs,
        maxBytes: answerBytes.base + answerBytes.perVector * texts.length,
        // A redirect would turn the POST into a GET.
        maxRedirects: 0,
        signal,
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw failureOf(error, exchange);
    }
  }

  #body(texts: readonly string[]): string {
    const { model, dimensions } = this.#settings;
    const wanted = dimensions === null ? {} : { dimensions };
    return JSON.stringify({ model, input: texts, encoding_format: this.#encoding, ...wanted });
  }
}

function refusesEncoding({ status, body }: FetchAnswer<Buffer>): boolean {
  if (status !== 400 && status !== 422) return false;
  return /encoding_format|base64/i.test(body.subarray(0, 4096).toString('utf8'));
}

/** Without path and query, which may contain a key. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'The embedder';
}
