import { z } from 'zod';
import { noSettings, type ProviderSettings } from './types.ts';

/** What the API and the config file say of a provider. */
export const settingsShape = {
  rate_per_second: z.number().positive().max(10_000).nullable().optional(),
  concurrency: z.int().min(1).max(1_000).nullable().optional(),
  daily_budget: z.number().min(0).max(1e12).nullable().optional(),
  timeout_ms: z.int().min(100).max(120_000).nullable().optional(),
  cost_per_call: z.number().min(0).max(1e9).nullable().optional(),
};

const configured = z.strictObject({ host: z.string().min(1).max(300), ...settingsShape });

export function settingsOf(given: z.output<z.ZodObject<typeof settingsShape>>): ProviderSettings {
  return {
    ratePerSecond: given.rate_per_second ?? null,
    concurrency: given.concurrency ?? null,
    dailyBudget: given.daily_budget ?? null,
    timeoutMs: given.timeout_ms ?? null,
    costPerCall: given.cost_per_call ?? null,
  };
}

/** The `providers` of the config file, one sentence for each problem. */
export function findProviderProblems(value: unknown): string[] {
  if (!Array.isArray(value)) return ['it must be an array of providers, such as [{ host, rate_per_second }]'];
  return value.flatMap((one: unknown, index) => {
    const parsed = configured.safeParse(one);
    if (parsed.success) return [];
    return parsed.error.issues.map(
      ({ path, message }) => `number ${index + 1}: ${path.join('.') || 'it'}: ${message}`,
    );
  });
}

/** For every tenant that does not say otherwise. */
export function configuredProviders(value: readonly unknown[]): (host: string) => ProviderSettings {
  const byHost = new Map(
    value.map((one) => {
      const { host, ...given } = configured.parse(one);
      return [host.toLowerCase(), settingsOf(given)];
    }),
  );
  return (host) => byHost.get(host) ?? noSettings;
}

export const providersPage = `The file can also limit providers, for every tenant that does not set limits of its own:

\`\`\`js
// sluice.config.mjs
export default {
  providers: [{ host: 'api.example.com', rate_per_second: 20, concurrency: 8, daily_budget: 10_000 }],
};
\`\`\``;
