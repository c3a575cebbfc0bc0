import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { listProviders, saveSettings, wakeWaitingJobs } from './provider-store.ts';
import type { ProviderKey, ProviderRow, ProviderSettings } from './types.ts';

export function readProviders(db: Database, tenantId: string): Promise<ProviderRow[]> {
  return db.read(tenantId, (tx) => listProviders(tx, tenantId));
}

/** Holds from the next second on, in every process. */
export async function changeSettings(
  { db, wake }: { db: Database; wake: Pick<WakeUp, 'announce'> },
  key: ProviderKey,
  settings: ProviderSettings,
): Promise<ProviderRow> {
  const row = await db.tenant(key.tenantId, async (tx) => {
    const saved = await saveSettings(tx, key, settings);
    await wakeWaitingJobs(tx, key.tenantId);
    return saved;
  });
  if (!row) throw new Error(`The provider ${key.host} was not stored`);
  wake.announce('jobs');
  return row;
}
