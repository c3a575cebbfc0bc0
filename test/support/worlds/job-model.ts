import { isLegal, type Move, type Transition, transitions } from '../../../src/kernel/jobs/transitions.ts';
import { type JobStatus, jobStatuses, type Outcome } from '../../../src/kernel/jobs/types.ts';

/**
 * What the kernel should do, in memory and without a database: the documents' rules once more, as short as they can
 * be said. Rows are compared with it field by field.
 */
export interface ModelJob {
  jobId: string;
  subject: string;
  status: JobStatus;
  epoch: number;
  leasedBy: string | null;
  expired: boolean;
  started: boolean;
  finished: boolean;
  due: boolean;
  retryWaiting: boolean;
  /** The retry must not be brought forward. */
  notBefore: boolean;
  retries: number;
  strikes: string[];
  cleanupOpen: boolean;
  requeuedFrom: string | null;
  errorCode: string | null;
  checkpoint: number | null;
  effects: number[];
  events: string[];
}

export interface ModelWorker {
  id: string;
  registered: boolean;
  locked: boolean;
  lost: boolean;
}

export interface ModelLease {
  jobId: string;
  epoch: number;
  workerId: string;
}

export const maxStrikes = 3;

/** The move that an outcome is, unless the job was canceled. */
const moveOf: Record<Outcome['type'], Move> = {
  continue: 'continue',
  wait: 'wait',
  done: 'finish',
  retry: 'retry',
  dead: 'give_up',
};

