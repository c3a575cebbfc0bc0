import { Counter, type Registry } from 'prom-client';
import { noCounts, type RunCounts } from './types.ts';

export class ScrapeMetrics {
  readonly #references;
  readonly #handoffs;
  readonly #retries;
  readonly #pages;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#references = new Counter({
      name: 'sluice_scrape_references_total',
      help: 'References that syncs have stored, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.#handoffs = new Counter({
      name: 'sluice_handoffs_total',
      help: 'References that syncs tried to hand over, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.#retries = new Counter({
      name: 'sluice_handoff_retries_total',
      help: 'Retries of hand-overs after transient errors',
      registers,
    });
    this.#pages = new Counter({
      name: 'sluice_scrape_pages_total',
      help: 'Pages that crawls have requested, by outcome',
      labelNames: ['outcome'],
      registers,
    });
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
