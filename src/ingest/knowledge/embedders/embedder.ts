/** Makes vectors of texts. Each has the embedder's dimensions and length 1. */
export interface Embedder {
  /** `local`, `openai`, or the name that a custom one was defined under. */
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  /** The most that one call takes. */
  readonly limits: EmbedderLimits;
  /** In the currency of the price list, for a million tokens; 0 where nothing is paid. */
  readonly pricePerMillionTokens: number;
  /**
   * In the order of the texts. Throws an error of `embedderErrors`: its kind says whether another try may help, and
   * `retryInMs` of its details when. An error that one text alone is to blame for fails the whole call: the caller
   * tries halves.
   */
  embed(texts: readonly string[], options: { signal: AbortSignal }): Promise<Float32Array[]>;
  close(): Promise<void>;
}

export interface EmbedderLimits {
  textsPerCall: number;
  tokensPerCall: number;
  /** A longer text is refused, or embedded in windows by embedders that can. */
  tokensPerText: number;
  /** Calls at the same time. */
  callsInFlight: number;
}

/** What a knowledge base says about its embedder. */
export type EmbedderSettings =
  | { provider: 'local' }
  | {
      provider: 'openai';
      /** Any endpoint that speaks OpenAI's language, up to and without `/embeddings`. */
      baseUrl: string;
      model: string;
      dimensions: number | null;
      /** Name of the tenant's stored secret that holds the key; null for endpoints without one. */
      apiKeySecret: string | null;
      pricePerMillionTokens: number;
    }
  | { provider: 'custom'; name: string };

/** The same direction at length 1; null when it has none: a number that is none, or nothing but zeros. */
export function toUnitLength(values: ArrayLike<number>): Float32Array | null {
  let squares = 0;
  for (let index = 0; index < values.length; index += 1) squares += (values[index] ?? 0) ** 2;
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) return null;
  return Float32Array.from(values, (value) => value / length);
}
