import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createLoginLink } from '../../src/kernel/tenancy/sessions.ts';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { FakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { freePort } from '../support/fakes/ports.ts';
import { type Running, useCommandLine } from '../support/servers/command-line.ts';
import { type TestClaims, testTokens } from '../support/servers/server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const root = path.join(import.meta.dirname, '../..');
const startLimitMs = 60_000;
const buildLimitMs = 300_000;

/** `sluice serve` with its worker and the built console, before a fake Airbyte. */
export interface ConsoleServer {
  readonly url: string;
  readonly airbyte: FakeAirbyte;
  /** Where folder adapters look, each tenant in the folder named like it. */
  readonly folders: string;
  token(claims: TestClaims): Promise<string>;
  /** A link as the server prints it: it works once. The tenant must exist. */
  loginLink(claims: TestClaims, to?: string): Promise<string>;
  stop(): Promise<void>;
  /** Restarts at the same address. */
  start(): Promise<void>;
}

const noRateLimits = { RATE_LIMIT_PER_MINUTE: '1000000', TENANT_REQUESTS_PER_MINUTE: '1000000' };

export function useConsoleServer(database: TestDatabase, env: Record<string, string> = {}): ConsoleServer {
  const sluice = useCommandLine();
  let airbyte: FakeAirbyte | undefined;
  let server: Running | undefined;
  let url = '';
  let port = 0;

  async function start(): Promise<void> {
    const running = sluice.start(['serve'], {
      PORT: String(port),
      DATABASE_URL: database.ownerUrl,
      SLUICE_JWT_SECRET: testTokens.secret ?? '',
      SLUICE_SECRET_KEY: 'ab'.repeat(32),
      SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
      ...noRateLimits,
      LOG_LEVEL: 'warn',
      AIRBYTE_BASE_URL: now(airbyte).url,
      AIRBYTE_API_TOKEN: now(airbyte).settings.fixedToken,
      AIRBYTE_WORKSPACE_ID: '18dccc91-0ab1-4f72-9ed7-0b8fc27c5826',
      MAX_ATTEMPTS_NOT_FOUND: '1',
      SYNC_RETRY_BASE_SECONDS: '1',
      ADAPTER_FOLDER: path.join(sluice.cwd, 'folders'),
      SYNC_MIN_INTERVAL_SECONDS: '1',
      SYNC_POLL_SECONDS: '1',
      ...env,
    });
    server = running;
    const hasStarted = async () => {
      if (running.child.exitCode !== null) throw new Error(`The server ended: ${running.stderr()}`);
      return running.stdout().includes('sluice --help');
    };
    await eventually(hasStarted, 'the server is running', startLimitMs);
    url = /running at (\S+)/.exec(running.stdout())?.[1] ?? '';
  }

  async function stop(): Promise<void> {
    server?.child.kill('SIGTERM');
    await server?.ended;
  }

  beforeAll(async () => {
    await buildConsole();
    airbyte = await FakeAirbyte.start();
    port = await freePort();
    await start();
  }, buildLimitMs);
  afterAll(async () => {
    await stop();
    await airbyte?.close();
  });
  return {
    start,
    stop,
    get url() {
      return url;
    },
    get folders() {
      return path.join(sluice.cwd, 'folders');
    },
    get airbyte() {
      return now(airbyte);
    },
    token: (claims) =>
      mintToken(testTokens, { userId: 'ada', role: 'admin', lifetimeSeconds: 3_600, ...claims }),
    async loginLink({ tenantId, userId = 'ada', role = 'admin' }, to) {
      const code = await createLoginLink(database.db, { tenantId, userId, role });
      return `${url}/login?code=${code}${to === undefined ? '' : `&to=${encodeURIComponent(to)}`}`;
    },
  };
}

/** The command line builds only the server: few of its tests need a page. */
async function buildConsole(): Promise<void> {
  const build = spawn(process.execPath, [path.join(root, 'scripts/build.mjs')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  build.stderr.setEncoding('utf8').on('data', (text: string) => {
    words += text;
  });
  const [code] = await once(build, 'close');
  if (code !== 0) throw new Error(`The build failed: ${words}`);
}

function now<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('The server is available only after beforeAll has run');
  return thing;
}
