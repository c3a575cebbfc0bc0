import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { findPassword, ownerRole } from './cluster.ts';
import { type Joined, type JoinRequest, joinServer } from './join.ts';
import { findLayout, type Layout, socketPort } from './layout.ts';
import { leaveServer, type Member } from './member.ts';

export interface EmbeddedPostgresOptions {
  /** Absolute; made when it is missing. */
  dataDir: string;
  /** Where the server's programs are copied when its user cannot reach them in node_modules. */
  cacheDir?: string;
  /** Made when it is missing. Default: sluice. */
  database?: string;
  /** More settings for PostgreSQL; those of the process that starts the server count. */
  settings?: Record<string, string>;
  /** Sentences for a person. */
  onNotice?: (text: string) => void;
}

export interface EmbeddedPostgres {
  /** The owner's login; the host is the percent-encoded socket directory. Stays the same for the data directory. */
  readonly ownerUrl: string;
  /** Where PGDATA really is. */
  readonly postgresDir: string;
  /** The server's; another one after it had to be brought up again. */
  readonly pid: number;
  /** False when a running server was joined. */
  readonly startedByUs: boolean;
  /** Give up membership; the last process out stops the server. Close your other connections first. */
  leave(): Promise<void>;
}

/**
 * Join the PostgreSQL server of a data directory, and start it (and make it) when it does not run. Any number
 * of processes may do so at once. While one is a member, a server that dies is brought up again.
 */
export async function joinEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new Error(
      'The built-in database runs on Linux and macOS only. Set DATABASE_URL to a PostgreSQL 15 or newer.',
    );
  }
  const onNotice = options.onNotice ?? (() => undefined);
  const layout = await findLayout(options.dataDir, onNotice);
  const database = options.database ?? 'sluice';
  const request = {
    layout,
    database,
    settings: options.settings ?? {},
    cacheDir: options.cacheDir,
    onNotice,
    mayMake: true,
  };
  const joined = await joinServer(request);
  return new Membership(request, joined, await ownerUrl(layout, database));
}

/** By then a passing problem would be over: a person has to know. */
const toldAfterRecoveries = 10;
const firstPauseMs = 50;
const longestPauseMs = 5_000;
/** A server that stayed up this long did not die of the same cause as the last time. */
const stableMs = 60_000;

class Membership implements EmbeddedPostgres {
  readonly ownerUrl: string;
  readonly startedByUs: boolean;
  readonly #request: JoinRequest;
  readonly #leaving = new AbortController();
  #member: Member | null = null;
  #pid = 0;
  #joinedAt = 0;
  #recoveries = 0;
  #recovery: Promise<void> = Promise.resolve();
  #left: Promise<void> | null = null;

  constructor(request: JoinRequest, joined: Joined, url: string) {
    this.#request = request;
    this.ownerUrl = url;
    this.startedByUs = joined.startedByUs;
    this.#hold(joined.member);
  }

  get postgresDir(): string {
    return this.#request.layout.postgresDir;
  }

  get pid(): number {
    return this.#pid;
  }

  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async #leave(): Promise<void> {
    this.#leaving.abort();
    await this.#recovery;
    const member = this.#member;
    this.#member = null;
    if (member) await leaveServer(member, this.#request.layout);
  }

  #hold(member: Member): void {
    this.#member = member;
    this.#pid = member.pid;
    this.#joinedAt = Date.now();
    void member.ended.then(() => {
      if (this.#leaving.signal.aborted) return;
      this.#member = null;
      this.#recovery = this.#recover();
    });
  }

  /**
   * Never rejects: nothing waits for it, and a process must not end because its database did. It never gives up either:
   * a full disk is freed some day, and then Sluice should not need a restart.
   */
  async #recover(): Promise<void> {
    const { onNotice, layout } = this.#request;
    if (Date.now() - this.#joinedAt > stableMs) this.#recoveries = 0;
    while (!this.#leaving.signal.aborted) {
      await this.#pause(Math.min(longestPauseMs, firstPauseMs * 2 ** this.#recoveries));
      if (this.#leaving.signal.aborted) return;
      this.#recoveries += 1;
      try {
        const { member, startedByUs } = await joinServer({ ...this.#request, mayMake: false });
        if (startedByUs) onNotice(`The database in ${layout.postgresDir} had stopped; it was started again.`);
        this.#hold(member);
        return;
      } catch (error) {
        if (this.#recoveries === toldAfterRecoveries) onNotice(stillDown(layout, error));
      }
    }
  }

  async #pause(longestMs: number): Promise<void> {
    // Members that lost the same server need not all come at the same moment.
    const pauseMs = longestMs * (0.5 + Math.random() / 2);
    await delay(pauseMs, undefined, { signal: this.#leaving.signal }).catch(() => undefined);
  }
}

function stillDown({ postgresDir }: Layout, error: unknown): string {
  return (
    `The database in ${postgresDir} has stopped and cannot be started again: ${messageOf(error)}\n` +
    'Remove the cause; Sluice goes on trying every few seconds.'
  );
}

async function ownerUrl(layout: Layout, database: string): Promise<string> {
  const password = await findPassword(layout);
  const login = `${ownerRole}:${encodeURIComponent(password ?? '')}`;
  const host = encodeURIComponent(layout.socketDir);
  return `postgres://${login}@${host}:${socketPort}/${encodeURIComponent(database)}`;
}
