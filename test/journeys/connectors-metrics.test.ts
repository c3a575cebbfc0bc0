import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const registry = new Registry();
const syncs = useSyncs(database, { registry });

async function figure(name: string, labels: Record<string, string>): Promise<number> {
  const metric = (await registry.getMetricsAsJSON()).find((one) => one.name === name);
  const fits = (found: Partial<Record<string, string | number>>) =>
    Object.entries(labels).every(([label, value]) => found[label] === value);
  return metric?.values.find((one) => fits(one.labels))?.value ?? 0;
}

const syncsOf = ({ tenantId, connectorId }: TestSync, outcome: string) =>
  figure('sluice_connector_syncs_total', { tenant: tenantId, connector: connectorId, outcome });

test('what syncs do is counted by connector, request and reason', async () => {
  const sync = await syncs.connector({}, { plan: { statuses: ['running', 'succeeded'], rows: 40 } });
  const { connectionId } = sync.connection;
  await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  expect(await syncsOf(sync, 'success')).toBe(1);
  expect(await figure('sluice_sync_records_total', {})).toBe(40);
  expect(await figure('sluice_airbyte_requests_total', { request: 'trigger', answer: 'ok' })).toBe(1);
  expect(await figure('sluice_airbyte_requests_total', { request: 'get_job', answer: 'ok' })).toBe(2);

  syncs.airbyte.state.makeJob(connectionId, { status: 'running' });
  await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  expect(await figure('sluice_sync_adoptions_total', { reason: 'active' })).toBe(1);

  syncs.airbyte.trouble({ kind: 'trigger', connectionId, times: 1 }, { type: 'cut', done: true });
  await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  expect(await figure('sluice_sync_adoptions_total', { reason: 'lost_answer' })).toBe(1);
  expect(await syncsOf(sync, 'success')).toBe(3);

  syncs.airbyte.trouble({ kind: 'trigger', connectionId, times: 1 }, airbyteTroubles.throttled());
  syncs.airbyte.trouble({ kind: 'trigger', connectionId, times: 1 }, airbyteTroubles.notFound());
  await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  expect(await syncsOf(sync, 'dead_letter')).toBe(1);
  expect(await figure('sluice_provider_throttled_total', { provider: 'airbyte' })).toBe(1);

  const idle = await syncs.connector({ on_active_sync: 'skip' });
  syncs.airbyte.state.makeJob(idle.connection.connectionId, { status: 'running' });
  await syncs.driveUntil(idle, await syncs.start(idle), hasEnded);
  expect(await syncsOf(idle, 'skipped')).toBe(1);

  const stopped = await syncs.connector({}, { plan: { statuses: ['cancelled'] } });
  await syncs.driveUntil(stopped, await syncs.start(stopped), hasEnded);
  expect(await syncsOf(stopped, 'canceled')).toBe(1);
});
