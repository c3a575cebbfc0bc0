import { Counter, Histogram, type Registry } from 'prom-client';
import type { KnowledgeCounters } from './types.ts';

export class KnowledgeMetrics {
  readonly calls;
  readonly callSeconds;
  readonly #documents;
  readonly #chunks;
  readonly #tokens;
  readonly #throttled;

  constructor(registry: Registry) {
    const registers = [registry];
    this.calls = new Counter({
      name: 'sluice_embedding_calls_total',
      help: 'Calls to embedders, by outcome',
      labelNames: ['provider', 'answer'],
      registers,
    });
    this.callSeconds = new Histogram({
      name: 'sluice_embedding_call_seconds',
      help: 'Duration of calls to embedders',
      labelNames: ['provider'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    });
    this.#documents = new Counter({
      name: 'sluice_knowledge_documents_total',
      help: 'Documents that runs have processed, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.#chunks = new Counter({
      name: 'sluice_knowledge_chunks_total',
      help: 'Chunks that runs have processed, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.#tokens = new Counter({
      name: 'sluice_embedded_tokens_total',
      help: 'Tokens that were embedded',
      labelNames: ['provider'],
      registers,
    });
    // One metric for all providers; another house may have registered it already.
    const name = 'sluice_provider_throttled_total';
    const shared = registry.getSingleMetric(name) as Counter<'provider'> | undefined;
    const help = 'Responses of providers that asked to slow down';
    this.#throttled = shared ?? new Counter({ name, help, labelNames: ['provider'], registers });
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
