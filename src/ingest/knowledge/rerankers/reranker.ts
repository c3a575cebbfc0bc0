/** Orders the results of a search anew, by reading question and passage together. */
export interface Reranker {
  /** For people and for breakers: the host of an endpoint, or the name of a custom one. */
  readonly name: string;
  /**
   * Returns how relevant each text is to the query, in the order of the texts; only the order of these numbers counts.
   * Throws one of `rerankerErrors`.
   */
  rerank(query: string, texts: readonly string[], options: RerankOptions): Promise<number[]>;
  close(): Promise<void>;
}

export interface RerankOptions {
  signal: AbortSignal;
}

/** The reranker of a knowledge base, as stored with it. */
export type RerankerSettings =
  | {
      provider: 'endpoint';
      /** The whole address, such as https://api.cohere.com/v2/rerank. */
      url: string;
      model: string;
      /** Name of the tenant's stored secret with the key; null for endpoints without a key. */
      apiKeySecret: string | null;
      candidates: number;
    }
  | { provider: 'custom'; name: string; candidates: number };

/** How many of the best passages are ordered anew. */
export const candidateBounds = { usual: 50, most: 200 };
