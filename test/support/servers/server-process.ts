import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { mintToken } from '../../../src/kernel/tenancy/tokens.ts';
import type { TestDatabase } from '../worlds/database.ts';
import { eventually } from '../worlds/kernel.ts';
import { type Running, useCommandLine } from './command-line.ts';
import { type TestClaims, testTokens } from './server.ts';

/** `sluice serve` as a process of its own on the database of a test file. */
export interface ServerProcess {
  readonly url: string;
  readonly filesDir: string;
  /** The most memory that the process held while the work was done, beyond what it held before. */
  growthDuring(work: () => Promise<void>): Promise<number>;
  logs(): string;
  bearer(claims: TestClaims): Promise<{ authorization: string }>;
}

export function useServerProcess(
  database: TestDatabase,
  env: Record<string, string> = {},
  options: { program?: string } = {},
): ServerProcess {
  const sluice = useCommandLine(options);
  let server: Running | undefined;
  const running = (): Running => {
    if (!server) throw new Error('The server process is available only after beforeAll has run');
    return server;
  };
  const dataDir = () => path.join(sluice.cwd, '.sluice');
  beforeAll(async () => {
    server = sluice.start(['serve'], {
      PORT: '0',
      DATABASE_URL: database.ownerUrl,
      SLUICE_JWT_SECRET: testTokens.secret ?? '',
      RATE_LIMIT_PER_MINUTE: '1000000',
      TENANT_REQUESTS_PER_MINUTE: '1000000',
      LOG_LEVEL: 'warn',
      ...env,
    });
    const hasStarted = async () => {
      if (running().child.exitCode !== null) throw new Error(`The server ended: ${running().stderr()}`);
      return running().stdout().includes('sluice --help');
    };
    await eventually(hasStarted, 'the server is running', 60_000);
  });
  afterAll(async () => {
    server?.child.kill('SIGTERM');
    await server?.ended;
  });
  return {
    get url() {
      return /running at (\S+)/.exec(running().stdout())?.[1] ?? '';
    },
    get filesDir() {
      return path.join(dataDir(), 'files');
    },
    async growthDuring(work) {
      const proc = `/proc/${running().child.pid}`;
      // Resets the peak to the current memory.
      writeFileSync(`${proc}/clear_refs`, '5');
      const before = peakBytes(proc);
      await work();
      return peakBytes(proc) - before;
    },
    logs: () => running().stdout() + running().stderr(),
    bearer: async (claims) => ({
      authorization: `Bearer ${await mintToken(testTokens, {
        userId: 'a-user',
        role: 'admin',
        lifetimeSeconds: 600,
        ...claims,
      })}`,
    }),
  };
}

function peakBytes(proc: string): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) * 1024;
}
