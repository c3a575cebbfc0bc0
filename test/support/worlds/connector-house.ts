import pino from 'pino';
import { Registry } from 'prom-client';
import {
  type ConnectorHouse,
  type ConnectorHouseOptions,
  openConnectorHouse,
} from '../../../src/ingest/connectors/open.ts';
import { CircuitBreakers } from '../../../src/kernel/limits/circuit-breaker.ts';
import { LimitMetrics } from '../../../src/kernel/limits/metrics.ts';
import { RateLimits } from '../../../src/kernel/limits/rate-limits.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { idleKernel } from './kernel.ts';

/** Fast enough for tests: retries, polls and cool-downs take milliseconds, and there is no pause between triggers. */
export const quickPolicy: ConnectorHouseOptions['policy'] = {
  retryBaseMs: 10,
  lostTriggerMs: 200,
  minIntervalMs: 0,
  pollMs: 10,
  deadlineMs: 3_600_000,
  accountLimit: 1_000,
  accountWindowMs: 1_000,
  maxRunning: null,
  maxRunningPerWorkspace: null,
};

/** For tests without servers of tenants' own. */
const noSecrets: ConnectorHouseOptions['secrets'] = {
  assertUsable: async () => {},
  lend: async () => {
    throw new Error('This test has no secrets');
  },
  visibleTo: async () => () => true,
};

export function testConnectorHouse(
  db: Database,
  options: Partial<ConnectorHouseOptions> = {},
): ConnectorHouse {
  const logger = options.logger ?? pino({ level: 'silent' });
  const registry = options.registry ?? new Registry();
  return openConnectorHouse({
    db,
    kernel: options.kernel ?? idleKernel(db),
    logger,
    registry,
    limits: new RateLimits({ db, metrics: new LimitMetrics(new Registry()) }),
    breakers: new CircuitBreakers({ db, logger }),
    airbyteBaseUrl: 'http://127.0.0.1:1/v1',
    airbyteApiToken: null,
    airbyteClientId: null,
    airbyteClientSecret: null,
    airbyteWorkspaceId: null,
    airbyteConcurrency: 4,
    airbyteRequestsPerSecond: 1_000,
    connectorEnrolment: 'open',
    hookSecret: 'the secret of the webhook in the tests',
    secrets: noSecrets,
    blockPrivateAddresses: false,
    userAgent: 'Sluice/test',
    policy: quickPolicy,
    coolDownMs: 50,
    ...options,
  });
}
