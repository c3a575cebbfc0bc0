import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';
import type { KnowledgeCounters } from './types.ts';

export class KnowledgeMetrics {
  readonly calls;
  readonly callSeconds;
  readonly #documents;
  readonly #chunks;
  readonly #tokens;
  readonly #throttled;

  constructor(registry: Registry) {
    const { counter, histogram, throttledCounter } = metricsOf(registry);
    this.calls = counter('sluice_embedding_calls_total', 'Calls to embedders, by outcome', [
      'provider',
      'answer',
    ]);
    this.callSeconds = histogram('sluice_embedding_call_seconds', 'Duration of calls to embedders', {
      labelNames: ['provider'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    });
    this.#documents = counter(
      'sluice_knowledge_documents_total',
      'Documents that runs have processed, by outcome',
      ['outcome'],
    );
    this.#chunks = counter('sluice_knowledge_chunks_total', 'Chunks that runs have processed, by outcome', [
      'outcome',
    ]);
    this.#tokens = counter('sluice_embedded_tokens_total', 'Tokens that were embedded', ['provider']);
    this.#throttled = throttledCounter();
  }

  throttled(provider: string): void {
    this.#throttled.inc({ provider });
  }

  /** Counts what a committed transaction has added. */
  committed(before: KnowledgeCounters, after: KnowledgeCounters, provider: string): void {
    const more = (name: keyof KnowledgeCounters) => Math.max(0, after[name] - before[name]);
    const rest = more('docs_seen') - more('docs_unchanged') - more('docs_empty') - more('docs_error');
    this.#documents.inc({ outcome: 'indexed' }, Math.max(0, rest));
    for (const outcome of ['unchanged', 'empty', 'error', 'gone'] as const) {
      this.#documents.inc({ outcome }, more(`docs_${outcome}`));
    }
    for (const outcome of ['processed', 'skipped', 'error'] as const) {
      this.#chunks.inc({ outcome }, more(`chunks_${outcome}`));
    }
    this.#tokens.inc({ provider }, more('tokens_embedded'));
  }
}
