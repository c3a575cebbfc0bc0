import type { Group, RunContext } from './context.ts';
import type { LoadAhead } from './steps/load-ahead.ts';

/** A run with what was loaded ahead for it. */
export interface PreparedRun {
  run: RunContext;
  ahead: LoadAhead<Group>;
  /** Ends the loading. */
  controller: AbortController;
}

const keptForMs = 30_000;

/**
 * Keeps what was loaded ahead from one slice of a run to its next: usually this process takes it again at once, and
 * what is being read (a book, a page that answers slowly) need not be read twice. Nothing depends on it.
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

  /** Null as well when the run has gone on elsewhere. */
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
