import { setTimeout as pause } from 'node:timers/promises';
import type { FakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SyncsStage } from './syncs-stage.ts';

type Mood = (airbyte: FakeAirbyte, random: SeededRandom) => Promise<void> | void;

/** Known failures of Airbyte and of the network to it. */
const moods: Record<string, Mood> = {
  'job made, connection cut': (airbyte) =>
    void airbyte.trouble({ kind: 'trigger', times: 2 }, { type: 'cut', done: true }),
  'job not made, connection cut': (airbyte) =>
    void airbyte.trouble({ kind: 'trigger', times: 1 }, { type: 'cut', done: false }),
  'job made, 408': (airbyte) =>
    void airbyte.trouble({ kind: 'trigger', times: 1 }, airbyteTroubles.madeButTimedOut()),
  'job made, 409': (airbyte) =>
    void airbyte.trouble({ kind: 'trigger', times: 2 }, airbyteTroubles.conflictAfterStart()),
  'job made late, 409': (airbyte, random) =>
    void airbyte.trouble(
      { kind: 'trigger', times: 2 },
      airbyteTroubles.conflictAfterStart(20 + random.below(300)),
    ),
  'job not made, 409': (airbyte) =>
    void airbyte.trouble({ kind: 'trigger', times: 1 }, airbyteTroubles.stateConflict()),
  'job made, answer torn': (airbyte) =>
    void airbyte.trouble({ kind: 'trigger', times: 1 }, { type: 'truncated' }),
  '503 burst': (airbyte, random) =>
    void airbyte.trouble({ times: 2 + random.below(6) }, airbyteTroubles.unavailable()),
  '502 to lists': (airbyte) =>
    void airbyte.trouble({ kind: 'list_jobs', times: 2 }, airbyteTroubles.badGateway()),
  throttled: (airbyte) => void airbyte.trouble({ times: 2 }, airbyteTroubles.throttled('1')),
  down: async (airbyte, random) => {
    await airbyte.goDown();
    try {
      await pause(200 + random.below(1_000));
    } finally {
      await airbyte.comeBack();
    }
  },
};
const names = Object.keys(moods);

/** All of them in turn. */
export async function sufferMood(stage: SyncsStage): Promise<void> {
  const name = names[stage.done.moods % names.length] ?? '';
  await stage.withAirbyte(async () => moods[name]?.(stage.airbyte, stage.random));
  stage.moodsByKind[name] = (stage.moodsByKind[name] ?? 0) + 1;
  stage.done.moods += 1;
}

export const moodCount = names.length;

/**
 * Ends Airbyte's runs by themselves, as they end in the world: by the time that somebody looks again, no 409 tells of
 * the run that a dead worker has triggered. Returns a function that stops it.
 */
export function endRunsInTime({ airbyte, random }: Pick<SyncsStage, 'airbyte' | 'random'>): () => void {
  const endsAtMs = new Map<bigint, number>();
  const timer = setInterval(() => {
    for (const run of airbyte.state.jobs) {
      if (run.endedAtMs !== null) continue;
      const dueMs = endsAtMs.get(run.runId) ?? run.createdAtMs + 30 + random.below(800);
      endsAtMs.set(run.runId, dueMs);
      if (airbyte.nowMs() >= dueMs) airbyte.state.setStatus(run, 'succeeded');
    }
  }, 20);
  return () => clearInterval(timer);
}
