import type { Ground } from '../../kernel/house/house.ts';
import type { Outcome } from '../../kernel/jobs/types.ts';

const maxRemembered = 1_000;
const lookAgainMs = 50;

/**
 * Opens the application's own tables to effects. Tables come and go while Sluice runs, so a refusal makes it look once
 * more before it counts as a failure.
 */
export class AppTables {
  readonly #options: Pick<Ground, 'openAppTables' | 'logger'>;
  readonly #refused = new Set<string>();
  #opening: Promise<boolean> | null = null;

  constructor(options: Pick<Ground, 'openAppTables' | 'logger'>) {
    this.#options = options;
  }

  /** Ends by itself; whoever needs a table before that is refused once, and comes again. */
  open(): void {
    this.#opening ??= this.#options
      .openAppTables()
      .catch((err: unknown) => {
        this.#options.logger.warn({ err }, 'the tables of the application could not be opened to effects');
        return false;
      })
      .finally(() => {
        this.#opening = null;
      });
  }

  /** The slice waits for the tables to be opened; null when that has been tried for this refusal. */
  openFor(refusal: Error): Outcome | null {
    if (this.#opening === null && this.#refused.delete(refusal.message)) return null;
    if (this.#refused.size >= maxRemembered) this.#refused.clear();
    this.#refused.add(refusal.message);
    this.open();
    return { type: 'wait', delayMs: lookAgainMs };
  }
}
