import pg from 'pg';
import { Database } from '../../../src/lib/postgres/db.ts';
import { QueryBatch, queryAll } from '../../../src/lib/postgres/transaction/query-batch.ts';

/** One side of a race: real code of the product, on a database of which every round trip is one step. */
export interface Actor {
  name: string;
  act: (db: Database) => Promise<unknown>;
}

export interface Ending {
  name: string;
  result: PromiseSettledResult<unknown>;
}

export interface Race {
  actors: readonly [Actor, Actor];
  /** Puts the database back to where the race starts. */
  arrange: () => Promise<void>;
  /** Called after every interleaving; `order` names the steps as they were taken. */
  check: (endings: Ending[], order: string) => Promise<void>;
}

export interface RaceReport {
  interleavings: number;
  /** Steps that had to wait for the other side's lock: without any, the sides never met. */
  blockedSteps: number;
}

interface Choice {
  taken: number;
  options: number;
}

const deadlineMs = 60_000;
const maxInterleavings = 5_000;

/**
 * Runs all interleavings of two actors' steps. A step that blocks on a lock of the other side is seen in
 * pg_blocking_pids, and the other side goes on. The search is depth first: each run follows the choices of the one
 * before, except for the last choice that has an option left.
 */
export class Permuter {
  readonly #lanes: Lane[];
  readonly #observer: pg.Client;

  private constructor(lanes: Lane[], observer: pg.Client) {
    this.#lanes = lanes;
    this.#observer = observer;
  }

  static async open({ appUrl, ownerUrl }: { appUrl: string; ownerUrl: string }): Promise<Permuter> {
    const observer = new pg.Client({ connectionString: ownerUrl, application_name: 'permuter' });
    await observer.connect();
    const lanes = [new Lane(appUrl), new Lane(appUrl)];
    // The first transaction of a tenant reads the key that signs it: that would be a step of the first race only.
    for (const { db } of lanes) await db.tenant('anybody', async () => {});
    return new Permuter(lanes, observer);
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.db.close()));
    await this.#observer.end();
  }

  async run(race: Race): Promise<RaceReport> {
    const trail: Choice[] = [];
    const report: RaceReport = { interleavings: 0, blockedSteps: 0 };
    do {
      if (report.interleavings === maxInterleavings) {
        throw new Error(`More than ${maxInterleavings} interleavings: the actors have too many steps`);
      }
      await race.arrange();
      const { endings, order, blockedSteps } = await this.#runOnce(race.actors, trail);
      await race.check(endings, order);
      report.interleavings += 1;
      report.blockedSteps += blockedSteps;
    } while (nextChoice(trail));
    return report;
  }

  async #runOnce(actors: readonly Actor[], trail: Choice[]) {
    const order: string[] = [];
    let blockedSteps = 0;
    const running = Promise.allSettled(
      actors.map((actor, index) => (this.#lanes[index] as Lane).start(actor)),
    );
    try {
      blockedSteps = await this.#takeSteps(trail, order);
    } finally {
      // A race that failed must leave no transaction open, or everything after it waits for its locks.
      for (const lane of this.#lanes) lane.letGo();
      await running;
    }
    const endings = (await running).map((result, index) => ({ name: (actors[index] as Actor).name, result }));
    return { endings, order: order.join(' · '), blockedSteps };
  }

  async #takeSteps(trail: Choice[], order: string[]): Promise<number> {
    let blockedSteps = 0;
    for (let depth = 0; ; depth += 1) {
      const blocked = await this.#untilQuiet();
      const ready = this.#lanes.filter((lane) => lane.state === 'asking');
      if (ready.length === 0) return blockedSteps;
      blockedSteps += blocked;
      const choice = trail[depth] ?? { taken: 0, options: ready.length };
      if (choice.options !== ready.length) {
        throw new Error(`The same steps led to another place; they were: ${order.join(', ')}`);
      }
      trail[depth] = choice;
      const lane = ready[choice.taken] as Lane;
      order.push(`${lane.name} ${lane.nextStep}`);
      lane.goOn();
    }
  }

  /** Until every lane has ended, asks for its next step, or waits for a lock of another lane; how many do the last. */
  async #untilQuiet(): Promise<number> {
    const deadline = Date.now() + deadlineMs;
    for (;;) {
      const working = this.#lanes.filter((lane) => lane.state === 'working');
      if (working.length === 0) return 0;
      await Promise.race([...working.map((lane) => lane.changed), pause(2)]);
      const still = this.#lanes.filter((lane) => lane.state === 'working');
      const canWait = this.#lanes.some((lane) => lane.state === 'asking');
      if (still.length > 0 && canWait && (await this.#areBlocked(still))) return still.length;
      if (Date.now() > deadline) throw new Error(`Steps hang: ${still.map(({ name }) => name).join(', ')}`);
    }
  }

  async #areBlocked(lanes: Lane[]): Promise<boolean> {
    const { rows } = await this.#observer.query<{ blocked: boolean }>(
      'select bool_and(pg_blocking_pids(p) && $2::integer[]) as blocked from unnest($1::integer[]) p',
      [lanes.map(({ pid }) => pid), this.#lanes.map(({ pid }) => pid)],
    );
    return rows[0]?.blocked === true && lanes.every((lane) => lane.state === 'working');
  }
}

