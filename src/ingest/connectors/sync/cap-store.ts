import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';

/** Until the end of the transaction no other worker counts and triggers. */
export async function lockTriggers(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(20995, 0)`);
}

/** Syncs that run at Airbyte or are being triggered, over all tenants; a function of the database may count them. */
export async function countRunning(
  tx: Tx,
  workspaceId: string | null,
): Promise<{ total: number; inWorkspace: number }> {
  const row = await tx.find<{ total: number; inWorkspace: number }>(sql`
    select total, in_workspace as "inWorkspace"
      from count_running_syncs(${workspaceId})`);
  return row ?? { total: 0, inWorkspace: 0 };
}
