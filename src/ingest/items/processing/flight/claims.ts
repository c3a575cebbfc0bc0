import { type ClaimedItem, moveCounts, type Unreported } from '../../types.ts';
import { closeBatch } from '../batch.ts';
import type { HeldLocks } from '../item-locks.ts';
import { contextFor, type Opened, reportOf, type TurnDeps } from '../opened-turn.ts';
import { claimCrashedItem, claimItems, hasCrashedItem, releaseExpired } from '../store.ts';

export interface Claimed {
  items: ClaimedItem[];
  /** A row waits that a worker died with: it is claimed alone, so that a second crash affects no other. */
  hasCrashed: boolean;
  /** Rows of dead or late workers that this claim has freed. */
  freed: number;
}

/** Locks rows for this turn. `alone`: one row that a worker died with. */
export async function claimRows(
  deps: TurnDeps,
  opened: Opened,
  { locks, limit, alone }: { locks: HeldLocks; limit: number; alone: boolean },
): Promise<Claimed> {
  const { job, turn } = opened;
  const { lockToken, lockMs } = locks;
  const askedAtMs = performance.now();
  const { fresh, ...claimed } = await deps.db.transaction(contextFor(job), async (tx) => {
    const freed = await releaseExpired(tx, { ...job, limit: 1_000 });
    const lock = { ...job, workerId: turn.workerId, lockToken, lockMs };
    const items = alone ? await claimCrashedItem(tx, lock) : await claimItems(tx, { ...lock, limit });
    const hasCrashed = await hasCrashedItem(tx, job);
    const back = moveCounts({}, { from: 'PROCESSING', to: 'PENDING', n: freed });
    const delta = moveCounts(back, { from: 'PENDING', to: 'PROCESSING', n: items.length });
    const fresh: Unreported = freed > 0 ? { 'retried.crashed': freed } : {};
    const end = { changes: [], delta, fresh, needsRunning: true };
    await closeBatch(tx, { ...reportOf(deps, opened), ...end });
    return { items, hasCrashed, freed, fresh };
  });
  deps.metrics.moved(fresh);
  if (claimed.items.length > 0) locks.renewal.atMs ||= askedAtMs;
  return claimed;
}
