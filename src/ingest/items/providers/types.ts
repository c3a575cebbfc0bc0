/** What may be asked of a provider; what is null is not limited. Shared by all processes. */
export interface ProviderSettings {
  ratePerSecond: number | null;
  concurrency: number | null;
  /** Per day (UTC): the cost of its calls. A call without a known price costs 1. */
  dailyBudget: number | null;
  timeoutMs: number | null;
  costPerCall: number | null;
}

export const noSettings: ProviderSettings = {
  ratePerSecond: null,
  concurrency: null,
  dailyBudget: null,
  timeoutMs: null,
  costPerCall: null,
};

export interface ProviderKey {
  tenantId: string;
  host: string;
}

/** A provider as all processes know it. */
export interface ProviderRow extends ProviderSettings {
  host: string;
  callsToday: number;
  costToday: number;
  pace: { concurrency: number; delayMs: number; reason: string } | null;
  pausedMs: number | null;
  pausedFor: string | null;
  callsOpen: number;
  updatedAt: Date;
}

/** The host that a provider's name stands for; null: it is none that is called over HTTP. */
export function hostOf(provider: string): string | null {
  return /^(?:http|llm):(.+)$/.exec(provider)?.[1] ?? null;
}
