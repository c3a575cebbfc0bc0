import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { newTenant, type TestDatabase } from '../support/worlds/database.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

/** One way through the product, as a careful client takes it, with a tenant of its own for each run. */
export interface CrashPath<Answers> {
  /** Set-up before the first request; its own requests are not counted. */
  prepare(tenantId: string, server: FailpointServer): Promise<void>;
  /**
   * All of the client's requests, and waiting until their work is done; gives up when the server is dead. Taken a
   * second time, with the same Idempotency-Keys, it must lead to the same answers. What is missing was cut off.
   */
  take(server: FailpointServer, tenantId: string): Promise<Partial<Answers>>;
  /** One sentence for everything that is not as it should be. */
  check(server: FailpointServer, tenantId: string, answers: Answers): Promise<string[]>;
}

export interface CrashFindings {
  /** The points that every undisturbed run had, in order. */
  points: string[];
  /** The points at which the process died, in order. */
  deaths: string[];
  /** Chosen points that no run reached. Only points that depend on time may be among them. */
  notReached: string[];
  /** How often the client was cut off before it had all responses. */
  cutOff: number;
  breaches: string[];
}

export interface CrashOptions<Answers> {
  database: TestDatabase;
  servers: FailpointServers;
  path: CrashPath<Answers>;
  /** Which of the points to die at; null: at all of them, and at whatever else the runs show, until nothing is left. */
  choose: ((points: string[]) => string[]) | null;
  /** This many deaths end the run early; further chosen points replace points that were not reached. */
  enough?: number;
  /** A broken run fails repeatedly; the first breaches are enough. */
  maxBreaches?: number;
}

/** Kills the process at one point after another and checks each time that the outcome is as if nothing had happened. */
export async function runCrashes<Answers extends object>(
  options: CrashOptions<Answers>,
): Promise<CrashFindings> {
  const runner = new CrashRunner(options);
  const traceDir = await mkdtemp(path.join(tmpdir(), 'sluice-trace-'));
  try {
    return await runner.run(traceDir);
  } finally {
    await rm(traceDir, { recursive: true, force: true });
  }
}

/** Everything has a limit; a run with more points needs a smaller file. */
const maxPoints = 5_000;
const maxTries = 3;
const quietMs = 30;
const keyLeaseOver = `
  update idempotency_keys
     set owner_expires_at = clock_timestamp()
   where tenant_id = $1
     and status_code is null`;

class CrashRunner<Answers extends object> {
  readonly #options: CrashOptions<Answers>;
  readonly #findings: CrashFindings = { points: [], deaths: [], notReached: [], cutOff: 0, breaches: [] };
  #server: FailpointServer | null = null;
  #traceDir = '';

  constructor(options: CrashOptions<Answers>) {
    this.#options = options;
  }

