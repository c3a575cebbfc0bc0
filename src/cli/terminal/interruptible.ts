import { type ExitCode, exitCodes } from './exit.ts';

/** Runs a command that Ctrl+C ends cleanly. Returns its exit code, or 130 when it was interrupted. */
export async function interruptible(work: (signal: AbortSignal) => Promise<ExitCode>): Promise<ExitCode> {
  const interruption = new Interruptible();
  try {
    return await work(interruption.signal);
  } catch (error) {
    // An error that follows from the interruption is not a failure.
    if (interruption.signal.aborted) return interruption.exitCode;
    throw error;
  } finally {
    interruption.end();
  }
}

/** Ends on Ctrl+C, on SIGTERM, and when stdout is closed. A second Ctrl+C ends the process at once. */
export class Interruptible {
  readonly #controller = new AbortController();
  exitCode: ExitCode = exitCodes.ok;

  constructor() {
    process.once('SIGINT', this.#interrupt);
    process.once('SIGTERM', this.#interrupt);
    process.stdout.once('error', this.end);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly end = (): void => {
    process.off('SIGINT', this.#interrupt);
    process.off('SIGTERM', this.#interrupt);
    process.stdout.off('error', this.end);
    this.#controller.abort();
  };

  readonly #interrupt = (): void => {
    this.exitCode = exitCodes.interrupted;
    this.end();
  };
}
