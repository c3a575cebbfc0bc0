import type { LocalModelName } from './local-models.ts';

/** Turns texts into vectors of length 1 with the embedder's dimensions. */
export interface Embedder {
  /** `local`, `openai`, or the name of a custom embedder. */
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  /** Limits of one call. */
  readonly limits: EmbedderLimits;
  /** In the currency of the price list; 0 if free. */
  readonly pricePerMillionTokens: number;
  /**
   * Returns vectors in the order of the texts. Throws one of `embedderErrors`: its kind says whether a retry may help,
   * and `retryInMs` in its details when. An error caused by one text fails the whole call; the caller then tries
   * halves.
   */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>;
  close(): Promise<void>;
}

export interface EmbedOptions {
  signal: AbortSignal;
  /** Whose texts they are: tenants take turns at an embedder that they share. */
  tenantId?: string;
}

export interface EmbedderLimits {
  textsPerCall: number;
  tokensPerCall: number;
  /** A longer text is refused, or embedded in windows by embedders that can. */
  tokensPerText: number;
  /** Concurrent calls. */
  callsInFlight: number;
}

/** The embedder settings of a knowledge base. */
export type EmbedderSettings =
  /** Without a model: the one that this version builds indexes with. */
  | { provider: 'local'; model?: LocalModelName }
  | {
      provider: 'openai';
      /** Any OpenAI-compatible endpoint, without `/embeddings`. */
      baseUrl: string;
      model: string;
      dimensions: number | null;
      /** Name of the tenant's stored secret with the key; null for endpoints without a key. */
      apiKeySecret: string | null;
      pricePerMillionTokens: number;
    }
  | { provider: 'custom'; name: string };

/** The same direction with length 1; null for a vector without a direction: NaN, or only zeros. */
export function toUnitLength(values: ArrayLike<number>): Float32Array | null {
  let squares = 0;
  for (let index = 0; index < values.length; index += 1) squares += (values[index] ?? 0) ** 2;
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) return null;
  return Float32Array.from(values, (value) => value / length);
}
