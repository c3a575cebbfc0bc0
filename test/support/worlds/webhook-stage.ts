import { Registry } from 'prom-client';
import { afterAll, beforeAll } from 'vitest';
import type { Elections } from '../../../src/kernel/elections/elections.ts';
import { WakeUp } from '../../../src/kernel/jobs/wake-up.ts';
import { createEndpoint, type EndpointWithSecret } from '../../../src/kernel/webhooks/service.ts';
import type { WebhookOptions, Webhooks } from '../../../src/kernel/webhooks/webhooks.ts';
import { newTenant, type TestDatabase } from './database.ts';
import { testElections } from './elections.ts';
import { eventually } from './kernel.ts';
import { testWebhookDeps, testWebhooks } from './webhooks.ts';

export interface DeliveryRow {
  delivery_id: string;
  event_type: string;
  lane: string;
  status: string;
  tries: number;
  attempt_count: number;
  last_status_code: number | null;
  last_error: string | null;
  attempts: { status_code: number | null; error: string | null; response_body: string | null }[];
}

/** Senders of webhooks in this process, as many as two workers would have, and tenants with endpoints. */
export function useWebhookStage(database: TestDatabase, options: Partial<WebhookOptions> = {}) {
  const registry = new Registry();
  const running: { webhooks: Webhooks; elections: Elections }[] = [];
  beforeAll(() => {
    const wake = new WakeUp(database.db);
    for (const shared of [{ registry }, {}]) {
      const webhooks = testWebhooks(database.db, { ...shared, wake, ...options });
      const elections = testElections(database.db);
      elections.start();
      webhooks.dispatcher.start(elections.office('webhooks'));
      running.push({ webhooks, elections });
    }
  });
  afterAll(() =>
    Promise.all(
      running.map(async ({ webhooks, elections }) => {
        await webhooks.dispatcher.stop(5_000);
        await elections.stop();
      }),
    ),
  );
  return { registry, ...webhookTables(database) };
}

/** What tests do with endpoints and look for in the tables. */
export function webhookTables(database: TestDatabase) {
  async function endpointAt(
    url: string,
    { tenantId, eventTypes = null }: { tenantId?: string; eventTypes?: string[] | null } = {},
  ): Promise<EndpointWithSecret> {
    const tenant = tenantId ?? (await newTenant(database));
    const principal = { tenantId: tenant, userId: 'u', role: 'admin', via: 'token' } as const;
    return createEndpoint(testWebhookDeps(database.db), principal, { url, eventTypes, description: null });
  }
  async function write(tenantId: string, type: string, subject: string, data: object = {}): Promise<void> {
    await database.owner('insert into events (tenant_id, type, subject, data) values ($1, $2, $3, $4)', [
      tenantId,
      type,
      subject,
      JSON.stringify(data),
    ]);
  }
  function deliveriesOf({ webhookId }: { webhookId: string }): Promise<DeliveryRow[]> {
    return database.owner<DeliveryRow>(
      'select * from webhook_deliveries where webhook_id = $1 order by event_id',
      [webhookId],
    );
  }
  async function untilDeliveries(
    endpoint: { webhookId: string },
    fits: (rows: DeliveryRow[]) => boolean,
    what: string,
  ): Promise<DeliveryRow[]> {
    let rows: DeliveryRow[] = [];
    const isSo = async () => {
      rows = await deliveriesOf(endpoint);
      return fits(rows);
    };
    await eventually(isSo, what);
    return rows;
  }
  return { endpointAt, write, deliveriesOf, untilDeliveries };
}
