import type { Slice } from '../../../src/kernel/jobs/types.ts';
import type { Tx } from '../../../src/lib/postgres/db.ts';

/** What a test does around the transactions of a run. They are counted over all slices of a kernel. */
export interface SliceHooks {
  before?: (count: number, slice: Slice) => Promise<void> | void;
  inside?: (tx: Tx, count: number, slice: Slice) => Promise<void>;
  after?: (count: number, slice: Slice) => Promise<void> | void;
}

/** Wraps slices so that the hooks run around each of their transactions. */
export function sliceWatcher({ before, inside, after }: SliceHooks): (slice: Slice) => Slice {
  let count = 0;
  return (slice) => ({
    ...slice,
    transaction: async (work, state) => {
      count += 1;
      const own = count;
      await before?.(own, slice);
      const result = await slice.transaction(async (tx, job) => {
        await inside?.(tx, own, slice);
        return work(tx, job);
      }, state);
      await after?.(own, slice);
      return result;
    },
  });
}
