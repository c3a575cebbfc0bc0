import { syncRetries } from '../../src/ingest/connectors/sync/outcomes.ts';
import { unexpectedRetries } from '../../src/kernel/jobs/run/retry.ts';
import { type Move, transitions } from '../../src/kernel/jobs/transitions.ts';
import type { JobStatus, Lease } from '../../src/kernel/jobs/types.ts';
import { Fairness } from './fairness.ts';
import { type Happening, type HappeningKind, type ProcessTruth, Violation } from './happening.ts';
import { type Claimed, type JobState, leaseMs } from './job-store.ts';
import type { SimulatedState } from './simulated-state.ts';

/** The longest that a policy or a Retry-After may put a job off. */
const maxDelayMs = 3_600_000;

/** What was known of a job before the event. */
interface Shadow {
  status: JobStatus;
  leaseEpoch: number;
  leasedBy: string | null;
  leaseExpiresAtMs: number | null;
  runAtMs: number;
  notBeforeMs: number | null;
  retryCount: number;
  cleanupOpen: boolean;
  strikes: number;
  step: number;
  effects: number;
  events: number;
}

export interface InvariantsOptions {
  processes: () => readonly ProcessTruth[];
  maxStrikes: number;
}

const movesOf: Partial<Record<HappeningKind, readonly Move[]>> = {
  claim: ['claim'],
  settle: ['continue', 'wait', 'finish', 'retry', 'give_up', 'clean_up'],
  rescue: ['rescue'],
  pause: ['pause'],
  resume: ['resume'],
  cancel: ['cancel'],
};

/** `kind from to` of every change of status that an event of a kind may make, by the kernel's own table. */
const legalChanges = new Set(
  Object.entries(movesOf).flatMap(([kind, moves]) =>
    transitions.filter(({ move }) => moves.includes(move)).map(({ from, to }) => `${kind} ${from} ${to}`),
  ),
);

/** Which events may take a lease from a job. */
const endsLease = new Set<HappeningKind>(['settle', 'release', 'rescue', 'cancel']);

/**
 * The rules that hold after every event. They compare the rows with what they were before and with the truth about
 * the processes, and share no code with the store that they judge, except the kernel's own tables.
 */
export class Invariants {
  readonly fairness: Fairness;
  readonly #state: SimulatedState;
  readonly #processes: () => readonly ProcessTruth[];
  readonly #maxStrikes: number;
  readonly #shadows: Shadow[] = [];
  readonly #subjects = new Map<string, number>();
  readonly #subjectOf: number[] = [];
  /** By subject, and by job: at which event it was last seen active, and held. */
  readonly #activeAt: number[] = [];
  #checks = 0;
  #latestMs = 0;

  constructor(state: SimulatedState, { processes, maxStrikes }: InvariantsOptions) {
    this.#state = state;
    this.#processes = processes;
    this.#maxStrikes = maxStrikes;
    this.fairness = new Fairness(state);
  }

