import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../../kernel/http/route.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import { settingsOf, settingsShape } from './configured-providers.ts';
import { changeSettings, readProviders } from './service.ts';
import { noSettings, type ProviderRow, type ProviderSettings } from './types.ts';

const params = z.object({
  host: z
    .string()
    .min(1)
    .max(300)
    .regex(/^[^\s/?#@]+$/, 'must be a host, perhaps with a port, such as api.example.com')
    .transform((host) => host.toLowerCase()),
});

const providerReply = z
  .object({
    host: z.string(),
    rate_per_second: z.number().nullable(),
    concurrency: z.int().nullable(),
    daily_budget: z.number().nullable(),
    timeout_ms: z.int().nullable(),
    cost_per_call: z.number().nullable(),
    calls_today: z.int(),
    cost_today: z.number(),
    calls_open: z.int(),
    pace: z
      .object({ calls_at_once: z.number(), delay_ms: z.number(), reason: z.string() })
      .nullable()
      .describe('What the controllers decided last; null while it was not called'),
    breaker: z
      .enum(['closed', 'open'])
      .describe('open: so many calls in a row failed that only one at a time is made'),
    waiting_for: z.string().nullable(),
    waiting_until: z.string().nullable(),
  })
  .meta({ id: 'Provider' });

const tags = ['items'];

/** Providers that the tenant's items call, and what may be asked of them. */
export function providerRoutes({
  wake,
  defaultsOf,
}: {
  wake: Pick<WakeUp, 'announce'>;
  defaultsOf: (host: string) => ProviderSettings;
}): RouteModule {
  return (app, { db }) => {
    const render = (row: ProviderRow) => renderProvider(row, defaultsOf(row.host));
    app.route({
      method: 'GET',
      url: '/api/providers',
      config: { action: 'item.read' },
      schema: {
        tags,
        summary: 'List the providers that items call: pace, breaker, calls and cost of today, settings',
        response: { 200: z.object({ data: z.array(providerReply) }), ...problems() },
      },
      handler: async (request) => {
        const rows = await readProviders(db, principalOf(request).tenantId);
        return { data: rows.map(render) };
      },
    });
    app.route({
      method: 'PUT',
      url: '/api/providers/:host',
      config: { action: 'provider.manage' },
      schema: {
        tags,
        summary:
          'Set rate, concurrency, daily budget and timeout of a provider; what is absent is not limited',
        params,
        body: z.strictObject(settingsShape),
        response: { 200: providerReply, ...problems(413, 415) },
      },
      handler: async (request) => {
        const { tenantId } = principalOf(request);
        const key = { tenantId, host: request.params.host };
        return render(await changeSettings({ db, wake }, key, settingsOf(request.body)));
      },
    });
  };
}

function renderProvider(row: ProviderRow, defaults: ProviderSettings = noSettings) {
  const isWaiting = row.pausedMs !== null && row.pausedMs > 0;
  return {
    host: row.host,
    rate_per_second: row.ratePerSecond ?? defaults.ratePerSecond,
    concurrency: row.concurrency ?? defaults.concurrency,
    daily_budget: row.dailyBudget ?? defaults.dailyBudget,
    timeout_ms: row.timeoutMs ?? defaults.timeoutMs,
    cost_per_call: row.costPerCall ?? defaults.costPerCall,
    calls_today: row.callsToday,
    cost_today: row.costToday,
    calls_open: row.callsOpen,
    pace: row.pace && {
      calls_at_once: row.pace.concurrency,
      delay_ms: row.pace.delayMs,
      reason: row.pace.reason,
    },
    breaker: isWaiting && row.pausedFor === 'provider_down' ? ('open' as const) : ('closed' as const),
    waiting_for: isWaiting ? row.pausedFor : null,
    waiting_until: isWaiting ? new Date(Date.now() + (row.pausedMs ?? 0)).toISOString() : null,
  };
}
