import type { Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { readGauge } from '../../lib/metrics.ts';
import type { Database } from '../../lib/postgres/db.ts';
import {
  type CheckRow,
  checkStatement,
  deleteForgotten,
  type FailureRow,
  failureStatement,
  type LookRow,
  listBreakers,
  lookStatement,
  returnStatement,
  successStatement,
} from './circuit-breaker-store.ts';
import type { Breaker, BreakerAnswer, BreakerPolicy, Dependency } from './types.ts';

export interface CircuitBreakersOptions {
  db: Database;
  logger: Logger;
  /** How long a probe may take before its caller counts as dead and another one probes. */
  probeMs?: number;
}

const defaultPolicy: BreakerPolicy = { threshold: 5, coolDownMs: 30_000, maxCoolDownMs: 600_000 };
const defaultProbeMs = 60_000;
/** While a probe runs, its result is near: callers wait at most this long before they check again. */
const maxWaitForProbeMs = 5_000;
const minWaitMs = 100;
const maxReasonLength = 500;
const maxListed = 1_000;
const context = { role: 'sluice_kernel' } as const;

/**
 * One circuit breaker per outside dependency, shared by all jobs and processes. When calls fail in a row, no calls are
 * made for a while; then one caller tries for all. Callers that have to wait use no attempt.
 *
 * What a tenant has configured has a breaker of that tenant's own: an address of one tenant that fails says nothing
 * about the calls of another, even on the same host.
 */
export class CircuitBreakers {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #probeMs: number;

  constructor({ db, logger, probeMs = defaultProbeMs }: CircuitBreakersOptions) {
    this.#db = db;
    this.#logger = logger;
    this.#probeMs = probeMs;
  }

  /** Call it before a call, and report the result. A probe without a report is given to another caller later. */
  async check(dependency: Dependency): Promise<BreakerAnswer> {
    const key = keyOf(dependency);
    const [look] = await this.#db.statement<LookRow>(context, lookStatement(key));
    if (look === undefined || look.state === 'closed') {
      return { allowed: true, isProbe: false, hasFailed: (look?.failures ?? 0) > 0 };
    }
    const statement = checkStatement({ dependency: key, probeMs: this.#probeMs });
    const [row] = await this.#db.statement<CheckRow>(context, statement);
    if (row === undefined || row.state === 'closed')
      return { allowed: true, isProbe: false, hasFailed: true };
    if (row.isProbe) return { allowed: true, isProbe: true, hasFailed: true };
    const waitMs = Math.max(minWaitMs, row.probeInMs ?? 0);
    return {
      allowed: false,
      retryInMs: row.state === 'probing' ? Math.min(waitMs, maxWaitForProbeMs) : waitMs,
    };
  }

  async recordSuccess(dependency: Dependency): Promise<void> {
    const statement = successStatement(keyOf(dependency));
    const [row] = await this.#db.statement<{ hasClosed: boolean }>(context, statement);
    if (row?.hasClosed) this.#logger.info(namesOf(dependency), 'a dependency is back; its breaker is closed');
  }

  /** Only for failures of the dependency itself, not for calls that it refused because of the caller. */
  async recordFailure(
    dependency: Dependency,
    reason: string,
    policy: Partial<BreakerPolicy> = {},
  ): Promise<void> {
    const what = { dependency: keyOf(dependency), tenantId: tenantOf(dependency) };
    const failure = { ...defaultPolicy, ...policy, ...what, reason: reason.slice(0, maxReasonLength) };
    const [row] = await this.#db.statement<FailureRow>(context, failureStatement(failure));
    if (row?.state !== 'open') return;
    this.#logger.warn(
      { ...namesOf(dependency), reason: failure.reason, failures: row.failures, coolDownMs: row.probeInMs },
      'a dependency fails; its breaker is open and its jobs wait',
    );
  }

  /** For a probe that was not made after all, so that the others need not wait for its result. */
  async returnProbe(dependency: Dependency): Promise<void> {
    await this.#db.statement(context, returnStatement(keyOf(dependency)));
  }

  list(): Promise<Breaker[]> {
    return this.#db.kernel((tx) => listBreakers(tx, maxListed));
  }

  /** Forgets up to `limit` dependencies that have long been well or unused. Returns how many. For upkeep. */
  purgeForgotten(limit: number): Promise<number> {
    return this.#db.kernel((tx) => deleteForgotten(tx, limit));
  }

  /** Reads the database, because any process may have opened a breaker. */
  installGauge(registry: Registry): void {
    const help = '1 while calls to the dependency are held back, else 0';
    const gauge = {
      name: 'sluice_breaker_open',
      help,
      labelNames: ['dependency', 'tenant'],
      logger: this.#logger,
    };
    readGauge(registry, gauge, async (open) => {
      const breakers = await this.list();
      open.reset();
      for (const { dependency, tenantId, state } of breakers) {
        const tenant = tenantId === null ? {} : { tenant: tenantId };
        open.set({ dependency: nameOf(dependency, tenantId), ...tenant }, state === 'closed' ? 0 : 1);
      }
    });
  }
}

/** The names of dependencies have no text of tenants in them, so a tenant's id cannot make two keys alike. */
function keyOf(dependency: Dependency): string {
  if (typeof dependency === 'string') return dependency;
  return `${dependency.name}${suffixOf(dependency.tenantId)}`;
}

function nameOf(key: string, tenantId: string | null): string {
  return tenantId === null ? key : key.slice(0, -suffixOf(tenantId).length);
}

function suffixOf(tenantId: string): string {
  return ` of tenant ${tenantId}`;
}

function tenantOf(dependency: Dependency): string | null {
  return typeof dependency === 'string' ? null : dependency.tenantId;
}

function namesOf(dependency: Dependency): { dependency: string; tenant_id?: string } {
  if (typeof dependency === 'string') return { dependency };
  return { dependency: dependency.name, tenant_id: dependency.tenantId };
}
