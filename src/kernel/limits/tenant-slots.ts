import { limitErrors } from './errors.ts';

export interface TenantSlotsOptions {
  /** What takes the slots, in the plural: `searches`. Messages use it. */
  what: string;
  /** The setting that an operator changes: `TENANT_CONCURRENT_SEARCHES`. */
  setting: string;
  /** How many of one tenant run at once in this process. */
  perTenant: number;
  /** How many of all tenants run at once in this process. */
  total?: number;
  /** How many of one tenant may wait for a slot; more are refused. */
  maxWaiting?: number;
  /** How long one may wait before it is refused. */
  maxWaitMs?: number;
}

interface Waiting {
  start(release: () => void): void;
}

interface Tenant {
  running: number;
  waiting: Set<Waiting>;
}

const usual = { total: Number.POSITIVE_INFINITY, maxWaiting: 1_000, maxWaitMs: 30_000 };

/**
 * Slots for costly work of requests, such as searches. A tenant that has used up its slots waits for its own work and
 * never for another tenant's; free slots go to the waiting tenants by turns, not first come, first served.
 */
export class TenantSlots {
  readonly #options: Required<TenantSlotsOptions>;
  /** Only tenants with work at hand. The order is that of the turns: whoever had one goes to the end. */
  readonly #tenants = new Map<string, Tenant>();
  #running = 0;

  constructor(options: TenantSlotsOptions) {
    this.#options = { ...usual, ...options };
  }

  get running(): number {
    return this.#running;
  }

  /** Does the work in a slot of the tenant. Rejects with 429 when none gets free in time, or the signal's reason. */
  async run<T>(tenantId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.take(tenantId, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Takes a slot until `release` is called. For work that one function does not enclose; `run` is safer. */
  async take(tenantId: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const tenant = this.#tenants.get(tenantId) ?? { running: 0, waiting: new Set() };
    this.#tenants.set(tenantId, tenant);
    if (this.#mayStart(tenant) && tenant.waiting.size === 0) return this.#start(tenantId, tenant);
    if (tenant.waiting.size >= this.#options.maxWaiting) throw this.#refusal('as many wait as may');
    return this.#wait(tenant, signal).finally(() => this.#forgetIdle(tenantId, tenant));
  }

  #wait(tenant: Tenant, signal: AbortSignal | undefined): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        tenant.waiting.delete(waiting);
      };
      const giveUp = () => {
        leave();
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        start: (release) => {
          leave();
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        leave();
        reject(this.#refusal(`this one has waited ${this.#options.maxWaitMs / 1000} s`));
      }, this.#options.maxWaitMs);
      signal?.addEventListener('abort', giveUp, { once: true });
      tenant.waiting.add(waiting);
    });
  }

  #mayStart(tenant: Tenant): boolean {
    return tenant.running < this.#options.perTenant && this.#running < this.#options.total;
  }

  #start(tenantId: string, tenant: Tenant): () => void {
    tenant.running += 1;
    this.#running += 1;
    this.#toTheEnd(tenantId, tenant);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      tenant.running -= 1;
      this.#running -= 1;
      // Also at the end of the work: a tenant that came meanwhile has had no turn yet.
      this.#toTheEnd(tenantId, tenant);
      this.#startWaiting();
      this.#forgetIdle(tenantId, tenant);
    };
  }

  #toTheEnd(tenantId: string, tenant: Tenant): void {
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, tenant);
  }

  /** A slot is free: the tenant whose last turn is longest ago gets it. */
  #startWaiting(): void {
    for (const [tenantId, tenant] of [...this.#tenants]) {
      const [first] = tenant.waiting;
      if (first !== undefined && this.#mayStart(tenant)) first.start(this.#start(tenantId, tenant));
    }
  }

  #forgetIdle(tenantId: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.size === 0) this.#tenants.delete(tenantId);
  }

  #refusal(why: string) {
    const { what, setting, perTenant } = this.#options;
    return limitErrors.raise.tenant_busy(
      `This tenant has ${perTenant} ${what} at work, the most allowed at once (${setting}), and ${why}`,
      { retryAfterSeconds, details: { setting, limit: perTenant } },
    );
  }
}

const retryAfterSeconds = 5;