export class Model {
  readonly jobs: ModelJob[] = [];
  readonly workers: ModelWorker[] = [];
  steps = 0;
  readonly #coverage: Coverage;

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
  }

  get(jobId: string): ModelJob {
    const job = this.jobs.find((candidate) => candidate.jobId === jobId);
    if (!job) throw new Error(`The model has no job ${jobId}`);
    return job;
  }

  activeOf(subject: string, except?: ModelJob): ModelJob | undefined {
    return this.jobs.find((job) => job.subject === subject && job !== except && isActive(job));
  }

  waitingRetryOf(subject: string): ModelJob | undefined {
    const waiting = this.jobs.filter((job) => job.subject === subject && job.status === 'failed');
    return waiting.sort((a, b) => (a.jobId < b.jobId ? -1 : 1))[0];
  }

  /** The code of the refusal, or null when a new job is made or a retry brought forward. */
  refuseDispatch(subject: string): string | null {
    const active = this.activeOf(subject);
    if (!active) return null;
    return active.cleanupOpen ? 'cleanup_in_progress' : 'job_already_active';
  }

  add(jobId: string, subject: string, requeuedFrom: string | null = null): void {
    this.jobs.push({
      jobId,
      subject,
      status: 'queued',
      epoch: 0,
      leasedBy: null,
      expired: false,
      started: false,
      finished: false,
      due: true,
      retryWaiting: false,
      notBefore: false,
      retries: 0,
      strikes: [],
      cleanupOpen: false,
      requeuedFrom,
      errorCode: null,
      checkpoint: null,
      effects: [],
      events: requeuedFrom ? ['job.queued', 'job.requeued'] : ['job.queued'],
    });
    this.jobs.sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
  }

  bringForward(job: ModelJob): void {
    if (!job.notBefore) job.due = true;
    job.events.push('job.retry');
  }

  isClaimable(job: ModelJob, struck: boolean): boolean {
    const isOpen = ['queued', 'running', 'failed'].includes(job.status) || job.cleanupOpen;
    const mayStart =
      job.status !== 'failed' || (!this.activeOf(job.subject) && this.waitingRetryOf(job.subject) === job);
    return isOpen && mayStart && job.leasedBy === null && job.due && job.strikes.length > 0 === struck;
  }

  claim(job: ModelJob, workerId: string): void {
    if (job.status === 'queued' || job.status === 'failed') job.events.push('job.started');
    this.#move('claim', job, job.status === 'canceled' ? 'canceled' : 'running');
    Object.assign(job, {
      started: true,
      retryWaiting: false,
      notBefore: false,
      leasedBy: workerId,
      expired: false,
    });
    job.epoch += 1;
  }

  isHeld({ jobId, epoch }: ModelLease): boolean {
    const { status, cleanupOpen, leasedBy, ...job } = this.get(jobId);
    return (
      job.epoch === epoch && leasedBy !== null && (['running', 'paused'].includes(status) || cleanupOpen)
    );
  }

  settle(job: ModelJob, outcome: Outcome): void {
    const wasCanceled = job.status === 'canceled';
    const move = wasCanceled ? 'clean_up' : moveOf[outcome.type];
    this.#move(move, job, wasCanceled ? 'canceled' : settledStatus(job.status, outcome));
    this.#giveBack(job);
    job.strikes = [];
    job.due = !('delayMs' in outcome) || outcome.delayMs === 0;
    job.retryWaiting = outcome.type === 'retry';
    job.notBefore = outcome.type === 'retry' && outcome.notBefore === true;
    if (outcome.type === 'retry') job.retries += 1;
    if (wasCanceled) {
      job.cleanupOpen = outcome.type !== 'done';
      return;
    }
    if (outcome.type === 'retry' || outcome.type === 'dead') job.errorCode = outcome.failure.code;
    if (outcome.type === 'done') job.errorCode = null;
    job.finished = outcome.type === 'done' || outcome.type === 'dead';
    if (outcome.type === 'done') job.events.push('job.completed');
    if (outcome.type === 'retry') job.events.push('job.failed', 'job.retry');
    if (outcome.type === 'dead') job.events.push('job.dead_lettered');
  }

  refuseSettle(job: ModelJob, outcome: Outcome): void {
    this.#coverage.refused(moveOf[outcome.type], job.status);
    this.#coverage.refused('clean_up', job.status);
  }

  release({ jobId, epoch, workerId }: ModelLease): void {
    const job = this.get(jobId);
    if (job.epoch === epoch && job.leasedBy === workerId) this.#giveBack(job);
  }

  /** The code of the refusal, or null when the move was made. */
  control(move: 'pause' | 'resume' | 'cancel', job: ModelJob): string | null {
    if (!isLegal(move, job.status)) {
      this.#coverage.refused(move, job.status);
      return 'illegal_transition';
    }
    const becomesActive = move === 'pause' || (move === 'cancel' && job.started);
    if (becomesActive && !isActive(job) && this.activeOf(job.subject, job)) {
      return this.refuseDispatch(job.subject);
    }
    if (move === 'pause') this.#move(move, job, 'paused');
    if (move === 'resume') this.#move(move, job, resumedStatus(job));
    if (move === 'cancel') this.#cancel(job);
    job.events.push({ pause: 'job.paused', resume: 'job.resumed', cancel: 'job.canceled' }[move]);
    return null;
  }

  refuseRequeue(job: ModelJob): string | null {
    if (job.status !== 'dead_letter') return 'not_a_dead_letter';
    if (this.jobs.some(({ requeuedFrom }) => requeuedFrom === job.jobId)) return 'already_requeued';
    return this.refuseDispatch(job.subject);
  }

  /** Returns the leases of lost workers and those that have expired. */
  rescue(): { jobId: string; cause: 'lock' | 'expiry'; struck: boolean }[] {
    for (const worker of this.workers) if (worker.registered && !worker.locked) worker.lost = true;
    return this.jobs.flatMap((job) => {
      const worker = this.workers.find(({ id, registered }) => registered && id === job.leasedBy);
      const isLost = worker?.lost === true;
      if (job.leasedBy === null || !(job.expired || isLost)) {
        if (job.leasedBy === null) this.#coverage.refused('rescue', job.status);
        return [];
      }
      const struck = !worker || isLost;
      if (struck) job.strikes.push(job.leasedBy);
      const isPoison = struck && job.status === 'running' && job.strikes.length >= maxStrikes;
      this.#move('rescue', job, isPoison ? 'dead_letter' : job.status);
      if (isPoison) Object.assign(job, { errorCode: 'worker_crashed', finished: true });
      job.events.push(isPoison ? 'job.dead_lettered' : 'job.rescued');
      this.#giveBack(job);
      job.epoch += 1;
      job.due = true;
      return [{ jobId: job.jobId, cause: isLost ? ('lock' as const) : ('expiry' as const), struck }];
    });
  }

  refuseClaim(job: ModelJob): void {
    this.#coverage.refused('claim', job.status);
  }

  #cancel(job: ModelJob): void {
    this.#move('cancel', job, 'canceled');
    this.#giveBack(job);
    job.cleanupOpen = job.started;
    job.epoch += 1;
    Object.assign(job, { due: true, retryWaiting: false, errorCode: 'canceled', finished: true });
  }

  #giveBack(job: ModelJob): void {
    job.leasedBy = null;
    job.expired = false;
  }

  #move(move: Move, job: ModelJob, to: JobStatus): void {
    this.#coverage.made({ move, from: job.status, to });
    job.status = to;
  }
}

