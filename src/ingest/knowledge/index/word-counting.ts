import type { UpkeepTask } from '../../../kernel/upkeep/types.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { countOldPassages, listUncounted } from './word-store.ts';

const generationsPerUpkeep = 100;
const passagesPerTransaction = 500;
const upkeepMs = 10_000;

/**
 * Counts the words of indexes that an older version has written. Until it is done, searches in them rank words as that
 * version did. Each transaction is short, because the runs of the knowledge base wait for it.
 */
export function wordCountingTask({ db }: { db: Database }): UpkeepTask {
  return {
    name: 'count_knowledge_words',
    everyMs: 15_000,
    run: async () => {
      const deadlineMs = performance.now() + upkeepMs;
      const uncounted = await db.kernel((tx) => listUncounted(tx, generationsPerUpkeep));
      let counted = 0;
      for (const key of uncounted) {
        let isDone = false;
        while (!isDone && performance.now() < deadlineMs) {
          isDone = await db.tenant(key.tenantId, (tx) => countOldPassages(tx, key, passagesPerTransaction));
        }
        if (isDone) counted += 1;
      }
      return { counted, left: uncounted.length - counted };
    },
  };
}
