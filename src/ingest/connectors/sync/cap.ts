import type { Tx } from '../../../lib/postgres/db.ts';
import type { Connector, SyncPolicy } from '../types.ts';
import { countRunning, lockTriggers } from './cap-store.ts';

interface CapQuestion extends Pick<Connector, 'airbyteWorkspaceId'> {
  isFinal: boolean;
  /** Whether the sync that asks is among those that are counted: its earlier trigger failed. */
  isCounted: boolean;
}

/**
 * Whether as many syncs run as are allowed. With `isFinal` no other worker can trigger between this look and the end of
 * the transaction, which commits the intent.
 */
export async function isCapReached(
  tx: Tx,
  { maxRunning, maxRunningPerWorkspace }: Pick<SyncPolicy, 'maxRunning' | 'maxRunningPerWorkspace'>,
  { airbyteWorkspaceId, isFinal, isCounted }: CapQuestion,
): Promise<boolean> {
  if (maxRunning === null && maxRunningPerWorkspace === null) return false;
  if (isFinal) await lockTriggers(tx);
  const running = await countRunning(tx, airbyteWorkspaceId);
  const own = isCounted ? 1 : 0;
  if (running.total - own >= (maxRunning ?? Number.POSITIVE_INFINITY)) return true;
  return (
    running.inWorkspace - (airbyteWorkspaceId === null ? 0 : own) >=
    (maxRunningPerWorkspace ?? Number.POSITIVE_INFINITY)
  );
}
