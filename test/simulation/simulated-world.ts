import type { Lease } from '../../src/kernel/jobs/types.ts';
import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import { type Happening, type HappeningKind, type ProcessTruth, Violation } from './happening.ts';
import { Invariants } from './invariants.ts';
import type { Breakage } from './simulated-state.ts';
import { SimulatedStore } from './simulated-store.ts';
import { Trace } from './trace.ts';

/** Also the report of a run: how often each thing happened. */
export type Tally = Map<string, number>;

export const maxStrikes = 3;

/** A request that the network still holds: its sender has stopped waiting for the response. */
interface LateRequest {
  happening: Happening;
  run: () => unknown;
}

/**
 * The store, the clocks and the wires between the processes and the store. Everything that happens goes through `act`,
 * which writes it down and checks the rules.
 */
export class SimulatedWorld {
  readonly random: SeededRandom;
  readonly store: SimulatedStore;
  readonly trace = new Trace();
  readonly tally: Tally = new Map();
  readonly invariants: Invariants;
  readonly lateRequests: LateRequest[] = [];
  /** What every process's monotonic clock shows; the store's clock may be set, this one cannot. */
  monotonicMs = 0;
  /** How often the store has been set to another time: what a lease was worth is unknown then. */
  clockJumps = 0;
  /** The share of requests that get no response. */
  lossRate = 0;

  constructor({
    seed,
    breakage,
    processes,
  }: {
    seed: number;
    breakage: Breakage | undefined;
    processes: () => readonly ProcessTruth[];
  }) {
    this.random = seededRandom(seed);
    this.store = new SimulatedStore({ breakage, lingers: seed % 2 === 0 });
    this.invariants = new Invariants(this.store.state, {
      processes,
      maxStrikes,
    });
  }

  act<T>(happening: Happening, run: () => T): T {
    this.invariants.before(happening);
    const answer = run();
    const { kind, who, what } = happening;
    this.trace.add(`${this.store.state.nowMs} ${who} ${kind} ${what}${told(answer)}`);
    this.#add(kind);
    if (isRefusal(answer)) this.#add(`${kind}: refused`);
    this.invariants.after(happening, answer);
    return answer;
  }

  /** A request over the network. Null: no response came; it may have taken effect, or still may. */
  call<T>(happening: Happening, run: () => T): { answer: T } | null {
    if (this.random.next() >= this.lossRate) return { answer: this.act(happening, run) };
    const fate = this.random.below(3);
    if (fate === 0) this.note('fault', happening.who, `the ${happening.kind} was lost`);
    else if (fate === 1) {
      this.act({ ...happening, what: `${happening.what} (answer lost)` }, run);
      this.#add(`${happening.kind}: answer lost`);
    } else {
      this.note('fault', happening.who, `the ${happening.kind} is late`);
      this.lateRequests.push({ happening, run });
    }
    return null;
  }

  /** What the store has no part in. */
  note(kind: HappeningKind, who: string, what: string): void {
    this.act({ kind, who, what }, () => undefined);
  }

  deliver(): void {
    const [late] = this.lateRequests.splice(this.random.below(this.lateRequests.length), 1);
    if (!late) return;
    this.#add(`${late.happening.kind}: late`);
    this.act({ ...late.happening, what: `${late.happening.what} (late)` }, late.run);
  }

  passTime(ms: number): void {
    this.monotonicMs += ms;
    this.act({ kind: 'time', who: 'time', what: `+${ms}` }, () => this.store.turnClock(ms));
  }

  setClock(byMs: number): void {
    this.clockJumps += 1;
    this.#add('clock set');
    this.act({ kind: 'time', who: 'clock', what: `set by ${byMs}` }, () => this.store.turnClock(byMs));
  }

  /**
   * A call outside cannot be undone, so it must not happen when the lease has simply run out. What no check can
   * foresee is excused: a cancel, a cut guard connection, a clock that was set.
   */
  checkOutsideCall(process: ProcessTruth, { lease, clockJumps }: { lease: Lease; clockJumps: number }): void {
    const { jobById, nowMs } = this.store.state;
    const job = jobById.get(lease.jobId);
    if (!job || !process.isPresent || clockJumps !== this.clockJumps || job.status === 'canceled') return;
    const isOurs = job.leaseEpoch === lease.leaseEpoch && job.leasedBy === process.id;
    if (!isOurs || (job.leaseExpiresAtMs ?? 0) < nowMs) {
      throw new Violation(`${process.id} called outside for ${lease.jobId} without a live lease`);
    }
  }

  tick(what: string): void {
    this.#add(what);
  }

  #add(key: string): void {
    this.tally.set(key, (this.tally.get(key) ?? 0) + 1);
  }
}

function isRefusal(answer: unknown): boolean {
  return answer === null || answer === false || (typeof answer === 'object' && 'refused' in answer);
}

/** A short form of a response; written for every event, so without JSON. */
function told(answer: unknown): string {
  if (answer === undefined) return '';
  if (Array.isArray(answer))
    return ` -> [${answer.map(({ jobId, leaseEpoch }) => `${jobId}/${leaseEpoch}`).join(' ')}]`;
  if (typeof answer !== 'object' || answer === null) return ` -> ${String(answer)}`;
  if ('jobs' in answer)
    return ` -> ${(answer.jobs as { jobId: string }[]).map(({ jobId }) => jobId).join(' ')}`;
  return ` -> ${Object.values(answer).join(' ')}`;
}
