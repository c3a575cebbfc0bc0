import type { Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { readGauge } from '../../lib/metrics.ts';
import type { Database, TransactionContext } from '../../lib/postgres/db.ts';
import type { Sql } from '../../lib/postgres/sql.ts';
import { type Office, OfficeSeat } from './office.ts';
import {
  forgetStatement,
  resignStatement,
  type Standing,
  standStatement,
  withdrawStatement,
} from './store.ts';

export interface ElectionsOptions {
  db: Database;
  logger: Logger;
  registry: Registry;
  /** This process; a restarted one is another candidate. */
  candidate: string;
}

/** A holder that is gone is replaced when its term has expired and the next candidate looks: within about 0.8 s. */
const termMs = 600;
const renewMs = 200;
/** The time between two looks of all candidates together: ten a second, however many processes there are. */
const spacingMs = 100;
/** A candidate looks at least this often, or half a fleet that dies at once would leave a long gap. */
const longestLookMs = 30_000;
/** A term with less left was not renewed when it should have been: look again when it expires. */
const doubtfulMs = termMs - 1.5 * renewMs;
/** A missing answer counts as none: the connection is ended, the next beat takes another one. */
const answerWithinMs = 2_000;

/** Losing the last beats in a crash of the database costs a term, so no beat waits for the disk. */
const context: TransactionContext = {
  role: 'sluice_kernel',
  turn: 'elections',
  limitMs: answerWithinMs,
  settings: { synchronous_commit: 'off' },
};

/**
 * Decides by the database's clock which process holds which office. One statement renews the terms of all offices that
 * this process holds and tries for the others. Candidates take turns at looking: their rank and the database's clock
 * give each its moment.
 */
export class Elections {
  readonly #options: ElectionsOptions;
  readonly #seats = new Map<string, OfficeSeat>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #leaving: Promise<unknown> = Promise.resolve();
  #keepMs = 5_000;
  #state: 'idle' | 'standing' | 'stopped' = 'idle';

  constructor(options: ElectionsOptions) {
    this.#options = options;
    const help = 'Whether this process holds the office: 1 in one process of all';
    const { registry, logger } = options;
    readGauge(registry, { name: 'sluice_elected', help, labelNames: ['office'], logger }, async (gauge) => {
      for (const { name, isHeld } of this.#seats.values()) gauge.set({ office: name }, isHeld ? 1 : 0);
    });
  }

  /** This process stands for the office from now on, or from `start` on. */
  office(name: string): Office {
    const known = this.#seats.get(name);
    if (known) return known;
    const seat = new OfficeSeat(name, () => this.#leave(name));
    this.#seats.set(name, seat);
    if (this.#state === 'standing') this.#lookIn(0);
    return seat;
  }

  start(): void {
    this.#state = 'standing';
    this.#lookIn(0);
  }

  /** Ends the work of this process's offices and hands them over at once. */
  async stop(): Promise<void> {
    const wasStanding = this.#state === 'standing';
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    for (const seat of this.#seats.values()) seat.lose();
    await Promise.all([this.#looking, this.#leaving]);
    if (!wasStanding) return;
    await this.#resign([...this.#seats.keys()]);
    await this.#quietly(withdrawStatement(this.#options.candidate));
  }

  /** This process no longer does that work, and the others need not wait for its term to expire. */
  #leave(name: string): void {
    const wasHeld = this.#seats.get(name)?.isHeld === true;
    this.#seats.get(name)?.lose();
    this.#seats.delete(name);
    if (wasHeld) this.#leaving = Promise.all([this.#leaving, this.#resign([name])]);
  }

  #resign(offices: string[]): Promise<void> {
    return this.#quietly(resignStatement({ candidate: this.#options.candidate, offices }));
  }

  async #quietly(statement: Sql): Promise<void> {
    await this.#run(statement).catch((error: unknown) =>
      this.#options.logger.debug({ err: error }, 'an office expires instead of being handed over'),
    );
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, ms);
  }

  async #look(): Promise<void> {
    let nextMs = renewMs;
    try {
      if (this.#seats.size > 0) nextMs = await this.#stand();
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'an election has to wait');
    }
    if (this.#state === 'standing') this.#lookIn(nextMs);
  }

  /** Returns when to look again. */
  async #stand(): Promise<number> {
    const offices = [...this.#seats.keys()].sort();
    // The term counts from before the question, so it ends here before it ends in the database.
    const askedAtMs = performance.now();
    const stand = { candidate: this.#options.candidate, offices, termMs, keepMs: this.#keepMs };
    const [standing] = await this.#run<Standing>(standStatement(stand));
    if (!standing || this.#state === 'stopped') return renewMs;
    const isNew = this.#settle(standing, askedAtMs, offices);
    if (isNew) await this.#run(forgetStatement());
    const periodMs = Math.min(standing.candidates * spacingMs, longestLookMs);
    this.#keepMs = 5_000 + 3 * periodMs;
    const lookMs = Math.min(untilTurn(standing, periodMs), untilVacant(standing));
    if (standing.held.length === offices.length) return renewMs;
    return standing.held.length > 0 ? Math.min(renewMs, lookMs) : lookMs;
  }

  /** Returns whether an office is new to this process. */
  #settle({ held, candidates }: Standing, askedAtMs: number, offices: string[]): boolean {
    let isNew = false;
    for (const name of offices) {
      const seat = this.#seats.get(name);
      // Left while the question was under way; if it was won, it expires.
      if (!seat) continue;
      seat.candidates = candidates;
      if (!held.includes(name)) seat.lose();
      else {
        isNew ||= !seat.isHeld;
        seat.holdUntil(askedAtMs + termMs);
      }
    }
    return isNew;
  }

  #run<Row extends object>(statement: Sql): Promise<Row[]> {
    return this.#options.db.statement<Row>(context, statement);
  }
}

/** Every candidate has one moment in each period, all of them evenly spread. */
function untilTurn({ rank, candidates, nowMs }: Standing, periodMs: number): number {
  const momentMs = (rank / candidates) * periodMs;
  const sinceMs = (((nowMs - momentMs) % periodMs) + periodMs) % periodMs;
  const untilMs = periodMs - sinceMs;
  // A timer may fire a little early: the same moment does not count twice.
  return untilMs < periodMs / 2 ? untilMs + periodMs : untilMs;
}

/** When the holder has missed a renewal, its office may soon be free. */
function untilVacant({ leftMs }: Standing): number {
  return leftMs === null || leftMs > doubtfulMs ? Number.POSITIVE_INFINITY : Math.max(1, leftMs + 5);
}
