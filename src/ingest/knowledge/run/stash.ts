import type { Group, RunContext } from './context.ts';
import type { LoadAhead } from './steps/load-ahead.ts';

/** A run with the groups that were loaded ahead. */
export interface PreparedRun {
  run: RunContext;
  ahead: LoadAhead<Group>;
  /** Stops loading. */
  controller: AbortController;
}

const keptForMs = 30_000;

/**
 * Keeps what was loaded ahead until the next slice of a run. Usually the same process continues at once, and a large
 * document or a slow page need not be read twice. Correctness does not depend on it.
 */
export class RunStash {
  readonly #kept = new Map<string, { prepared: PreparedRun; timer: NodeJS.Timeout }>();

  put(prepared: PreparedRun): void {
    const { jobId } = prepared.run;
    this.drop(jobId);
    const timer = setTimeout(() => this.drop(jobId), keptForMs);
    timer.unref();
    this.#kept.set(jobId, { prepared, timer });
  }

  /** Also null if the run has continued in another process. */
  take(jobId: string, step: number): PreparedRun | null {
    const kept = this.#kept.get(jobId);
    if (kept === undefined) return null;
    this.#kept.delete(jobId);
    clearTimeout(kept.timer);
    if (kept.prepared.run.checkpoint.step === step) return kept.prepared;
    discard(kept.prepared);
    return null;
  }

  drop(jobId: string): void {
    const kept = this.#kept.get(jobId);
    if (kept === undefined) return;
    this.#kept.delete(jobId);
    clearTimeout(kept.timer);
    discard(kept.prepared);
  }

  close(): void {
    for (const jobId of [...this.#kept.keys()]) this.drop(jobId);
  }
}

export function discard({ ahead, controller }: PreparedRun): void {
  controller.abort(new Error('The run continues elsewhere, or has ended'));
  ahead.close();
}
