import type { Logger } from '../../../lib/log.ts';
import { findAdapter } from '../store.ts';
import type { AdapterKey } from '../types.ts';
import { type ScanDeps, scanAdapter } from './scan.ts';
import { listDueAdapters } from './store.ts';

const maxAtOnce = 2;
const budgetMs = 10 * 60_000;
/** For a cycle, which has to process jobs too. */
const cycleBudgetMs = 60_000;

/** Starts the scans that are due. They run beside upkeep, which must not wait for files of several gigabytes. */
export class ScanScheduler {
  readonly #deps: ScanDeps;
  readonly #logger: Logger;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(deps: ScanDeps, logger: Logger) {
    this.#deps = deps;
    this.#logger = logger;
  }

  async startDue(): Promise<{ started: number; running: number }> {
    const room = maxAtOnce - this.#running.size;
    if (room <= 0 || this.#stopping.signal.aborted) return { started: 0, running: this.#running.size };
    const due = await this.#deps.db.kernel((tx) => listDueAdapters(tx, { limit: room }));
    for (const key of due) this.#start(key);
    return { started: due.length, running: this.#running.size };
  }

  /** For a cycle that a cron job runs: runs the due scans and waits for them. */
  async runDue(): Promise<void> {
    const deadlineMs = performance.now() + cycleBudgetMs;
    for (;;) {
      const { started } = await this.startDue();
      await Promise.all(this.#running.values());
      if (started === 0 || performance.now() >= deadlineMs) return;
    }
  }

  /** Finishes the files that were started, within the grace period, and starts no further ones. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }

  #start(key: AdapterKey): void {
    const place = JSON.stringify([key.tenantId, key.name]);
    if (this.#running.has(place)) return;
    const scanning = this.#scan(key).finally(() => this.#running.delete(place));
    this.#running.set(place, scanning);
  }

  async #scan(key: AdapterKey): Promise<void> {
    const deps = this.#deps;
    try {
      const adapter = await deps.db.tenant(key.tenantId, (tx) => findAdapter(tx, key));
      if (adapter === null) return;
      await scanAdapter(deps, adapter, { budgetMs, signal: this.#stopping.signal });
    } catch (err) {
      this.#logger.warn(
        { err, tenant_id: key.tenantId, adapter: key.name },
        'a scan could not start or finish',
      );
    }
  }
}
