import { syncRetries } from '../../src/ingest/connectors/sync/outcomes.ts';
import { decideRetry, type RetryPolicy, unexpectedRetries } from '../../src/kernel/jobs/run/retry.ts';
import type { Outcome } from '../../src/kernel/jobs/types.ts';
import type { SeededRandom } from '../chaos/seeded-random.ts';
import type { Breakage } from './simulated-state.ts';

const policies: [string, RetryPolicy][] = [
  ...Object.entries(syncRetries),
  ...Object.entries(unexpectedRetries),
];

interface Situation {
  isCleanup: boolean;
  /** The job was paused: the slice ends at the next good place. */
  mustYield: boolean;
  retryCount: number;
  breakage: Breakage | undefined;
}

/** How a slice ends. What follows from an error is the kernel's own decision. */
export function drawOutcome(
  random: SeededRandom,
  situation: Situation,
): { outcome: Outcome; makesProgress: boolean } {
  const choice = random.below(100);
  if (situation.isCleanup) return { outcome: cleanupOutcome(choice), makesProgress: false };
  if (situation.mustYield || choice < 35) return { outcome: { type: 'continue' }, makesProgress: true };
  if (choice < 45) return { outcome: { type: 'wait', delayMs: random.below(30_000) }, makesProgress: true };
  if (choice < 65) return { outcome: { type: 'done' }, makesProgress: true };
  return { outcome: afterError(random, situation), makesProgress: false };
}

/** Cleanup never fails for good: an error only makes it wait. */
function cleanupOutcome(choice: number): Outcome {
  if (choice < 30) return { type: 'continue' };
  return choice < 50 ? { type: 'wait', delayMs: 5_000 } : { type: 'done' };
}

function afterError(random: SeededRandom, { retryCount, breakage }: Situation): Outcome {
  const [name, policy] = random.pick(policies) as [string, RetryPolicy];
  const error = random.below(3) === 0 ? { retryAfterMs: random.below(300_000) } : {};
  const attempt = breakage === 'retry without limit' ? 0 : retryCount;
  const decision = decideRetry(policy, attempt, error, random.next);
  const failure = { code: `probe_${name}`, message: 'The slice was told to fail', class: name };
  if (!decision.retry) return { type: 'dead', failure };
  return { type: 'retry', failure, delayMs: decision.delayMs, notBefore: decision.fromRetryAfter };
}