/** A database with one connection per login, on which each round trip waits for its permission. */
class Lane {
  readonly db: Database;
  name = '';
  state: 'asking' | 'working' | 'ended' = 'ended';
  nextStep = '';
  pid = 0;
  changed: Promise<void> = Promise.resolve();
  #isGated = true;
  #announce: () => void = () => {};
  #permit: () => void = () => {};

  constructor(url: string) {
    this.db = new Database({ url, applicationName: 'permuted', maxConnections: 1 });
    for (const pool of [this.db.pool, this.db.kernelPool]) {
      pool.driver.on('connect', (client) => this.#gate(client));
    }
  }

  async start(actor: Actor): Promise<unknown> {
    this.name = actor.name;
    this.#isGated = true;
    this.#move('working');
    try {
      return await actor.act(this.db);
    } finally {
      this.#move('ended');
    }
  }

  goOn(): void {
    this.#move('working');
    this.#permit();
  }

  /** Every further step runs at once. */
  letGo(): void {
    this.#isGated = false;
    if (this.state === 'asking') this.goOn();
  }

  #gate(client: pg.PoolClient): void {
    const { processID } = client as unknown as { processID: number };
    const query = client.query.bind(client) as (...parts: unknown[]) => Promise<unknown>;
    const gated = async (...parts: unknown[]): Promise<unknown> => {
      if (this.state === 'ended' || !this.#isGated) return query(...parts);
      const [batch] = parts;
      if (batch instanceof QueryBatch && bringsCommit(batch)) return inTwoSteps(batch, { query: gated });
      this.pid = processID;
      this.nextStep = titleOf(String(parts[0]));
      const permitted = new Promise<void>((resolve) => {
        this.#permit = resolve;
      });
      this.#move('asking');
      await permitted;
      return query(...parts.map(withoutIdleLimit));
    };
    Object.assign(client, { query: gated });
  }

  #move(state: Lane['state']): void {
    this.state = state;
    this.#announce();
    this.changed = new Promise((resolve) => {
      this.#announce = resolve;
    });
  }
}

/** Takes the last choice that has an option left one further; false when the search has seen everything. */
function nextChoice(trail: Choice[]): boolean {
  for (let last = trail.pop(); last; last = trail.pop()) {
    if (last.taken + 1 < last.options) {
      trail.push({ taken: last.taken + 1, options: last.options });
      return true;
    }
  }
  return false;
}

/** What a step does, in two words: enough to read an order of steps. */
function titleOf(statement: string): string {
  const words = /\b(begin|commit|rollback)\b|\b(insert into|update|delete from|claim_jobs)\s*(\w*)/i.exec(
    statement,
  );
  if (words) return words[0].trim();
  return /\bfrom\s+(\w+)/i.exec(statement)?.[0] ?? 'statement';
}

function bringsCommit({ statements }: QueryBatch): boolean {
  return statements.length > 1 && statements.at(-1)?.text === 'commit';
}

/** One message, but PostgreSQL runs its parts one after the other: what the other side does may come in between. */
async function inTwoSteps(batch: QueryBatch, gated: { query: unknown }): Promise<void> {
  const client = gated as pg.ClientBase;
  try {
    const results = await queryAll(client, batch.statements.slice(0, -1));
    batch.callback(null, [...results, ...(await queryAll(client, batch.statements.slice(-1)))]);
  } catch (error) {
    batch.callback(error as Error, []);
  }
}

/** A lane waits here while the other one runs, and must not be ended for that. */
function withoutIdleLimit(part: unknown): unknown {
  if (!(part instanceof QueryBatch)) return part;
  for (const { text, values } of part.statements) {
    const place = /'idle_in_transaction_session_timeout', \$(\d+)/.exec(text)?.[1];
    if (place !== undefined) values[Number(place) - 1] = '0';
  }
  return part;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
