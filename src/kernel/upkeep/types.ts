/** A chore that some process has to do now and then: bounded, repeatable, safe to run anywhere. */
export interface UpkeepTask {
  name: string;
  everyMs: number;
  /** Returns what was done, as numbers for the console. */
  run(): Promise<Record<string, number>>;
}

export interface UpkeepTaskState {
  task: string;
  nextRunAt: Date;
  lastStartedAt: Date | null;
  lastFinishedAt: Date | null;
  lastResult: Record<string, number> | null;
  lastError: string | null;
}
