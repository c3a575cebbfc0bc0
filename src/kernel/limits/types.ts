/** A place in a sliding window: at most `limit` of them in any `windowMs`. */
export interface Reservation {
  /** What is limited, such as `connector:<tenant>:<id>`. */
  key: string;
  limit: number;
  windowMs: number;
}

/** Not granted is no error: the caller tries again after `retryInMs`, and no attempt is used. */
export type ReservationAnswer = { granted: true } | { granted: false; retryInMs: number };

/**
 * What is called. A text names what the operator has configured for the installation, such as `airbyte`: all tenants
 * share its breaker. What a tenant has configured has a breaker of that tenant's own.
 */
export type Dependency = string | TenantDependency;

export interface TenantDependency {
  tenantId: string;
  /** Such as `embedder api.example.com`. */
  name: string;
}

export type BreakerState = 'closed' | 'open' | 'probing';

export interface Breaker {
  dependency: string;
  /** Whose configuration names it; null: the installation's. */
  tenantId: string | null;
  state: BreakerState;
  /** Failures in a row. */
  failures: number;
  /** Openings since the last success; each doubles the cool-down. */
  openedCount: number;
  reason: string | null;
  openedAt: Date | null;
  /** Open: when one caller may try. Probing: when that caller counts as lost. */
  probeAt: Date | null;
  updatedAt: Date;
}

/** `isProbe`: only this caller tests whether the dependency is back; its result decides for all. */
export type BreakerAnswer =
  /** `hasFailed`: failures are recorded, so that a success is worth recording too. */
  { allowed: true; isProbe: boolean; hasFailed: boolean } | { allowed: false; retryInMs: number };

export interface BreakerPolicy {
  /** Failures in a row that open the breaker. */
  threshold: number;
  /** From the opening to the first probe; doubled with every probe that fails. */
  coolDownMs: number;
  maxCoolDownMs: number;
}
