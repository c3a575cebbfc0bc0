import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { type GuardConnection, openGuardConnection } from '../../../lib/postgres/guard-connection.ts';
import { onceMore } from '../../../lib/timing/once-more.ts';
import { repeat } from '../../../lib/timing/repeat.ts';
import type { KernelParts } from '../kernel.ts';
import { wakeChannel } from '../wake-up.ts';
import { type Beat, beatStatement, deregisterWorker, registerWorker } from './worker-store.ts';

export type MembershipOptions = Pick<
  KernelParts,
  'db' | 'directUrl' | 'wake' | 'logger' | 'workerId' | 'concurrency' | 'heartbeatMs' | 'version'
>;

/** A process that is stopped or cut off inside one of these must not keep the workers' rows locked. */
const limits = { limitMs: 10_000, settings: { idle_in_transaction_session_timeout: '2000' } };

/** How PostgreSQL shows the sessions of this process (`application_name`); the rescue finds a stopped one's by it. */
export function sessionName(workerId: string): string {
  return `sluice ${workerId}`;
}

/**
 * This process as a worker. It holds an advisory lock on a connection of its own for as long as it lives: when the
 * process or the connection dies, PostgreSQL frees the lock at once, and others need not wait for leases to expire. The
 * same connection listens for wake-ups. A pooler allows neither; there, leases expire and workers poll.
 */
export class Membership {
  readonly workerId: string;
  readonly #options: MembershipOptions;
  readonly #lostListeners = new Set<() => void>();
  #guard: GuardConnection | null = null;
  #guardedBy: 'lock' | 'expiry' = 'expiry';
  #isMember = false;
  #works = true;
  #stopping = false;
  #stopBeating: () => void = () => {};
  #rejoining: Promise<void> | null = null;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.workerId = options.workerId;
  }

  get guardedBy(): 'lock' | 'expiry' {
    return this.#guardedBy;
  }

  /** False while the guard connection is down: no new work and no outside calls then. */
  get isMember(): boolean {
    return this.#isMember;
  }

  /** Called when the guard connection was lost: others may be taking our leases at this moment. */
  onLost(listener: () => void): void {
    this.#lostListeners.add(listener);
  }

  /** With `work` the process takes jobs by itself; without it holds leases only while it serves a kickoff. */
  async start({ work = true } = {}): Promise<void> {
    this.#works = work;
    await onceMore(() => this.#join());
    this.#stopBeating = repeat(
      () => this.#beat(),
      () => this.#options.heartbeatMs,
    );
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopBeating();
    await this.#rejoining;
    if (this.#isMember) {
      await this.#kernel((tx) => deregisterWorker(tx, this.workerId)).catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, 'the worker could not be signed off; others will notice'),
      );
    }
    this.#isMember = false;
    await this.#guard?.close();
  }

  async #join(): Promise<void> {
    const lockKey = randomBytes(8).readBigInt64BE().toString();
    const guard = await this.#openGuard(lockKey);
    this.#guardedBy = guard ? 'lock' : 'expiry';
    try {
      await this.#kernel((tx) =>
        registerWorker(tx, {
          workerId: this.workerId,
          name: `${hostname()}:${process.pid}`,
          guardedBy: this.#guardedBy,
          lockKey,
          concurrency: this.#options.concurrency,
          version: this.#options.version,
          isWorking: this.#works,
        }),
      );
    } catch (error) {
      await guard?.close();
      throw error;
    }
    this.#guard = guard;
    this.#isMember = true;
    // An abandoned connection may end after its successor has started: only the current one counts.
    guard?.onEnd(() => {
      if (this.#guard === guard) this.#lose('the guard connection ended');
    });
  }

  #kernel<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#options.db.transaction({ role: 'sluice_kernel', ...limits }, work);
  }

  #openGuard(lockKey: string): Promise<GuardConnection | null> {
    return openGuardConnection({
      url: this.#options.directUrl,
      lockKey,
      channel: wakeChannel,
      onNotification: (payload) => this.#options.wake.receive(payload),
      answerWithinMs: Math.max(1_000, this.#options.heartbeatMs * 2),
    });
  }

  async #beat(): Promise<void> {
    if (!this.#isMember) return;
    try {
      await this.#guard?.ping();
    } catch (error) {
      this.#lose(messageOf(error));
      return;
    }
    try {
      await this.#sayAlive();
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'the heartbeat has to wait');
    }
  }

  async #sayAlive(): Promise<void> {
    const context = { role: 'sluice_kernel', limitMs: limits.limitMs } as const;
    const [row] = await this.#options.db.statement<Beat>(context, beatStatement(this.workerId));
    if (!row) {
      this.#lose('the worker was removed from the list of workers');
      return;
    }
    this.#options.wake.setPlace(row);
    if (row.wasLost) {
      this.#options.logger.info({ worker_id: this.workerId }, 'other workers had declared this worker lost');
    }
  }

  #lose(reason: string): void {
    if (!this.#isMember || this.#stopping) return;
    this.#isMember = false;
    this.#options.logger.warn(
      { reason, worker_id: this.workerId },
      'guard connection lost; slices are dropped',
    );
    for (const listener of this.#lostListeners) listener();
    void this.#guard?.close();
    this.#guard = null;
    this.#rejoining = this.#rejoin();
  }

  /** Tries for ever: without the guard this process does no work, and the database may be away for hours. */
  async #rejoin(): Promise<void> {
    let delayMs = 50;
    while (!this.#stopping) {
      try {
        await this.#join();
        this.#options.logger.info({ worker_id: this.workerId }, 'guard connection is back');
        this.#options.wake.wakeLocally('jobs');
        return;
      } catch (error) {
        this.#options.logger.debug({ err: error }, 'guard connection not back yet');
        await sleep(delayMs);
        delayMs = Math.min(delayMs * 2, 2_000);
      }
    }
  }
}
