import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';
import { noCounts, type RunCounts } from './types.ts';

export class ScrapeMetrics {
  readonly #references;
  readonly #handoffs;
  readonly #retries;
  readonly #pages;

  constructor(registry: Registry) {
    const { counter } = metricsOf(registry);
    this.#references = counter(
      'sluice_scrape_references_total',
      'References that syncs have stored, by outcome',
      ['outcome'],
    );
    this.#handoffs = counter(
      'sluice_handoffs_total',
      'References that syncs tried to hand over, by outcome',
      ['outcome'],
    );
    this.#retries = counter('sluice_handoff_retries_total', 'Retries of hand-overs after transient errors');
    this.#pages = counter('sluice_scrape_pages_total', 'Pages that crawls have requested, by outcome', [
      'outcome',
    ]);
  }

  counted(counts: Partial<RunCounts>): void {
    const { persisted, created, changed, queued, failed, skipped } = { ...noCounts, ...counts };
    this.#references.inc({ outcome: 'created' }, created);
    this.#references.inc({ outcome: 'changed' }, changed);
    this.#references.inc({ outcome: 'unchanged' }, Math.max(0, persisted - created - changed));
    this.#handoffs.inc({ outcome: 'queued' }, queued);
    this.#handoffs.inc({ outcome: 'failed' }, failed);
    this.#handoffs.inc({ outcome: 'skipped' }, skipped);
  }

  retried(): void {
    this.#retries.inc();
  }

  page(outcome: string): void {
    this.#pages.inc({ outcome });
  }
}
