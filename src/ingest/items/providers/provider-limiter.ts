import type { Database } from '../../../lib/postgres/db.ts';
import type { Wait } from '../types.ts';
import { pauseStatement, providerStatement, takeStatement } from './provider-store.ts';
import { noSettings, type ProviderKey, type ProviderRow, type ProviderSettings } from './types.ts';

export interface ProviderWait {
  waitMs: number;
  waitingFor: Wait;
}

/** A row that waits for a provider of a later step looks again after so long: somebody may raise a limit. */
export const longestWaitMs = 60_000;
const freshMs = 1_000;

/** What all processes of the installation agree upon about one provider of a tenant, in the database. */
export class ProviderLimiter {
  readonly #db: Database;
  readonly #key: ProviderKey;
  readonly #workerId: string;
  readonly #defaults: ProviderSettings;
  #row: ProviderRow | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    db: Database,
    { key, workerId, defaults }: { key: ProviderKey; workerId: string; defaults: ProviderSettings },
  ) {
    this.#db = db;
    this.#key = key;
    this.#workerId = workerId;
    this.#defaults = defaults;
  }

  get timeoutMs(): number | null {
    return this.#row?.timeoutMs ?? this.#defaults.timeoutMs;
  }

  /** Reads the settings, and a pause that another process was asked for; at most once in a second. */
  async refresh(): Promise<ProviderWait | null> {
    if (performance.now() - this.#readAtMs < freshMs) return null;
    this.#readAtMs = performance.now();
    const [row] = await this.#db.statement<ProviderRow>(this.#context, providerStatement(this.#key));
    this.#row = row ?? null;
    if (!row || row.pausedMs === null || row.pausedMs <= 0) return null;
    const waitingFor = row.pausedFor === 'provider_down' ? 'provider_down' : 'provider_pause';
    return { waitMs: row.pausedMs, waitingFor };
  }

  /** Null: the call may be made, and counts as made. */
  async take(inFlight: number): Promise<ProviderWait | null> {
    if (!this.#isLimited) return null;
    const asked = { workerId: this.#workerId, inFlight, defaults: this.#defaults };
    const [answer] = await this.#db.statement<ProviderWait>(this.#context, takeStatement(this.#key, asked));
    return answer === undefined || answer.waitMs === 0 ? null : answer;
  }

  /** Tells the other processes. */
  async publish(wait: ProviderWait): Promise<void> {
    await this.#db.statement(this.#context, pauseStatement(this.#key, wait));
  }

  get #isLimited(): boolean {
    const { ratePerSecond, concurrency, dailyBudget } = this.#row ?? noSettings;
    const { defaults } = { defaults: this.#defaults };
    return (
      (ratePerSecond ?? defaults.ratePerSecond) !== null ||
      (concurrency ?? defaults.concurrency) !== null ||
      (dailyBudget ?? defaults.dailyBudget) !== null
    );
  }

  get #context() {
    return { role: 'sluice_tenant', tenantId: this.#key.tenantId } as const;
  }
}
