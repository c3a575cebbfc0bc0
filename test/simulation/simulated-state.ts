import { type Move, type Transition, transitions } from '../../src/kernel/jobs/transitions.ts';
import type { JobStatus, Outcome } from '../../src/kernel/jobs/types.ts';
import type { JobState, PipelineName, TenantLimits, WorkerState } from './job-store.ts';
import type { SimulatedLane } from './simulated-lanes.ts';

/** What can be broken on purpose to prove that the simulation notices. */
export type Breakage =
  | 'no epoch check'
  | 'no worker check'
  | 'rescue before expiry'
  | 'retry without limit'
  | 'turns by tenant id'
  | 'no tenant limit'
  | 'no active check'
  | 'rescue forgets the job'
  | 'retry after ignored'
  | 'settle without event';

export interface SimulatedTenant {
  tenantId: string;
  limits: TenantLimits;
  jobs: JobState[];
  lanes: Map<PipelineName, SimulatedLane>;
}

export interface SimulatedState {
  nowMs: number;
  readonly jobs: JobState[];
  readonly jobById: Map<string, JobState>;
  readonly tenants: Map<string, SimulatedTenant>;
  readonly workers: Map<string, WorkerState>;
  readonly locks: Set<string>;
  readonly breakage: Breakage | undefined;
  /** Lanes stay in line for as long as they may, and not as briefly. */
  readonly lingers: boolean;
}

export function isActive({ status, cleanupOpen }: JobState): boolean {
  return status === 'queued' || status === 'running' || status === 'paused' || cleanupOpen;
}

/** What a worker may take, apart from the time: the condition of the claimable index. */
export function isOpen({ status, cleanupOpen, leasedBy }: JobState): boolean {
  return (
    leasedBy === null && (status === 'queued' || status === 'running' || status === 'failed' || cleanupOpen)
  );
}

export function isSameSubject(a: JobState, b: Pick<JobState, 'pipeline' | 'subjectId'>): boolean {
  return a.subjectId === b.subjectId && a.pipeline === b.pipeline;
}

export function giveBack(job: JobState): void {
  job.leasedBy = null;
  job.leaseExpiresAtMs = null;
}

const legalMoves: ReadonlySet<string> = new Set(transitions.map(keyOfMove));

function keyOfMove({ move, from, to }: Pick<Transition, 'move' | 'from' | 'to'>): string {
  return `${move}: ${from} -> ${to}`;
}

/** Every change of a status goes through the kernel's own table of legal moves. */
export function moveJob(job: JobState, move: Move, to: JobStatus): void {
  const key = keyOfMove({ move, from: job.status, to });
  if (!legalMoves.has(key)) throw new Error(`${job.jobId}: "${key}" is not in the table of legal moves`);
  job.status = to;
}

/** The move that an outcome is, unless the job was canceled. */
const moveOfOutcome: Record<Outcome['type'], Move> = {
  continue: 'continue',
  wait: 'wait',
  done: 'finish',
  retry: 'retry',
  dead: 'give_up',
};

export function moveOf(status: JobStatus, outcome: Outcome['type']): Move {
  return status === 'canceled' ? 'clean_up' : moveOfOutcome[outcome];
}

const targets = new Map(transitions.map(({ move, from, to }) => [`${move} ${from}`, to]));

/** Where a slice that ends leads to is read from the kernel's table: each outcome has one target per status. */
export function settledStatus(status: JobStatus, outcome: Outcome['type']): JobStatus {
  const to = targets.get(`${moveOf(status, outcome)} ${status}`);
  if (to === undefined) throw new Error(`A slice of a ${status} job cannot end with ${outcome}`);
  return to;
}
