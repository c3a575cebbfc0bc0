import type { ItemsQuota } from './items-quota.ts';

/** How much one run has to do; it fails when it did less. */
export interface ChaosQuota {
  /** Jobs of the probe pipeline, the processes that work on them, and the tenants that they belong to. */
  jobs: number;
  workers: number;
  tenants: number;
  /** What a server and workers of the product have to take in beside them; null: they are not started. */
  product: ProductQuota | null;
  leaseMs: number;
  /** kill -9 of worker processes. */
  kills: number;
  /** Workers stopped for longer than their lease and woken again. */
  zombies: number;
  /** Connections that PostgreSQL is told to end. */
  backends: number;
  /** kill -9 of PostgreSQL itself. */
  restarts: number;
  /** Connections that the network cuts, silences, or deprives of the response to their COMMIT. */
  cuts: number;
  /** The faults are spread over this time; it takes longer when they themselves do. */
  spreadMs: number;
}

export interface ProductQuota {
  workers: number;
  /** Files of rows; null: none. */
  items: Pick<ItemsQuota, 'noop' | 'validate' | 'http'> | null;
  /** Ad reports, and how many rows the longest of them has. */
  reports: number;
  reportRows: number;
  /** Knowledge bases; none unless said otherwise. */
  bases?: number;
  /** Syncs of scrape sources; none unless said otherwise. */
  pushes?: number;
}

export type FaultKind = 'kills' | 'zombies' | 'backends' | 'restarts' | 'cuts';
export const faultKinds: readonly FaultKind[] = ['kills', 'zombies', 'backends', 'restarts', 'cuts'];

/** The target of a kill or a stop: a worker that is processing this. */
export type FaultTarget = 'jobs' | 'uploads' | 'items' | 'knowledge' | 'scrapes';

/** The quota over all pipelines together: in `npm test`… */
export const shortTogether: ChaosQuota = {
  jobs: 300,
  workers: 3,
  tenants: 10,
  product: {
    workers: 3,
    items: {
      noop: { jobs: 3, rows: 1_000 },
      validate: { jobs: 2, rows: 500 },
      http: { jobs: 4, rows: 200 },
    },
    reports: 12,
    reportRows: 2_000,
    bases: 6,
    pushes: 16,
  },
  // Long enough that a starved process is not mistaken for a stopped one.
  leaseMs: 4_000,
  kills: 20,
  zombies: 6,
  backends: 40,
  restarts: 1,
  cuts: 10,
  spreadMs: 25_000,
};

/** …and in `npm run chaos`, within 40 minutes. */
export const fullTogether: ChaosQuota = {
  ...shortTogether,
  leaseMs: 1_500,
  jobs: 15_000,
  product: {
    workers: 4,
    items: {
      noop: { jobs: 40, rows: 5_000 },
      validate: { jobs: 40, rows: 1_000 },
      http: { jobs: 120, rows: 400 },
    },
    reports: 300,
    reportRows: 4_000,
    bases: 150,
    pushes: 600,
  },
  kills: 500,
  zombies: 120,
  backends: 2_000,
  restarts: 30,
  cuts: 200,
  spreadMs: 31 * 60_000,
};

/** The parts alone, so that what goes wrong in one of them is seen without the others. */
export const shortKernel: ChaosQuota = {
  ...shortTogether,
  leaseMs: 1_500,
  jobs: 600,
  workers: 4,
  product: null,
  kills: 10,
  zombies: 3,
  backends: 20,
  restarts: 1,
  cuts: 10,
  spreadMs: 25_000,
};

export const fullKernel: ChaosQuota = {
  ...shortKernel,
  jobs: 8_000,
  kills: 100,
  zombies: 25,
  backends: 400,
  restarts: 5,
  cuts: 50,
  spreadMs: 7 * 60_000,
};

export const shortUploads: ChaosQuota = {
  ...shortTogether,
  leaseMs: 1_500,
  jobs: 0,
  workers: 0,
  tenants: 0,
  product: { workers: 4, items: null, reports: 16, reportRows: 4_000 },
  kills: 8,
  zombies: 2,
  backends: 15,
  restarts: 1,
  cuts: 5,
  spreadMs: 20_000,
};

export const fullUploads: ChaosQuota = {
  ...shortUploads,
  product: { workers: 4, items: null, reports: 150, reportRows: 6_000 },
  kills: 100,
  zombies: 20,
  backends: 400,
  restarts: 5,
  cuts: 50,
  spreadMs: 7 * 60_000,
};
