import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const main = path.join(import.meta.dirname, '../../dist/main.js');
const preload = pathToFileURL(path.join(import.meta.dirname, 'preload.mjs')).href;

export interface FailpointWish {
  tenantId: string;
  /** The point at which the process dies; null: at none, they are only noted. */
  at: string | null;
  /** Every point that was passed is a line of this file. */
  traceFile: string;
}

/** How many points were passed, and how many calls are open; null: the process is dead. */
export type Passed = { count: number; open: number } | null;

/** `sluice serve` with its worker, as a process that can be told to die at a point. */
export interface FailpointServer {
  readonly url: string;
  readonly isLiving: boolean;
  /** With null nothing is counted any more, and the process is like any other. */
  arm(wish: FailpointWish | null): Promise<Passed>;
  passed(): Promise<Passed>;
  /** Null when the connection broke before the response was complete. */
  call(tenantId: string, route: string, init: CallInit): Promise<CallAnswer | null>;
}

export interface CallInit {
  method?: string;
  headers?: Record<string, string>;
  body?: FormData | string;
}

export interface CallAnswer {
  status: number;
  text: string;
}

/** Starts processes one after the other, in one data directory; the last one ends with the test file. */
export function useFailpointServers(database: TestDatabase, env: Record<string, string> = {}) {
  useCommandLine();
  const children = new Set<ChildProcess>();
  /** Loaded while another one runs, and held back until that one has died. */
  let next: HeldServer | null = null;
  let dataDir = '';
  // Tests poll often: a new connection per poll would cost more than the query.
  const pool = new pg.Pool({ connectionString: database.ownerUrl, max: 2 });
  pool.on('error', () => {});
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'sluice-failpoints-'));
  });
  afterAll(async () => {
    await Promise.all([...children].map(end));
    await pool.end();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    get dataDir() {
      return dataDir;
    },
    /** As the owner of the database. */
    async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
      return (await pool.query<Row>(text, values)).rows;
    },
    async start(): Promise<FailpointServer> {
      const hold = () => holdServer(children, { dataDir, env: environment(database, { dataDir, ...env }) });
      const server = await (next ?? hold()).start();
      next = hold();
      return server;
    },
  };
}

export type FailpointServers = ReturnType<typeof useFailpointServers>;

function environment(
  database: TestDatabase,
  { dataDir, ...more }: { dataDir: string; [name: string]: string },
): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    NODE_OPTIONS: `--import=${preload}`,
    SLUICE_DATA_DIR: dataDir,
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
    PORT: '0',
    POLL_MS: '100',
    LOG_LEVEL: 'warn',
    ...more,
  };
}

interface HeldServer {
  start(): Promise<FailpointServer>;
}

function holdServer(
  children: Set<ChildProcess>,
  { dataDir, env }: { dataDir: string; env: Record<string, string> },
): HeldServer {
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: dataDir,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return { start: () => startHeld(child, () => output) };
}

async function startHeld(child: ChildProcess, output: () => string): Promise<FailpointServer> {
  const isLiving = () => child.exitCode === null && child.signalCode === null;
  const address = () => /running at (\S+)/.exec(output())?.[1];
  await ask(child, { isStart: true });
  await eventually(async () => address() !== undefined || !isLiving(), 'the server is running', 60_000);
  const url = address();
  if (url === undefined) throw new Error(`The server did not start: ${output()}`);
  return {
    url,
    get isLiving() {
      return isLiving();
    },
    arm: (wish) => ask(child, { arm: wish }),
    passed: () => ask(child, {}),
    call: async (tenantId, route, init) => callServer(`${url}${route}`, init, await bearer(tenantId)),
  };
}

let asked = 0;

/** A message to the process itself, outside of its HTTP server. */
function ask(
  child: ChildProcess,
  question: { arm?: FailpointWish | null; isStart?: boolean },
): Promise<Passed> {
  asked += 1;
  const id = asked;
  return new Promise((resolve) => {
    const finish = (passed: Passed): void => {
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(passed);
    };
    const onMessage = (answer: unknown): void => {
      const { id: to, count, open } = answer as { id: number; count: number; open: number };
      if (to === id) finish({ count, open });
    };
    const onExit = (): void => finish(null);
    child.on('message', onMessage);
    child.on('exit', onExit);
    if (!child.connected) finish(null);
    // If the process dies at this moment, its exit shows it.
    else child.send({ id, ...question }, () => {});
  });
}

async function callServer(
  url: string,
  { headers, ...init }: CallInit,
  authorization: { authorization: string },
): Promise<CallAnswer | null> {
  try {
    const answer = await fetch(url, { ...init, headers: { ...authorization, ...headers } });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

async function bearer(tenantId: string): Promise<{ authorization: string }> {
  const subject = { userId: 'a-user', role: 'admin', lifetimeSeconds: 3_600 } as const;
  return { authorization: `Bearer ${await mintToken(testTokens, { tenantId, ...subject })}` };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
