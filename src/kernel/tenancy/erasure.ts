import type { Database, Tx } from '../../lib/postgres/db.ts';
import type { Files } from '../files/types.ts';
import {
  countRows,
  deleteJobs,
  deleteRows,
  deleteTenant,
  listStorageKeys,
  listTenantTables,
  listUnlinkedTables,
  recordErasure,
} from './erasure-store.ts';
import { tenancyErrors } from './errors.ts';
import { tenantHashOf } from './provisioning.ts';
import { findTenant } from './store.ts';

export interface ErasureReport {
  /** How many rows each table had when the erasure began. */
  erased: Record<string, number>;
  filesRemoved: number;
  /** Counted afterwards over every table in the catalog: empty, or the tables that still have rows. */
  remaining: Record<string, number>;
}

const batchSize = 10_000;

/**
 * Removes everything of a tenant and proves it. It can be repeated: the next run removes what an interrupted one left.
 * A hash of the id stays, so that an old token does not bring the tenant back.
 */
export async function eraseTenant(
  { db, files }: { db: Database; files: Files },
  tenantId: string,
): Promise<ErasureReport> {
  const erased = await db.kernel(async (tx) => {
    if (!(await findTenant(tx, tenantId))) {
      throw tenancyErrors.raise.tenant_not_found(`There is no tenant ${tenantId}`);
    }
    await recordErasure(tx, tenantHashOf(tenantId));
    return countAll(tx, tenantId);
  });
  const storageKeys = await db.kernel((tx) => listStorageKeys(tx, tenantId));
  await inBatches(db, tenantId, (tx) => deleteJobs(tx, tenantId, batchSize));
  const unlinked = await db.kernel(listUnlinkedTables);
  await deleteUnlinked(db, unlinked, tenantId);
  // Once the tenant's row is gone, nothing can be added; what came between the batches goes with it or right after.
  await db.transaction({ role: 'sluice_kernel', settings: { statement_timeout: '0' } }, (tx) =>
    deleteTenant(tx, tenantId),
  );
  await deleteUnlinked(db, unlinked, tenantId);
  // A job that was settled meanwhile has moved to the ended ones, which no foreign key ties to their tenant.
  await inBatches(db, tenantId, (tx) => deleteJobs(tx, tenantId, batchSize));
  for (const key of storageKeys) await files.remove(key);
  const remaining = await db.kernel((tx) => countAll(tx, tenantId));
  return { erased, filesRemoved: storageKeys.length, remaining };
}

async function countAll(tx: Tx, tenantId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await listTenantTables(tx)) {
    const count = await countRows(tx, table, tenantId);
    if (count > 0) counts[table] = count;
  }
  return counts;
}

async function deleteUnlinked(db: Database, tables: string[], tenantId: string): Promise<void> {
  for (const table of tables) {
    await inBatches(db, tenantId, (tx) => deleteRows(tx, { table, tenantId, limit: batchSize }));
  }
}

/** A policy lets events be deleted only by those who name the tenant that is erased. */
async function inBatches(db: Database, tenantId: string, remove: (tx: Tx) => Promise<number>): Promise<void> {
  const settings = { 'app.erased_tenant': tenantId };
  while ((await db.transaction({ role: 'sluice_kernel', settings }, remove)) >= batchSize);
}