/** A move of shared jobs, which are never leased: the house of items tests it. */
const sharedOnly: Move = 'reopen';

/** Which legal moves were made and which illegal ones were tried, over all sequences of a run. */
export class Coverage {
  readonly #made = new Map<string, number>();
  readonly #refused = new Set<string>();

  made({ move, from, to }: Pick<Transition, 'move' | 'from' | 'to'>): void {
    const key = `${move}: ${from} -> ${to}`;
    this.#made.set(key, (this.#made.get(key) ?? 0) + 1);
  }

  refused(move: Move, from: JobStatus): void {
    this.#refused.add(`${move}: ${from}`);
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#made;
  }

  get missedLegal(): string[] {
    return transitions
      .filter(({ move }) => move !== sharedOnly)
      .map(({ move, from, to }) => `${move}: ${from} -> ${to}`)
      .filter((key) => !this.#made.has(key));
  }

  get missedIllegal(): string[] {
    const moves = [...new Set(transitions.map(({ move }) => move))].filter((move) => move !== sharedOnly);
    const pairs = moves.flatMap((move) => jobStatuses.map((from) => ({ move, from })));
    return pairs
      .filter(({ move, from }) => !isLegal(move, from) && !isUnsayable(move, from))
      .map(({ move, from }) => `${move}: ${from}`)
      .filter((key) => !this.#refused.has(key));
  }
}

/** Settling a canceled job is called clean_up; for a running job the same request is another move. */
function isUnsayable(move: Move, from: JobStatus): boolean {
  return move === 'clean_up' && (from === 'running' || from === 'paused');
}

function isActive({ status, cleanupOpen }: ModelJob): boolean {
  return ['queued', 'running', 'paused'].includes(status) || cleanupOpen;
}

function settledStatus(status: JobStatus, outcome: Outcome): JobStatus {
  if (outcome.type === 'done') return 'success';
  if (outcome.type === 'dead') return 'dead_letter';
  if (status === 'paused') return 'paused';
  return outcome.type === 'retry' ? 'failed' : 'running';
}

function resumedStatus(job: ModelJob): JobStatus {
  if (job.retryWaiting && job.leasedBy === null) return 'failed';
  return job.started ? 'running' : 'queued';
}

export function pick<T>(list: readonly T[], n: number): T | undefined {
  return list[n % Math.max(list.length, 1)];
}

/** Mostly a job for which the command has an effect, seldom any job. */
export function pickJob(
  model: Model,
  n: number,
  isFit: (job: ModelJob) => boolean = ({ finished }) => !finished,
): ModelJob | undefined {
  const fit = model.jobs.filter(isFit);
  return pick(n % 5 === 0 || fit.length === 0 ? model.jobs : fit, n);
}
