/** What `import … from 'sluice/testing'` gives: Sluice on a database of the test's own, with time and death at hand. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { OwnDefinition } from './definitions.ts';
import { openEmbedded } from './embedded.ts';
import { houses } from './houses.ts';
import type { Seam, SeamHook } from './kernel/house/seams.ts';
import { openTestDatabase } from './kernel/testing/test-database.ts';
import { countDue, moveTime } from './kernel/testing/test-store.ts';
import { withOwner } from './lib/postgres/client.ts';
import { databaseErrors } from './lib/postgres/db-errors.ts';
import type { Sluice, SluiceOptions } from './open-sluice.ts';

export type { Seam };

export interface TestOptions<P extends OwnDefinition, T extends OwnDefinition> extends SluiceOptions<P, T> {
  /** What dies at a seam: the slice, as if its process had died; or this process, with SIGKILL. Default: the slice. */
  kills?: 'slice' | 'process';
}

export interface TestSluice<Definition extends OwnDefinition> extends Sluice<Definition> {
  /** Runs what is due, and what becomes due by it, until nothing is left to do now. */
  runUntilIdle(): Promise<void>;
  readonly clock: {
    /** Sleeps, waits, retries, schedules and `runAt` come due so much sooner. */
    advance(ms: number): Promise<void>;
  };
  /** The next so many slices that come to this place die there. */
  killAt(seam: Seam, options?: { times?: number; name?: Definition['name'] }): void;
  killBeforeEffects(): void;
  /** The effects were written and are not committed yet: they must not count. */
  killAfterEffects(): void;
  /** The transaction has committed, and the process dies before it hears of it. */
  killAfterCommit(): void;
  /** A step has done its work, and nothing remembers it yet: it is done again, with the same idempotency key. */
  killAfterStep(): void;
}

/** What becomes due while one waits so long belongs to now. */
const soonMs = 200;
const lookEveryMs = 20;
const cycleBudgetMs = 60_000;

/**
 * Opens Sluice for a test. Nothing runs until `runUntilIdle`, unless `work` is true. Without a databaseUrl it has a
 * database of its own, which `stop` drops.
 */
export async function openTestSluice<
  const P extends OwnDefinition = never,
  const T extends OwnDefinition = never,
>(options: TestOptions<P, T> = {}): Promise<TestSluice<P | T>> {
  const { kills = 'slice', ...rest } = options;
  const database = options.databaseUrl === undefined ? await openTestDatabase(prepareHouses) : null;
  const databaseUrl = options.databaseUrl ?? database?.url ?? '';
  const dataDir = options.dataDir ?? (await mkdtemp(path.join(tmpdir(), 'sluice-test-')));
  const close = async () => {
    await database?.close();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  const faults = new Faults(kills);
  try {
    const settings = { databasePoolSize: 6, ...options.settings };
    const given = { work: false, ...rest, settings, dataDir, databaseUrl };
    const { sluice, base } = await openEmbedded<P, T>(given, { seams: faults.hook });
    return {
      ...sluice,
      runUntilIdle: async () => {
        do {
          await base.kernel.cycle({ budgetMs: cycleBudgetMs });
          await delay(lookEveryMs);
        } while ((await withOwner(databaseUrl, (client) => countDue(client, soonMs))) > 0);
      },
      clock: { advance: (ms) => withOwner(databaseUrl, (client) => moveTime(client, ms)) },
      ...faults.methods,
      stop: async () => {
        await sluice.stop();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepareHouses(ownerUrl: string): Promise<void> {
  for (const house of houses) await house.prepare(ownerUrl, { onNotice: () => {} });
}

interface Kill {
  left: number;
  name: string | undefined;
}

class Faults {
  readonly #kills: 'slice' | 'process';
  readonly #planned = new Map<Seam, Kill>();

  constructor(kills: 'slice' | 'process') {
    this.#kills = kills;
  }

  readonly hook: SeamHook = (seam, { pipeline }) => {
    const kill = this.#planned.get(seam);
    if (!kill || kill.left < 1 || (kill.name !== undefined && kill.name !== pipeline)) return;
    kill.left -= 1;
    if (this.#kills === 'process') process.kill(process.pid, 'SIGKILL');
    throw databaseErrors.raise.database_unavailable(`The test killed ${pipeline} at ${seam}`);
  };

  get methods() {
    const killAt = (seam: Seam, { times = 1, name }: { times?: number; name?: string } = {}) =>
      void this.#planned.set(seam, { left: times, name });
    return {
      killAt,
      killBeforeEffects: () => killAt('before-effects'),
      killAfterEffects: () => killAt('after-effects'),
      killAfterCommit: () => killAt('after-commit'),
      killAfterStep: () => killAt('after-step'),
    };
  }
}
