import { setImmediate as nextRound } from 'node:timers/promises';
import { isInfrastructure } from '../errors.ts';
import type { KernelParts } from '../kernel.ts';
import { settleStatement } from '../lease/lease-store.ts';
import type { SettledJob, Settlement } from '../types.ts';

interface Waiting {
  settlement: Settlement;
  resolve(settled: SettledJob | null): void;
  reject(error: unknown): void;
}

const maxTogether = 500;

/**
 * Settles slices without effects: those that end together, or while a settlement is on its way, share one statement
 * and one commit. The statement is its own fence.
 */
export class Settler {
  readonly #deps: Pick<KernelParts, 'db' | 'leaseMs'>;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor(deps: Pick<KernelParts, 'db' | 'leaseMs'>) {
    this.#deps = deps;
  }

  /** Null when the lease is lost. */
  settle(settlement: Settlement): Promise<SettledJob | null> {
    const settled = new Promise<SettledJob | null>((resolve, reject) => {
      this.#waiting.push({ settlement, resolve, reject });
    });
    if (!this.#isSending) void this.#send();
    return settled;
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    await nextRound();
    while (this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, maxTogether);
      this.#waiting = this.#waiting.slice(maxTogether);
      await this.#sendTogether(some);
    }
    this.#isSending = false;
  }

  async #sendTogether(some: Waiting[]): Promise<void> {
    try {
      const context = { role: 'sluice_kernel', limitMs: this.#deps.leaseMs * 10 } as const;
      const statement = settleStatement(some.map(({ settlement }) => settlement));
      const settled = await this.#deps.db.statement<SettledJob>(context, statement);
      const byId = new Map(settled.map((row) => [row.jobId, row]));
      for (const { settlement, resolve } of some) resolve(byId.get(settlement.jobId) ?? null);
    } catch (error) {
      // One that the database refuses must not take the others with it.
      if (some.length > 1 && !isInfrastructure(error)) {
        for (const one of some) await this.#sendTogether([one]);
      } else for (const { reject } of some) reject(error);
    }
  }
}
