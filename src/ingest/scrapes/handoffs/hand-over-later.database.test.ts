import { expect, test } from 'vitest';
import { metricIn } from '../../../../test/support/probes/signals.ts';
import { referenceNamed, useScrapes } from '../../../../test/support/servers/scrape-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';

const database = useDatabase();
// Longer than a look at the quota is remembered.
const scrapes = useScrapes(database, { handoffRetryBaseMs: 1_500 });

async function limitQueue(tenantId: string, limits: object): Promise<void> {
  await database.owner('update tenants set limits = $2 where tenant_id = $1', [
    tenantId,
    JSON.stringify(limits),
  ]);
}

test('a hand-over that is refused because of too many jobs completes once there is room', async () => {
  const claims = await scrapes.tenant();
  await limitQueue(claims.tenantId, { queued_jobs: 0 });
  const pushed = scrapes.push(claims, [referenceNamed('a', 'Herons wait for fish.')]);
  const retries = () => metricIn(scrapes.registry, 'sluice_handoff_retries_total');
  await eventually(async () => (await retries()) > 0, 'the first attempt was refused');
  await limitQueue(claims.tenantId, {});
  expect(await pushed).toMatchObject({ handoff_queued_count: 1, handoff_failed_count: 0 });
  const [handoff] = await scrapes.handoffs(claims);
  expect(handoff).toMatchObject({ status: 'queued', reason_code: 'ingestion_job_queued' });
  expect(handoff?.attempts).toBeGreaterThan(1);
  await scrapes.drive(claims.tenantId);
  expect((await scrapes.handoffs(claims)).map(({ status }) => status)).toEqual(['completed']);
  expect(await scrapes.search(claims, 'herons')).toHaveLength(1);
});
