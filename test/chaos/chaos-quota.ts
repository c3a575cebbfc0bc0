/** How much one run has to do; it fails when it did less. */
export interface ChaosQuota {
  jobs: number;
  tenants: number;
  workers: number;
  leaseMs: number;
  /** kill -9 of worker processes. */
  kills: number;
  /** Workers stopped for longer than their lease and woken again. */
  zombies: number;
  /** Connections that PostgreSQL is told to end. */
  backends: number;
  /** kill -9 of PostgreSQL itself. */
  restarts: number;
  /** Connections cut, silenced, or robbed of the answer to their COMMIT by the network. */
  cuts: number;
  /** The longest pause between two faults. */
  pauseMs: number;
}

export type FaultKind = 'kills' | 'zombies' | 'backends' | 'restarts' | 'cuts';
export const faultKinds: readonly FaultKind[] = ['kills', 'zombies', 'backends', 'restarts', 'cuts'];

export const shortQuota: ChaosQuota = {
  jobs: 1_000,
  tenants: 10,
  workers: 4,
  leaseMs: 1_500,
  kills: 20,
  zombies: 5,
  backends: 40,
  restarts: 1,
  cuts: 10,
  pauseMs: 1_000,
};

export const fullQuota: ChaosQuota = {
  ...shortQuota,
  jobs: 40_000,
  kills: 500,
  zombies: 100,
  backends: 2_000,
  restarts: 30,
  cuts: 200,
  pauseMs: 800,
};
