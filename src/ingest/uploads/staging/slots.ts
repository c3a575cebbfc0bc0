import { unparkJob } from '../../../kernel/jobs/shared-store.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { freeSlot, listWaitingJobs } from '../store.ts';
import type { UploadKey } from '../types.ts';

/** Gives an upload's slot back, if it holds one, and wakes whoever waits for it. */
export async function releaseSlot(
  { wake }: { wake: WakeUp },
  tx: Tx,
  upload: UploadKey & { workspaceId: string },
): Promise<void> {
  if (!(await freeSlot(tx, upload))) return;
  for (const job of await listWaitingJobs(tx, upload)) await unparkJob(tx, job);
  tx.afterCommit(() => wake.announce('jobs'));
}
