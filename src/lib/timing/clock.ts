/**
 * The process's clock, injected so that tests can turn it. Leases, retries and schedules never use it: there the
 * database's clock decides.
 */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