  before(happening: Happening): void {
    if (happening.claim) this.fairness.before(happening.claim, this.#latestMs);
  }

  after(happening: Happening, answer: unknown): void {
    this.#checks += 1;
    this.#latestMs = Math.max(this.#latestMs, this.#state.nowMs);
    const { jobs } = this.#state;
    if (jobs.length < this.#shadows.length) throw new Violation('A job is gone');
    for (let index = 0; index < jobs.length; index += 1)
      this.#checkJob(jobs[index] as JobState, index, happening);
    this.#checkHolders();
    if (happening.claim) this.fairness.after(happening.claim, answer as Claimed[]);
  }

  #checkJob(job: JobState, index: number, happening: Happening): void {
    const shadow = this.#shadows[index];
    if (!shadow) this.#welcome(job, index, happening);
    else if (differs(job, shadow)) {
      this.#checkChange(job, shadow, happening);
      Object.assign(shadow, shadowOf(job));
    } else {
      shadow.leaseExpiresAtMs = job.leaseExpiresAtMs;
      shadow.runAtMs = job.runAtMs;
      // A worker that returned took its strike back.
      shadow.strikes = job.struckBy.length;
    }
    if (isActive(job)) {
      const subject = this.#subjectOf[index] as number;
      if (this.#activeAt[subject] === this.#checks) fail(job, 'is a second active job of its subject');
      this.#activeAt[subject] = this.#checks;
    }
    this.#checkReach(job);
  }

  #welcome(job: JobState, index: number, { kind }: Happening): void {
    if (kind !== 'dispatch' && kind !== 'requeue') fail(job, `was made by ${kind}`);
    if (job.status !== 'queued') fail(job, `was made ${job.status}`);
    this.#shadows.push(shadowOf(job));
    const key = `${job.tenantId} ${job.pipeline} ${job.subjectId}`;
    const subject = this.#subjects.get(key) ?? this.#subjects.size;
    this.#subjects.set(key, subject);
    this.#subjectOf[index] = subject;
  }

  /** No job may end in a state that nothing ever leaves. */
  #checkReach(job: JobState): void {
    if (job.leasedBy !== null) {
      if (!((job.leaseExpiresAtMs ?? Number.POSITIVE_INFINITY) <= this.#latestMs + leaseMs)) {
        fail(job, `has a lease until ${job.leaseExpiresAtMs}, longer than any lease`);
      }
    } else if (!isEnded(job) && !(job.runAtMs <= this.#latestMs + maxDelayMs)) {
      fail(job, `is put off to ${job.runAtMs}, longer than any policy says`);
    }
  }

  #checkChange(job: JobState, shadow: Shadow, happening: Happening): void {
    const { kind } = happening;
    if (isEnded(shadow)) fail(job, `had ended as ${shadow.status} and was changed by ${kind}`);
    if (job.status !== shadow.status && !legalChanges.has(`${kind} ${shadow.status} ${job.status}`)) {
      fail(job, `went from ${shadow.status} to ${job.status} by ${kind}`);
    }
    if (job.leaseEpoch < shadow.leaseEpoch) fail(job, 'went back to an older epoch');
    this.#checkLease(job, shadow, happening);
    this.#checkWrites(job, shadow, happening);
    checkRetry(job, shadow, happening);
    checkEvents(job, shadow, happening);
    if (kind === 'rescue') this.#checkRescue(job, shadow);
    if (job.struckBy.length > shadow.strikes && kind !== 'rescue') fail(job, `was struck by ${kind}`);
  }

  #checkLease(job: JobState, shadow: Shadow, { kind }: Happening): void {
    if (shadow.leasedBy === null && job.leasedBy !== null) {
      if (kind !== 'claim' || job.leaseEpoch <= shadow.leaseEpoch)
        fail(job, `was leased by ${kind} without a new epoch`);
      if (shadow.runAtMs > this.#state.nowMs)
        fail(job, `was claimed at ${this.#state.nowMs}, before it was due`);
      if (shadow.status === 'failed' && (shadow.notBeforeMs ?? Number.NEGATIVE_INFINITY) > this.#state.nowMs)
        fail(job, 'was claimed before its Retry-After');
    }
    if (shadow.leasedBy !== null && job.leasedBy !== null && job.leaseEpoch !== shadow.leaseEpoch) {
      fail(job, `was leased to ${job.leasedBy} while ${shadow.leasedBy} had it`);
    }
    if (shadow.leasedBy !== null && job.leasedBy === null && !endsLease.has(kind))
      fail(job, `lost its lease by ${kind}`);
  }

  /** Of all living processes, stopped or cut off, at most one slice of a job can write: the holder's. */
  #checkHolders(): void {
    for (const process of this.#processes()) {
      for (const { lease } of process.slices) {
        const job = this.#state.jobById.get(lease.jobId);
        if (job && isHeld(job, lease) && job.leasedBy !== process.id) {
          fail(job, `can be written by ${process.id} while ${job.leasedBy} has it`);
        }
      }
    }
  }

  #checkWrites(job: JobState, shadow: Shadow, { kind, lease }: Happening): void {
    if (kind === 'settle' || kind === 'save') {
      if (lease?.jobId !== job.jobId) fail(job, `was changed by the ${kind} of another job`);
      if (!lease || !isHeld(shadow, lease) || shadow.leasedBy !== lease.leasedBy) {
        fail(
          job,
          `took a late write of epoch ${lease?.leaseEpoch}, at epoch ${shadow.leaseEpoch}, ${shadow.status}`,
        );
      }
    }
    const steps = job.step - shadow.step;
    const effects = job.effects.length - shadow.effects;
    if (steps !== effects || steps < 0 || steps > 1)
      fail(job, `went from step ${shadow.step} to ${job.step}`);
    if (steps > 0 && kind !== 'settle' && kind !== 'save') fail(job, `made progress by ${kind}`);
    if (steps > 0 && job.effects.at(-1) !== job.step)
      fail(job, `applied step ${job.effects.at(-1)} as ${job.step}`);
    if (job.counter !== job.step || job.effects.length !== job.step)
      fail(job, 'has counters that do not add up');
  }

  #checkRescue(job: JobState, shadow: Shadow): void {
    // Only taken back strikes or another job's rescue can leave it as it was.
    if (shadow.leasedBy === null) fail(job, 'was rescued without a lease');
    const holder = this.#processes().find(({ id }) => id === shadow.leasedBy);
    const isExpired = (shadow.leaseExpiresAtMs ?? Number.POSITIVE_INFINITY) < this.#state.nowMs;
    const isGone = !holder || (holder.guardedBy === 'lock' && !holder.isPresent);
    if (!isExpired && !isGone)
      fail(job, `was taken from ${shadow.leasedBy}, who was there and had time left`);
    const heartbeatAtMs =
      this.#state.workers.get(shadow.leasedBy ?? '')?.heartbeatAtMs ?? Number.NEGATIVE_INFINITY;
    const isSilent = holder?.guardedBy === 'expiry' && heartbeatAtMs < this.#state.nowMs - leaseMs;
    if (job.struckBy.length > shadow.strikes && !isGone && !isSilent) {
      fail(job, `was struck for ${shadow.leasedBy}, who was there`);
    }
    if (job.status === 'dead_letter') this.#checkPoison(job);
  }

  /** A job is poison when that many processes died with it; a living process does not count, and none counts twice. */
  #checkPoison(job: JobState): void {
    const { struckBy } = job;
    if (new Set(struckBy).size < this.#maxStrikes) fail(job, `was given up for ${struckBy.join(', ')} alone`);
    const present = this.#processes().find(
      (process) => struckBy.includes(process.id) && this.#isThere(process),
    );
    if (present) fail(job, `was given up for the death of ${present.id}, which is there`);
  }

  /**
   * Lives, has its guard, and was heard of lately. A worker without a lock that was found silent has not been heard of
   * since, even if its last heartbeat looks recent because the clock was set back.
   */
  #isThere({ id, guardedBy, isPresent }: ProcessTruth): boolean {
    const worker = this.#state.workers.get(id);
    if (!isPresent || !worker || (guardedBy === 'expiry' && worker.lostAtMs !== null)) return false;
    return worker.heartbeatAtMs >= this.#state.nowMs - leaseMs;
  }
}

