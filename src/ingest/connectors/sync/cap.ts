import type { Tx } from '../../../lib/postgres/db.ts';
import type { Connector, SyncPolicy } from '../types.ts';
import { countRunning, lockTriggers } from './cap-store.ts';

/**
 * Whether as many syncs run as are allowed. With `isFinal` no other worker can trigger between this look and the end of
 * the transaction, which commits the intent.
 */
export async function isCapReached(
  tx: Tx,
  { maxRunning, maxRunningPerWorkspace }: Pick<SyncPolicy, 'maxRunning' | 'maxRunningPerWorkspace'>,
  { airbyteWorkspaceId, isFinal }: Pick<Connector, 'airbyteWorkspaceId'> & { isFinal: boolean },
): Promise<boolean> {
  if (maxRunning === null && maxRunningPerWorkspace === null) return false;
  if (isFinal) await lockTriggers(tx);
  const running = await countRunning(tx, airbyteWorkspaceId);
  if (running.total >= (maxRunning ?? Number.POSITIVE_INFINITY)) return true;
  return running.inWorkspace >= (maxRunningPerWorkspace ?? Number.POSITIVE_INFINITY);
}
