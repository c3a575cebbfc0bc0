/** What a worker process is told when it starts, as JSON in its first argument. */
export interface WorkerSettings {
  appUrl: string;
  directUrl: string;
  leaseMs: number;
  concurrency: number;
  graceMs: number;
  ledgerFile: string;
  logFile: string;
}

/** What it writes to stdout. */
export type WorkerReport =
  | { is: 'started'; workerId: string; guardedBy: 'lock' | 'expiry' }
  | { is: 'begin' | 'end'; jobId: string }
  | { is: 'refused'; total: number }
  | { is: 'stopped' };

/** One line of the ledger outside the database: a slice has begun, or is about to commit. */
export interface LedgerLine {
  is: 'begin' | 'attempt';
  jobId: string;
  step: number;
  epoch: number;
  workerId: string;
  /** Milliseconds since 1970, by the machine's clock. */
  at: number;
}
