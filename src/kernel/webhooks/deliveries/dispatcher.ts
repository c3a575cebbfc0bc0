import type { Logger } from '../../../lib/log.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { Bell } from '../../../lib/timing/bell.ts';
import { finishedWithin } from '../../../lib/timing/closing.ts';
import { jittered } from '../../../lib/timing/repeat.ts';
import type { Office } from '../../elections/office.ts';
import type { WakeUp } from '../../jobs/wake-up.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { DueDelivery, Lease } from '../types.ts';
import { listDue } from './due.ts';
import { fanOutOnce } from './fan-out.ts';
import { enabledStatement, leaseLanes, lockDueEndpoints } from './lane-store.ts';
import { type SenderDeps, sendDelivery } from './sender.ts';
import { returnLane, settleDelivery } from './settlement.ts';

export interface DispatcherOptions extends Omit<SenderDeps, 'nowMs'> {
  db: Database;
  wake: WakeUp;
  logger: Logger;
  metrics: WebhookMetrics;
  /** How many this process sends at a time. */
  concurrency: number;
  /** How often to poll when nothing wakes us. */
  pollMs?: number;
  batchSize?: number;
}

/** How many are sent to one endpoint at a time, over all processes. */
const perEndpoint = 8;
/** An endpoint with so many failures in a row is tried with one delivery at a time. */
const failingAfter = 5;
const fanOutsPerRound = 20;
/** Many more than needed: endpoints with as much in flight as they may have must not block the others. */
const endpointsPerRound = 100;
const firstLookAgainMs = 50;
const leaseMarginMs = 5_000;
const gatherMs = 20;
/** All helpers together look about this often. */
const helperSpacingMs = 200;

/**
 * Writes deliveries for new events and sends what is due. Every worker has one. It leases a lane, sends the lane's
 * first delivery outside of any transaction, and gives the lane back. If the process dies, the lease expires.
 *
 * Only the elected one hears of events, writes deliveries and looks often. The others look now and then, less often the
 * more they are, and help as long as they find something due: what one process can send is not all that is sent.
 */
