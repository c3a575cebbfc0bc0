import fc from 'fast-check';
import type pg from 'pg';
import { type JobCommand, jobCommands } from '../servers/job-commands.ts';
import type { TestDatabase } from './database.ts';
import { Coverage, Model } from './job-model.ts';
import { World } from './job-world.ts';

export interface JobModelReport {
  sequences: number;
  commands: number;
  missedLegal: string[];
  missedIllegal: string[];
  text: string;
}

/** On average: lengths are drawn from 0 to twice as many, so that a failure shrinks to few commands. */
const commandsPerSequence = 40;

/**
 * Runs random sequences of commands against the real kernel and the model side by side. `guard` is a connection of
 * the owner's; the database has the probe's table.
 */
export async function runJobModel({
  database,
  guard,
  sequences,
  seed,
}: {
  database: TestDatabase;
  guard: pg.Client;
  sequences: number;
  seed: number;
}): Promise<JobModelReport> {
  const coverage = new Coverage();
  const commands = fc.commands(jobCommands(), { maxCommands: 2 * commandsPerSequence, size: 'max' });
  let done = 0;
  await fc.assert(
    fc.asyncProperty(commands, async (steps) => {
      done += await runSequence(database, guard, { coverage, steps });
    }),
    { numRuns: sequences, seed },
  );
  const { missedLegal, missedIllegal } = coverage;
  const counts = [...coverage.counts].map(([move, count]) => `${move} ${count}`).sort();
  const text = `${sequences} sequences, ${done} commands, seed ${seed}\n${counts.join('\n')}`;
  return { sequences, commands: done, missedLegal, missedIllegal, text };
}

async function runSequence(
  database: TestDatabase,
  guard: pg.Client,
  { coverage, steps }: { coverage: Coverage; steps: Iterable<JobCommand> },
): Promise<number> {
  const world = await World.open(database, guard);
  const model = new Model(coverage);
  try {
    await fc.asyncModelRun(() => ({ model, real: world }), steps);
  } finally {
    await world.close();
  }
  return model.steps;
}
