import { createHash } from 'node:crypto';
import { dispatchIn } from '../../../kernel/jobs/dispatch/service.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { jittered, repeat } from '../../../lib/timing/repeat.ts';
import { checkInput } from '../definitions/input.ts';
import { mostRetries } from '../definitions/retry.ts';
import { fingerprintOf, nextTick } from '../definitions/schedule.ts';
import { ownErrors } from '../errors.ts';
import { type DueSchedule, listDueSchedules, readNow, registerPipelines, takeTick } from '../own-store.ts';
import { jobFor, type KnownTenants, type OwnDeps } from '../service.ts';
import type { OwnDefinition, Schedule } from '../types.ts';

const usualTenant = 'default';
const lookEveryMs = 500;

/**
 * Makes the jobs of schedules. Every process may look; a tick is taken by one, in the transaction that makes its job.
 * Ticks that passed while nobody looked make one job, and a tick that finds the job before still active makes none.
 */
export class Schedules {
  readonly #deps: OwnDeps;
  readonly #tenants: KnownTenants;
  readonly #logger: Logger;
  #stopLooking: () => void = () => {};
  #running: Promise<unknown> = Promise.resolve();
  readonly #scheduled: ReadonlyMap<string, OwnDefinition & { schedule: Schedule<unknown> }>;

  constructor(deps: OwnDeps, { tenants, logger }: { tenants: KnownTenants; logger: Logger }) {
    this.#deps = deps;
    this.#tenants = tenants;
    this.#logger = logger;
    const scheduled = [...deps.definitions.values()].filter(hasSchedule);
    this.#scheduled = new Map(scheduled.map((definition) => [definition.name, definition]));
  }

  get isEmpty(): boolean {
    return this.#scheduled.size === 0;
  }

  /** What there is, for those who dispatch through SQL, and when the schedules come due. */
  async register(): Promise<void> {
    const definitions = [...this.#deps.definitions.values()];
    if (definitions.length === 0) return;
    for (const definition of this.#scheduled.values()) await checkScheduledInput(definition);
    await this.#deps.kernel.db.kernel(async (tx) => {
      const now = await readNow(tx);
      const rows = definitions.map(({ name, retry, schedule }) => ({
        name,
        maxRetries: mostRetries(retry),
        schedule: schedule ? fingerprintOf(schedule) : null,
        nextRunAt: schedule ? (nextTick(schedule, now) ?? never) : null,
      }));
      await registerPipelines(tx, rows);
    });
  }

  /** One of the processes that have the same schedules looks for ticks; it may be one that takes no jobs. */
  start(): void {
    if (this.isEmpty) return;
    const digest = createHash('sha256')
      .update([...this.#scheduled.keys()].sort().join('\n'))
      .digest('hex');
    const office = this.#deps.kernel.elections.office(`schedules/${digest.slice(0, 8)}`);
    const look = () => {
      this.#running = this.run().catch((err: unknown) => {
        this.#logger.warn({ err }, 'schedules have to wait');
      });
      return this.#running;
    };
    this.#stopLooking = office.whileHeld(() => repeat(look, () => jittered(lookEveryMs), 0));
  }

  async stop(): Promise<void> {
    this.#stopLooking();
    await this.#running;
  }

  /** Makes what is due; returns how many jobs. */
  async run(): Promise<number> {
    if (this.isEmpty) return 0;
    const names = [...this.#scheduled.keys()];
    const due = await this.#deps.kernel.db.kernel((tx) => listDueSchedules(tx, names));
    let made = 0;
    for (const one of due) {
      try {
        if (await this.#tick(one)) made += 1;
      } catch (error) {
        this.#logger.warn({ err: error, pipeline: one.name }, 'the job of a schedule could not be made');
      }
    }
    return made;
  }

  async #tick({ name, nextRunAt, now }: DueSchedule): Promise<boolean> {
    const definition = this.#scheduled.get(name);
    if (!definition) return false;
    const { tenantId = usualTenant } = definition.schedule;
    await this.#tenants.ensure(tenantId);
    const wish = { tenantId, subjectId: `schedule:${name}`, createdBy: 'schedule' };
    const job = await jobFor(this.#deps, { name, input: inputAt(definition.schedule, nextRunAt), wish });
    const next = nextTick(definition.schedule, now) ?? never;
    const { jobs, db } = this.#deps.kernel;
    return db.tenant(tenantId, async (tx) => {
      if (!(await takeTick(tx, { name, seen: nextRunAt, next }))) return false;
      try {
        await dispatchIn(jobs, tx, tenantId, job);
        return true;
      } catch (error) {
        if (!isSluiceError(error) || !['job_already_active', 'cleanup_in_progress'].includes(error.code))
          throw error;
        this.#logger.info({ pipeline: name }, 'a tick made no job, because the one before is still active');
        return false;
      }
    });
  }
}

/** A cron pattern of a day that has passed for good. */
const never = new Date('9999-12-31T00:00:00Z');

function hasSchedule(
  definition: OwnDefinition,
): definition is OwnDefinition & { schedule: Schedule<unknown> } {
  return definition.schedule !== undefined;
}

function inputAt({ input = {} }: Schedule<unknown>, tick: Date): unknown {
  return typeof input === 'function' ? input(tick) : input;
}

/** At the start, and not at six in the morning. */
async function checkScheduledInput(
  definition: OwnDefinition & { schedule: Schedule<unknown> },
): Promise<void> {
  try {
    await checkInput(definition, inputAt(definition.schedule, new Date()));
  } catch (error) {
    throw ownErrors.raise.definition_invalid(
      `The schedule of ${definition.kind} ${definition.name} has no valid input: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
