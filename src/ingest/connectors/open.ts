import { createHmac } from 'node:crypto';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { AirbyteWatch } from './airbyte/check.ts';
import { connectorFindables } from './find-store.ts';
import { ConnectorMetrics } from './metrics.ts';
import { type AirbyteOptions, missingSettings, openClient } from './open-client.ts';
import { syncPipeline } from './pipeline.ts';
import { connectorRoutes } from './routes.ts';
import { scheduleDue } from './schedule/schedule.ts';
import { AirbyteDirectory } from './servers/directory.ts';
import type { ConnectorConfig } from './settings.ts';
import { listConnectorAttention, listConnectorNames } from './store.ts';
import { Trouble } from './sync/airbyte-calls.ts';
import { RateLimitKeeper } from './sync/rate-limit-keeper.ts';
import { RequestLimiter } from './sync/request-limiter.ts';
import type { SyncPolicy } from './types.ts';

export interface ConnectorHouseOptions
  extends AirbyteOptions,
    Pick<ConnectorConfig, 'airbyteBaseUrl' | 'airbyteConcurrency' | 'airbyteRequestsPerSecond'>,
    Pick<ConnectorConfig, 'connectorEnrolment'>,
    Pick<Ground, 'db' | 'logger' | 'registry' | 'limits' | 'breakers' | 'kernel' | 'secrets'> {
  /** Of servers that tenants choose. */
  blockPrivateAddresses: boolean;
  fetch?: Ground['fetch'] | undefined;
  /** In the address of the webhook. */
  hookSecret: string;
  userAgent: string;
  policy: SyncPolicy;
  /** How long an Airbyte that is down is left alone. */
  coolDownMs: number;
  triggerTimeoutMs?: number | undefined;
  timeoutMs?: number | undefined;
  /** Asks Airbyte at once whether the settings are right, and says so in the log. */
  checksAtStart?: boolean;
}

const scheduleEveryMs = 5_000;

export type ConnectorHouse = ReturnType<typeof openConnectorHouse>;

export function openConnectorHouse(options: ConnectorHouseOptions) {
  const { db, logger, limits, breakers, policy, coolDownMs, kernel } = options;
  const client = openClient(options);
  const watch = new AirbyteWatch({ client, workspaceId: options.airbyteWorkspaceId, logger });
  if (options.checksAtStart) watch.start();
  const metrics = new ConnectorMetrics(options.registry);
  const requests = new RequestLimiter({
    concurrency: options.airbyteConcurrency,
    perSecond: options.airbyteRequestsPerSecond,
  });
  const { wake } = kernel;
  const rateLimits = new RateLimitKeeper({ db, logger });
  const directory = new AirbyteDirectory({ ...options, client });
  const worker = { db, wake, logger, limits, breakers, policy, coolDownMs, directory, requests, metrics };
  // Creates the jobs of connectors that are due; upkeep calls it on a timer, a cron's cycle calls it once.
  const beforeCycle = (scope?: { tenantId?: string }) => scheduleDue(kernel.jobs, logger, scope);
  return {
    pipeline: syncPipeline({ ...worker, trouble: new Trouble(), rateLimits, clock: systemClock }),
    routes: [
      connectorRoutes({
        ...kernel.jobs,
        breakers,
        client,
        directory,
        secrets: options.secrets,
        blockPrivateAddresses: options.blockPrivateAddresses,
        fetch: options.fetch,
        watch,
        workspaceId: options.airbyteWorkspaceId,
        missing: missingSettings(options),
        enrolment: options.connectorEnrolment,
        baseUrl: options.airbyteBaseUrl,
        hookSecret: options.hookSecret,
      }),
    ],
    tasks: [
      {
        name: 'schedule_syncs',
        everyMs: scheduleEveryMs,
        run: async () => ({ ...(await beforeCycle()) }),
      },
    ],
    beforeCycle,
    rowCounter: 'records_synced',
    findables: connectorFindables,
    subjectNames: listConnectorNames,
    attention: listConnectorAttention,
    close: async () => {
      watch.close();
      await directory.close();
      await client?.close();
    },
  } satisfies OpenHouse;
}

/** Derived from the secret of tokens, so that every machine has the same one without another setting. */
export function hookSecretFrom(configured: string | null, shared: string): string {
  return configured ?? createHmac('sha256', shared).update('sluice airbyte webhook').digest('base64url');
}

type SyncSettings = {
  [Name in keyof ConnectorConfig as Name extends `sync${string}` ? Name : never]: ConnectorConfig[Name];
};

/** Converts settings in seconds and hours into milliseconds. */
export function syncPolicyOf(config: SyncSettings): { policy: SyncPolicy; coolDownMs: number } {
  return {
    policy: {
      retryBaseMs: config.syncRetryBaseSeconds * 1000,
      lostTriggerMs: config.syncLostTriggerSeconds * 1000,
      minIntervalMs: Math.round(config.syncMinIntervalSeconds * 1000),
      pollMs: config.syncPollSeconds * 1000,
      deadlineMs: config.syncDeadlineHours * 3_600_000,
      accountLimit: config.syncAccountLimit,
      accountWindowMs: config.syncAccountWindowSeconds * 1000,
      maxRunning: config.syncMaxRunning,
      maxRunningPerWorkspace: config.syncMaxRunningPerWorkspace,
    },
    // Half of the first retry, 30 s by default: a single job is never faster than the breaker.
    coolDownMs: Math.max(100, config.syncRetryBaseSeconds * 500),
  };
}
