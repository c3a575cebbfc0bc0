import { repeat } from '../../../lib/timing/repeat.ts';
import { jobErrors } from '../errors.ts';
import type { KernelParts } from '../kernel.ts';
import type { Lease } from '../types.ts';
import { heldStatement, type RenewedLease, releaseMany, renewStatement } from './lease-store.ts';

export interface HeldLease extends Lease {
  readonly controller: AbortController;
  /** Monotonic; it keeps running while the process is suspended, so that a zombie sees how old its lease is. */
  renewedAtMs: number;
  paused: boolean;
}

export type LeaseKeeperOptions = Pick<KernelParts, 'db' | 'logger' | 'workerId' | 'leaseMs' | 'heartbeatMs'>;

/**
 * Renews the leases of this process, all in one statement, and aborts the slices whose lease is gone. A lease that
 * could not be given back (the database was away) is given back with a later beat.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Map<string, HeldLease>();
  #toRelease: Lease[] = [];
  #stopBeating: () => void = () => {};

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopBeating = repeat(
      () => this.beat(),
      () => this.#options.heartbeatMs,
    );
  }

  stop(): void {
    this.#stopBeating();
  }

  get size(): number {
    return this.#held.size;
  }

  /** `askedAtMs` is when the claim was sent: the lease runs from a moment after it, however late the answer is read. */
  hold(job: Lease, askedAtMs: number): HeldLease {
    const held: HeldLease = {
      tenantId: job.tenantId,
      jobId: job.jobId,
      leaseEpoch: job.leaseEpoch,
      leasedBy: job.leasedBy,
      controller: new AbortController(),
      renewedAtMs: askedAtMs,
      paused: false,
    };
    this.#held.set(keyOf(held), held);
    return held;
  }

  drop(held: HeldLease): void {
    this.#held.delete(keyOf(held));
  }

  /** Gives leases back, now or as soon as the database responds. */
  async release(...leases: HeldLease[]): Promise<void> {
    this.#toRelease.push(...leases);
    await this.#releasePending();
  }

  /** For slices that ignore their signal while the process ends. */
  async releaseAll(): Promise<void> {
    this.#toRelease.push(...this.#held.values());
    this.#held.clear();
    await this.#releasePending();
  }

  abortAll(reason: string): void {
    for (const held of this.#held.values()) held.controller.abort(lost(held, reason));
  }

  /** Throws unless the lease is surely ours: renewed a moment ago, or confirmed by the database now. */
  async assertHeld(held: HeldLease): Promise<void> {
    held.controller.signal.throwIfAborted();
    if (performance.now() - held.renewedAtMs < this.#options.leaseMs / 2) return;
    const askedAtMs = performance.now();
    await this.#renew([held]);
    held.controller.signal.throwIfAborted();
    // Its row is locked, perhaps by a rescuer.
    if (held.renewedAtMs < askedAtMs) throw lost(held, 'it could not be confirmed');
  }

  async beat(): Promise<void> {
    try {
      await this.#releasePending();
      await this.#renew([...this.#held.values()]);
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'leases could not be renewed');
      this.#abortStale();
    }
  }

  async #renew(leases: HeldLease[]): Promise<void> {
    if (leases.length === 0) return;
    const askedAtMs = performance.now();
    const { db, workerId, leaseMs } = this.#options;
    const context = { role: 'sluice_kernel', limitMs: leaseMs / 2 } as const;
    const renewed = await db.statement<RenewedLease>(context, renewStatement({ workerId, leases, leaseMs }));
    const statusOf = new Map(renewed.map((lease) => [keyOf(lease), lease.status]));
    for (const held of leases) {
      const status = statusOf.get(keyOf(held));
      if (status === undefined) continue;
      held.renewedAtMs = askedAtMs;
      held.paused = status === 'paused';
    }
    await this.#abortLost(leases.filter((held) => !statusOf.has(keyOf(held))));
  }

  /** A lease that was not renewed is lost, unless its row is locked by the slice itself, or by a rescuer just now. */
  async #abortLost(leases: HeldLease[]): Promise<void> {
    if (leases.length === 0) return;
    const { db, workerId, leaseMs } = this.#options;
    const context = { role: 'sluice_kernel', limitMs: leaseMs / 2 } as const;
    const ours = await db.statement<RenewedLease>(context, heldStatement({ workerId, leases }));
    const isOurs = new Set(ours.map(keyOf));
    for (const held of leases) {
      if (isOurs.has(keyOf(held)) || !this.#held.has(keyOf(held))) continue;
      held.controller.abort(lost(held, 'another worker has the job'));
    }
  }

  /** With the database away a lease ends by the clock: others will have taken it when it is back. */
  #abortStale(): void {
    for (const held of this.#held.values()) {
      if (performance.now() - held.renewedAtMs > this.#options.leaseMs) {
        held.controller.abort(lost(held, 'the lease could not be renewed in time'));
      }
    }
  }

  async #releasePending(): Promise<void> {
    if (this.#toRelease.length === 0) return;
    const leases = this.#toRelease;
    this.#toRelease = [];
    try {
      const { db, workerId, leaseMs } = this.#options;
      const context = { role: 'sluice_kernel', limitMs: leaseMs } as const;
      await db.transaction(context, (tx) => releaseMany(tx, workerId, leases));
    } catch (error) {
      // Bounded: what is older than this has expired by then.
      this.#toRelease = [...leases, ...this.#toRelease].slice(-1_000);
      this.#options.logger.debug({ err: error }, 'leases could not be given back yet');
    }
  }
}

function keyOf({ tenantId, jobId, leaseEpoch }: Omit<Lease, 'leasedBy'>): string {
  return `${jobId}/${leaseEpoch}/${tenantId}`;
}

function lost(lease: Lease, reason: string): Error {
  return jobErrors.raise.lease_lost(
    `The lease of job ${lease.jobId} (epoch ${lease.leaseEpoch}) is lost: ${reason}`,
  );
}