export class WebhookDispatcher {
  readonly #options: DispatcherOptions & { pollMs: number };
  readonly #leaseMs: number;
  readonly #bell = new Bell();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #aborting = new AbortController();
  #running: Promise<void> | undefined;
  #isStopping = false;
  #deafen = () => {};
  #ringing: NodeJS.Timeout | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = { pollMs: 1_000, ...options };
    // Long enough that a try which begins in its first half cannot outlive it.
    this.#leaseMs = 2 * options.timeoutMs + leaseMarginMs;
  }

  /** The holder of the office writes deliveries for new events. */
  start(office: Office): void {
    this.#deafen = office.whileHeld(() => {
      this.#bell.ring();
      return this.#options.wake.on('events', () => this.#ringSoon());
    });
    this.#running = this.#loop(office);
  }

  /** Waits for requests in flight within the grace period; those that are cut off count as not tried. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#deafen();
    if (this.#ringing) clearTimeout(this.#ringing);
    this.#bell.ring();
    await this.#running;
    const isDone = await finishedWithin(Promise.all(this.#inFlight), graceMs);
    if (!isDone) this.#aborting.abort(new Error('The process is stopping'));
    await Promise.all(this.#inFlight);
  }

  /** Sends all that is due now, for a process that runs only for a while. */
  async drain(budgetMs: number): Promise<void> {
    const deadline = performance.now() + budgetMs;
    while (performance.now() < deadline && !this.#isStopping) {
      const isBusy = await this.#round({ fanOut: true });
      await Promise.all(this.#inFlight);
      if (!isBusy) return;
    }
  }

  async #loop(office: Office): Promise<void> {
    const { pollMs } = this.#options;
    let waitMs = firstLookAgainMs;
    let isFailing = false;
    while (!this.#isStopping) {
      let isBusy = false;
      try {
        isBusy = await this.#round({ fanOut: office.isHeld });
        isFailing = false;
      } catch (error) {
        // Logged once and not every second: while the database is away, webhooks only wait.
        if (!isFailing) this.#options.logger.warn({ err: error }, 'webhooks wait');
        isFailing = true;
      }
      if (isBusy && this.#inFlight.size < this.#options.concurrency) continue;
      const helperMs = jittered(Math.max(pollMs, office.candidates * helperSpacingMs));
      const wasWoken = await this.#bell.wait(office.isHeld ? waitMs : helperMs);
      // An older transaction may hold back what woke us for a moment: poll again soon, then less often.
      waitMs = wasWoken && !isFailing ? firstLookAgainMs : Math.min(waitMs * 2, pollMs);
    }
  }

  /** Events come in bursts: one look for all that come within a moment. */
  #ringSoon(): void {
    this.#ringing ??= setTimeout(() => {
      this.#ringing = null;
      this.#bell.ring();
    }, gatherMs);
  }

  /** Returns whether there was anything to do. */
  async #round({ fanOut }: { fanOut: boolean }): Promise<boolean> {
    const { db, batchSize, concurrency } = this.#options;
    // Most installations have none, and a look at the log costs more than this.
    if (!(await hasEndpoints(db))) return false;
    let steps = 0;
    while (fanOut && steps < fanOutsPerRound && (await fanOutOnce(db, batchSize ? { batchSize } : {})))
      steps += 1;
    const room = concurrency - this.#inFlight.size;
    if (room <= 0) return false;
    const leasedAtMs = performance.now();
    const { due, empty } = await this.#lease(room);
    for (const delivery of due) this.#launch(delivery, leasedAtMs);
    for (const lease of empty) await returnLane(db, lease);
    return steps > 0 || due.length > 0;
  }

  #lease(limit: number): Promise<{ due: DueDelivery[]; empty: Lease[] }> {
    return this.#options.db.kernel(async (tx) => {
      const endpoints = await lockDueEndpoints(tx, { limit: endpointsPerRound });
      if (endpoints.length === 0) return { due: [], empty: [] };
      const leaseMs = this.#leaseMs;
      const leases = await leaseLanes(tx, { endpoints, limit, perEndpoint, failingAfter, leaseMs });
      const due = await listDue(tx, leases);
      const tokens = new Set(due.map(({ token }) => token));
      return { due, empty: leases.filter(({ token }) => !tokens.has(token)) };
    });
  }

  #launch(due: DueDelivery, leasedAtMs: number): void {
    const work = this.#deliver(due, leasedAtMs)
      .catch((error: unknown) => {
        const { deliveryId: delivery_id, tenantId: tenant_id } = due;
        this.#options.logger.warn({ err: error, delivery_id, tenant_id }, 'a webhook is tried again later');
      })
      .finally(() => {
        this.#inFlight.delete(work);
        this.#bell.ring();
      });
    this.#inFlight.add(work);
  }

  async #deliver(due: DueDelivery, leasedAtMs: number): Promise<void> {
    const { db, metrics } = this.#options;
    // A process that was stopped meanwhile may have lost the lane: it must not send what another process sends.
    if (performance.now() - leasedAtMs > this.#leaseMs / 2) return;
    const sender = { ...this.#options, nowMs: Date.now };
    const { signal } = this.#aborting;
    try {
      const outcome = await sendDelivery(sender, due, signal);
      const isOurs = await settleDelivery(this.#options, due, outcome);
      metrics.deliveries.inc({ outcome: isOurs ? outcome.type : 'superseded' });
      if (isOurs && outcome.type === 'delivered' && due.event) {
        metrics.lag.observe(Math.max(0, Date.now() - due.event.occurredAt.getTime()) / 1000);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      await returnLane(db, due);
    }
  }
}

async function hasEndpoints(db: Database): Promise<boolean> {
  const [found] = await db.statement<{ isThere: boolean }>({ role: 'sluice_kernel' }, enabledStatement());
  return found?.isThere ?? false;
}
