/** How much one run over syncs has to do; it fails when it did less. */
export interface SyncsQuota {
  workers: number;
  leaseMs: number;
  tenants: number;
  connectors: number;
  /** Syncs that were asked for and acknowledged. */
  syncs: number;
  /** kill -9 of worker processes, every second one while Airbyte's response to its trigger is in flight. */
  kills: number;
  /** Workers stopped while they wait for that answer, until others have their sync, and woken again. */
  zombies: number;
  /** Connections that PostgreSQL is told to end, the server's too. */
  backends: number;
  /** Connections to PostgreSQL that the network cuts, silences, or deprives of the response to their COMMIT. */
  cuts: number;
  /** Random failures of Airbyte. */
  moods: number;
  /** The faults are spread over this time; it takes longer when they themselves do. */
  spreadMs: number;
}

export type SyncsFault = 'kills' | 'zombies' | 'backends' | 'cuts' | 'moods';
export const syncsFaults: readonly SyncsFault[] = ['kills', 'zombies', 'backends', 'cuts', 'moods'];

export const shortSyncsQuota: SyncsQuota = {
  workers: 3,
  leaseMs: 1_500,
  tenants: 6,
  connectors: 60,
  syncs: 300,
  kills: 10,
  zombies: 3,
  backends: 20,
  cuts: 8,
  moods: 24,
  spreadMs: 15_000,
};

export const fullSyncsQuota: SyncsQuota = {
  ...shortSyncsQuota,
  syncs: 3_000,
  kills: 100,
  zombies: 25,
  backends: 300,
  cuts: 60,
  moods: 400,
  spreadMs: 5 * 60_000,
};
