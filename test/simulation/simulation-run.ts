import { setImmediate } from 'node:timers/promises';
import { type SimulationReport, simulate } from './simulation.ts';

export interface SimulationRun {
  seeds: number;
  events: number;
  jobs: number;
  tally: Map<string, number>;
  /** The most tenants that had a turn while another one waited for its own. */
  longestWait: number;
  failures: string[];
  text: string;
}

/** A broken rule usually fails in many seeds; the first few are enough. */
const maxFailures = 3;

/** One seed after the other, on one core; what they did is added up. */
export async function runSeeds({ first, count }: { first: number; count: number }): Promise<SimulationRun> {
  const startedAt = process.cpuUsage();
  const run = { seeds: 0, events: 0, jobs: 0, tally: new Map<string, number>(), longestWait: 0 };
  const failures: string[] = [];
  for (let seed = first; seed < first + count && failures.length < maxFailures; seed += 1) {
    const report = simulate({ seed });
    run.seeds += 1;
    run.events += report.events;
    run.jobs += report.jobs;
    run.longestWait = Math.max(run.longestWait, report.longestWait);
    for (const [what, times] of report.tally) run.tally.set(what, (run.tally.get(what) ?? 0) + times);
    if (report.violation !== null) failures.push(describeFailure(report));
    // Lets the test runner have the event loop now and then.
    if (run.seeds % 100 === 0) await setImmediate();
  }
  const cpuMs = process.cpuUsage(startedAt).user / 1000;
  const counts = [...run.tally].sort().map(([what, times]) => `  ${what}: ${times}`);
  const heading = `${run.seeds} seeds from ${first}, ${run.events} events, ${run.jobs} jobs`;
  const text = `${heading}, ${Math.round(cpuMs)} ms of CPU\n${counts.join('\n')}`;
  return { ...run, failures, text };
}

export function describeFailure({ seed, violation, lastEvents, events, hash }: SimulationReport): string {
  return [
    `Seed ${seed} broke a rule at event ${events} (trace ${hash}): ${violation}`,
    `SIM_SEED=${seed} npm run simulate replays it. The last events:`,
    ...lastEvents,
  ].join('\n');
}
