import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { jittered, repeat } from '../../lib/timing/repeat.ts';
import type { Office } from '../elections/office.ts';
import { claimTask, enterTasks, recordRun } from './store.ts';
import type { UpkeepTask } from './types.ts';

export interface UpkeepOptions {
  db: Database;
  logger: Logger;
  tasks: readonly UpkeepTask[];
  /** How often the holder looks for a due task. */
  lookEveryMs?: number;
}

/**
 * Runs the chores. Every worker has one, and the one that is elected looks for chores that are due. A chore is claimed
 * in the database before it runs, so two that believe to be elected do not run it twice.
 */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #stopLooking: () => void = () => {};
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** The holder of the office looks for due tasks. */
  async start(office: Office): Promise<void> {
    await this.#options.db.kernel((tx) =>
      enterTasks(
        tx,
        this.#options.tasks.map(({ name }) => name),
      ),
    );
    const everyMs = this.#options.lookEveryMs ?? 5_000;
    const look = () => {
      this.#running = this.runDue();
      return this.#running;
    };
    this.#stopLooking = office.whileHeld(() => repeat(look, () => jittered(everyMs), 0));
  }

  async stop(): Promise<void> {
    this.#stopLooking();
    await this.#running;
  }

  /** Runs the tasks that are due. Returns the names of those that this process ran. */
  async runDue(): Promise<string[]> {
    const done: string[] = [];
    for (const task of this.#options.tasks) {
      try {
        const isOurs = await this.#options.db.kernel((tx) =>
          claimTask(tx, { task: task.name, everyMs: task.everyMs }),
        );
        if (!isOurs) continue;
        await this.#runOne(task);
        done.push(task.name);
      } catch (error) {
        this.#options.logger.warn({ err: error, task: task.name }, 'an upkeep task has to wait');
      }
    }
    return done;
  }

  async #runOne(task: UpkeepTask): Promise<void> {
    const outcome = await task.run().then(
      (result) => ({ result, error: null }),
      (error: unknown) => {
        this.#options.logger.error({ err: error, task: task.name }, 'an upkeep task failed');
        return { result: null, error: messageOf(error) };
      },
    );
    await this.#options.db.kernel((tx) => recordRun(tx, { task: task.name, ...outcome }));
  }
}
