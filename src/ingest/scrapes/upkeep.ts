import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { type HandOverDeps, handOver } from './handoffs/hand-over.ts';
import { hasHandoffs, listLeftHandoffs, purgeHandoffs } from './handoffs/handoff-store.ts';
import { failAbandonedRuns, purgeRuns } from './runs/run-store.ts';
import type { OpenHandoff } from './types.ts';

const minuteMs = 60_000;
/** A live sync creates the jobs at once; its retries are over by then. */
const leftAfterMs = 2 * minuteMs;
/** Longer than any batch of a push takes. */
const abandonedAfterMs = 15 * minuteMs;
const batchSize = 500;
const purgeSize = 5_000;
const maxBatches = 40;

export function scrapeTasks(deps: HandOverDeps & { jobRetentionDays: number }): UpkeepTask[] {
  const { db, jobRetentionDays: days } = deps;
  return [
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
        runs: await inBatches(deps, (tx) => purgeRuns(tx, { days, limit: purgeSize })),
        handoffs: await inBatches(deps, async (tx) =>
          (await hasHandoffs(tx)) ? purgeHandoffs(tx, { days, limit: purgeSize }) : 0,
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

async function inBatches({ db }: HandOverDeps, purge: (tx: Tx) => Promise<number>): Promise<number> {
  let removed = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const count = await db.kernel(purge);
    removed += count;
    if (count < purgeSize) break;
  }
  return removed;
}
