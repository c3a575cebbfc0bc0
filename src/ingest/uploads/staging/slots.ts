import { unparkJob } from '../../../kernel/jobs/shared/shared-store.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { freeSlot, listWaitingJobs } from '../store.ts';
import type { UploadKey, WorkspaceKey } from '../types.ts';

/** Frees an upload's slot, if it holds one, and wakes the jobs that wait for a slot. */
export async function releaseSlot(
  { wake }: { wake: WakeUp },
  tx: Tx,
  upload: UploadKey & WorkspaceKey,
): Promise<void> {
  if (!(await freeSlot(tx, upload))) return;
  for (const job of await listWaitingJobs(tx, upload)) await unparkJob(tx, job);
  tx.afterCommit(() => wake.announce('jobs'));
}