  async run(traceDir: string): Promise<CrashFindings> {
    this.#traceDir = traceDir;
    const { choose, maxBreaches = 5, enough = Number.POSITIVE_INFINITY } = this.#options;
    // The first run of a process opens connections and directories; what later ones have too is what every run has.
    const first = await this.#runOnce(null);
    const second = await this.#runOnce(null);
    const points = second.trace.filter((point) => first.trace.includes(point));
    const chosen = new Set(choose?.(points) ?? points);
    // Iterating over a set includes what is added on the way.
    for (const point of chosen) {
      const shown = await this.#dieAt(point);
      if (choose === null) for (const other of shown) chosen.add(other);
      if (this.#findings.breaches.length >= maxBreaches) break;
      if (choose !== null && this.#findings.deaths.length >= enough) break;
      if (chosen.size > maxPoints)
        throw new Error(`There are more than ${maxPoints} points; take a smaller file`);
    }
    return { ...this.#findings, points };
  }

  /** Returns the points that the run passed. Points that depend on time may need another try, or never recur. */
  async #dieAt(point: string): Promise<string[]> {
    const shown: string[] = [];
    for (let attempt = 1; attempt <= maxTries; attempt += 1) {
      const { died, trace } = await this.#runOnce(point);
      shown.push(...trace);
      if (!died) continue;
      this.#findings.deaths.push(point);
      return shown;
    }
    this.#findings.notReached.push(point);
    return shown;
  }

  async #runOnce(at: string | null): Promise<{ died: boolean; trace: string[] }> {
    const { database, path: way } = this.#options;
    const tenantId = await newTenant(database);
    const server = await this.#living();
    await way.prepare(tenantId, server);
    const traceFile = path.join(this.#traceDir, tenantId);
    await server.arm({ tenantId, at, traceFile });
    const first = await way.take(server, tenantId);
    const died = await diesOrRests(server);
    if (!died) await server.arm(null);
    const trace = (await readFile(traceFile, 'utf8')).trimEnd().split('\n');
    const breaches = await this.#recover(tenantId, first);
    if (died && trace.at(-1) !== at) breaches.push('the process died by itself');
    const where = died ? `died at ${trace.at(-1)}` : 'did not die';
    this.#findings.breaches.push(...breaches.map((breach) => `${where}: ${breach}`));
    return { died, trace };
  }

  /** The process comes back, the client asks again, and everything has to be there once. */
  async #recover(tenantId: string, first: Partial<Answers>): Promise<string[]> {
    const { servers, path: way } = this.#options;
    // The dead process still has its lease of the key; half a minute later it would be over.
    await servers.query(keyLeaseOver, [tenantId]);
    const server = await this.#living();
    const second = await way.take(server, tenantId);
    if (!server.isLiving) return ['the process that had come back died as well'];
    const names = Object.keys(second) as (keyof Answers)[];
    const broken = names.filter((name) => first[name] !== undefined && first[name] !== second[name]);
    if (names.some((name) => first[name] === undefined)) this.#findings.cutOff += 1;
    return [
      ...broken.map(
        (name) => `${String(name)} was ${first[name]} first and ${second[name]} when asked again`,
      ),
      ...(await way.check(server, tenantId, second as Answers)),
    ];
  }

  async #living(): Promise<FailpointServer> {
    if (this.#server?.isLiving !== true) this.#server = await this.#options.servers.start();
    return this.#server;
  }
}

/** Whether the process died. It rests once no counted call is open and none has come for a moment. */
async function diesOrRests(server: FailpointServer): Promise<boolean> {
  const deadline = Date.now() + 120_000;
  let before = await server.passed();
  while (Date.now() < deadline) {
    await pause(quietMs);
    const now = await server.passed();
    if (now === null || before === null) return true;
    if (now.open === 0 && now.count === before.count) return false;
    before = now;
  }
  throw new Error('Within two minutes the process neither died nor came to rest');
}

/** Waits until there is nothing left to wait for, or nobody who could do it. */
export async function untilOverOrDead(
  server: FailpointServer,
  { isOver, what }: { isOver: () => Promise<boolean>; what: string },
): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (server.isLiving && !(await isOver())) {
    if (Date.now() > deadline) throw new Error(`Not within two minutes: ${what}`);
    await pause(20);
  }
}

/** That many points, evenly spaced from a random start; all of them if there are fewer. */
export function drawEvenly(points: string[], { count, offset }: { count: number; offset: number }): string[] {
  const step = Math.max(1, points.length / count);
  const wanted = Math.min(count, points.length);
  return Array.from({ length: wanted }, (_, n) => points[Math.floor((n + offset) * step)] as string);
}

/**
 * Points of every run that nothing was done about, and those of them that could not be reached, if these are many: how
 * many notifications are sent together depends on time, and so may the size of a batch, but not a twentieth of a run.
 * What only a slow run has shown, such as its fifth heartbeat, is died at where it comes again, and need not come.
 */
export function listMissed({ points, deaths, notReached }: CrashFindings): string[] {
  const tried = new Set([...deaths, ...notReached]);
  const untried = points.filter((point) => !tried.has(point));
  const unreached = points.filter((point) => notReached.includes(point));
  return unreached.length > points.length / 20 ? [...untried, ...unreached] : untried;
}

/** What differs between what was found and what should be there, a sentence for each part. */
export function differences<Found extends object>(found: Found, expected: Found): string[] {
  return (Object.keys(expected) as (keyof Found)[])
    .filter((part) => !isDeepStrictEqual(found[part], expected[part]))
    .map((part) => `${String(part)} should be ${short(expected[part])} and are ${short(found[part])}`);
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length} characters)` : text;
}

export function describeCrashes(name: string, findings: CrashFindings): string {
  const { points, deaths, notReached, cutOff } = findings;
  const share = Math.round((100 * deaths.length) / points.length);
  const kinds = ['message', 'file', 'request'].map(
    (kind) => `${points.filter((point) => point.includes(` ${kind}: `)).length} of ${kind}s`,
  );
  return [
    `${name}: every run has ${points.length} points (${kinds.join(', ')}).`,
    `The process died at ${deaths.length} (${share} %), ${cutOff} times before the client had its answers.`,
    `Chosen and not reached: ${notReached.length === 0 ? 'none' : notReached.join('; ')}.`,
  ].join('\n');
}
