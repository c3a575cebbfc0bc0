import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import { purgeInBatches } from '../../lib/postgres/purge.ts';
import { type HandOverDeps, handOver } from './handoffs/hand-over.ts';
import { hasHandoffs, listLeftHandoffs, purgeHandoffs } from './handoffs/handoff-store.ts';
import { failAbandonedRuns, purgeRuns } from './runs/run-store.ts';
import type { SyncDeps } from './runs/sync.ts';
import { startDueCrawls } from './schedule.ts';
import type { OpenHandoff } from './types.ts';

const minuteMs = 60_000;
/** A live sync creates the jobs at once; its retries are over by then. */
const leftAfterMs = 2 * minuteMs;
/** Longer than any batch of a push takes. */
const abandonedAfterMs = 15 * minuteMs;
const batchSize = 500;

export function scrapeTasks(deps: SyncDeps & { jobRetentionDays: number }): UpkeepTask[] {
  const { db, jobRetentionDays: days } = deps;
  return [
    { name: 'schedule_crawls', everyMs: minuteMs / 4, run: () => startDueCrawls(deps) },
    {
      name: 'hand_over_left_references',
      everyMs: minuteMs,
      run: async () => ({
        handed_over: await handOverLeft(deps),
        runs_ended: await db.kernel((tx) =>
          failAbandonedRuns(tx, { olderThanMs: abandonedAfterMs, limit: batchSize }),
        ),
      }),
    },
    {
      name: 'purge_scrapes',
      everyMs: 60 * minuteMs,
      run: async () => ({
        runs: await purgeInBatches(db, (tx, limit) => purgeRuns(tx, { days, limit })),
        handoffs: await purgeInBatches(db, async (tx, limit) =>
          (await hasHandoffs(tx)) ? purgeHandoffs(tx, { days, limit }) : 0,
        ),
      }),
    },
  ];
}

/** Hands over what a process opened before it died. */
export async function handOverLeft(
  deps: HandOverDeps,
  { olderThanMs = leftAfterMs }: { olderThanMs?: number } = {},
): Promise<number> {
  const left = await deps.db.kernel(async (tx) =>
    (await hasHandoffs(tx)) ? listLeftHandoffs(tx, { olderThanMs, limit: batchSize }) : [],
  );
  const groups = new Map<string, (OpenHandoff & { tenantId: string })[]>();
  for (const handoff of left) {
    const place = JSON.stringify([handoff.tenantId, handoff.kbId]);
    groups.set(place, [...(groups.get(place) ?? []), handoff]);
  }
  for (const handoffs of groups.values()) {
    const { tenantId } = handoffs[0] as OpenHandoff & { tenantId: string };
    await handOver(deps, tenantId, { handoffs, newCount: handoffs.length, skippedCount: 0 });
  }
  return left.length;
}