const policyOfClass = new Map(
  [syncRetries, unexpectedRetries].flatMap((policies) => Object.entries(policies)),
);

function checkRetry(job: JobState, shadow: Shadow, { kind, outcome }: Happening): void {
  if (job.retryCount === shadow.retryCount) return;
  if (kind !== 'settle' || outcome?.type !== 'retry') fail(job, `used an attempt by ${kind}`);
  const policy = policyOfClass.get(outcome.failure.class);
  if (!policy || job.retryCount > policy.maxRetries) {
    fail(job, `is at retry ${job.retryCount}; ${outcome.failure.class} allows ${policy?.maxRetries}`);
  }
  if (job.retryCount !== shadow.retryCount + 1) fail(job, 'used more than one attempt at once');
}

/** Every move leaves exactly its own events behind. */
function checkEvents(job: JobState, shadow: Shadow, happening: Happening): void {
  const added = job.events.slice(shadow.events).join(' ');
  const expected = eventsOf(job, shadow, happening);
  if (added !== expected) fail(job, `left the events "${added}" behind, not "${expected}"`);
}

function eventsOf(job: JobState, shadow: Shadow, { kind, outcome }: Happening): string {
  switch (kind) {
    case 'claim':
      return shadow.status === 'queued' || shadow.status === 'failed' ? 'job.started' : '';
    case 'settle':
      if (shadow.status === 'canceled') return '';
      return {
        continue: '',
        wait: '',
        done: 'job.completed',
        retry: 'job.failed job.retry',
        dead: 'job.dead_lettered',
      }[outcome?.type ?? 'continue'];
    case 'rescue':
      return job.status === 'dead_letter' ? 'job.dead_lettered' : 'job.rescued';
    case 'dispatch':
      return 'job.retry';
    case 'pause':
    case 'resume':
      return `job.${kind}d`;
    case 'cancel':
      return 'job.canceled';
    default:
      return '';
  }
}

function fail(job: JobState, what: string): never {
  throw new Violation(`${job.jobId} (${job.status}, epoch ${job.leaseEpoch}) ${what}`);
}

function isActive({ status, cleanupOpen }: Pick<JobState, 'status' | 'cleanupOpen'>): boolean {
  return status === 'queued' || status === 'running' || status === 'paused' || cleanupOpen;
}

export function isEnded({ status, cleanupOpen }: Pick<JobState, 'status' | 'cleanupOpen'>): boolean {
  return status === 'success' || status === 'dead_letter' || (status === 'canceled' && !cleanupOpen);
}

/** Whether a write with this lease may take effect on the job now. */
function isHeld(
  {
    status,
    cleanupOpen,
    leaseEpoch,
    leasedBy,
  }: Pick<JobState, 'status' | 'cleanupOpen' | 'leaseEpoch' | 'leasedBy'>,
  lease: Lease,
): boolean {
  const takesWrites = status === 'running' || status === 'paused' || (status === 'canceled' && cleanupOpen);
  return leaseEpoch === lease.leaseEpoch && leasedBy !== null && takesWrites;
}

function differs(job: JobState, shadow: Shadow): boolean {
  return (
    job.status !== shadow.status ||
    job.leaseEpoch !== shadow.leaseEpoch ||
    job.leasedBy !== shadow.leasedBy ||
    job.retryCount !== shadow.retryCount ||
    job.cleanupOpen !== shadow.cleanupOpen ||
    job.step !== shadow.step ||
    job.effects.length !== shadow.effects ||
    job.events.length !== shadow.events ||
    job.struckBy.length > shadow.strikes
  );
}

function shadowOf(job: JobState): Shadow {
  const {
    status,
    leaseEpoch,
    leasedBy,
    leaseExpiresAtMs,
    runAtMs,
    notBeforeMs,
    retryCount,
    cleanupOpen,
    step,
  } = job;
  return {
    status,
    leaseEpoch,
    leasedBy,
    leaseExpiresAtMs,
    runAtMs,
    notBeforeMs,
    retryCount,
    cleanupOpen,
    strikes: job.struckBy.length,
    step,
    effects: job.effects.length,
    events: job.events.length,
  };
}
