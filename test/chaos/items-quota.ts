/** How much one run over items has to do; it fails when it did less. */
export interface ItemsQuota {
  workers: number;
  leaseMs: number;
  /** Jobs of each processor, and the rows of each of these. */
  noop: JobSize;
  validate: JobSize;
  http: JobSize;
  /** kill -9 of worker processes. */
  kills: number;
  /** Workers stopped until others have taken their items, and woken again. */
  zombies: number;
  /** Connections that PostgreSQL is told to end, the server's too. */
  backends: number;
  /** Jobs that were paused over HTTP, watched, and resumed. */
  pauses: number;
  /** Kickoffs over HTTP that processed something. */
  kickoffs: number;
  /** Comparisons of the counters with a recount. */
  probes: number;
  /** The longest pause between two faults. */
  pauseMs: number;
}

interface JobSize {
  jobs: number;
  rows: number;
}

export type ItemsFault = 'kills' | 'zombies' | 'backends' | 'pauses';
export const itemsFaults: readonly ItemsFault[] = ['kills', 'zombies', 'backends', 'pauses'];

export const shortItemsQuota: ItemsQuota = {
  workers: 4,
  leaseMs: 1_500,
  noop: { jobs: 4, rows: 4_000 },
  validate: { jobs: 4, rows: 1_000 },
  http: { jobs: 6, rows: 300 },
  kills: 10,
  zombies: 3,
  backends: 10,
  pauses: 4,
  kickoffs: 5,
  probes: 100,
  pauseMs: 700,
};

export const fullItemsQuota: ItemsQuota = {
  ...shortItemsQuota,
  noop: { jobs: 30, rows: 20_000 },
  validate: { jobs: 30, rows: 5_000 },
  http: { jobs: 60, rows: 1_000 },
  kills: 100,
  zombies: 25,
  backends: 300,
  pauses: 50,
  kickoffs: 50,
  probes: 1_000,
};

export function rowsOf({ noop, validate, http }: ItemsQuota): number {
  return [noop, validate, http].reduce((sum, { jobs, rows }) => sum + jobs * rows, 0);
}
