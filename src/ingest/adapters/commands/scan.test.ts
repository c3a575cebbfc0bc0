import { mkdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type CommandResult,
  type Running,
  useCommandLine,
} from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';

// Some of the commands are processes of their own.
vi.setConfig({ testTimeout: 120_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 50 };
let server: Running | undefined;
let url = '';
let folders = '';

beforeAll(async () => {
  folders = path.join(sluice.cwd, 'folders');
  server = sluice.start(['serve'], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    ADAPTER_FOLDER: folders,
  });
  url = await vi.waitFor(() => {
    const found = /running at (\S+)/.exec(server?.stdout() ?? '')?.[1] ?? '';
    expect(found, server?.stderr()).not.toBe('');
    return found;
  }, patience);
}, 90_000);

afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.ended;
});

const tokenOf = (tenantId: string) =>
  mintToken(testTokens, { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 });

async function envOf(tenantId: string): Promise<Record<string, string>> {
  return { SLUICE_URL: url, SLUICE_TOKEN: await tokenOf(tenantId) };
}

async function run(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.run(args, await envOf(tenantId));
}

async function runHere(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.runHere(args, await envOf(tenantId));
}

/** A tenant with an adapter that looks through its folder by hand. */
async function arrange(): Promise<{ tenantId: string; drop(name: string, text: string): Promise<void> }> {
  const tenantId = await newTenant(database);
  const folder = path.join(folders, tenantId);
  await mkdir(folder, { recursive: true });
  const answer = await fetch(`${url}/api/ingestion/adapters/in`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await tokenOf(tenantId)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'folder', target: { kind: 'items' } }),
  });
  expect(answer.status).toBe(201);
  const old = new Date(Date.now() - 3_600_000);
  return {
    tenantId,
    drop: async (name, text) => {
      await writeFile(path.join(folder, name), text);
      await utimes(path.join(folder, name), old, old);
    },
  };
}

test('a scan shows what it found, says why files failed, and tells by its exit code', async () => {
  const { tenantId, drop } = await arrange();
  await drop('a.csv', 'sku\n1\n');
  const first = await run(tenantId, 'scan', 'in');
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toMatch(
    /^ADAPTER +SEEN +INGESTED +DUPLICATES +WAITING +FAILED +MOVED\nin +1 +0 +0 +1 +0 +0/,
  );
  expect(first.stderr).toContain('1 files wait until they rest');
  expect((await runHere(tenantId, 'scan')).stdout).toMatch(/in +1 +1 +0 +0 +0 +0/);
  await drop('bad.csv', '');
  await runHere(tenantId, 'scan', 'in');
  const failed = await runHere(tenantId, 'scan', 'in');
  expect(failed.code).toBe(3);
  expect(failed.stderr).toContain('in: bad.csv: ');
  const unknown = await runHere(tenantId, 'scan', 'nowhere');
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('There is no adapter nowhere');
});

test('a watch takes in what is dropped while it runs, and ends with Ctrl+C', async () => {
  const { tenantId, drop } = await arrange();
  const watching = sluice.start(['scan', 'in', '--watch', '--every', '1'], await envOf(tenantId));
  await vi.waitFor(() => expect(watching.stdout(), watching.stderr()).toContain('ADAPTER'), patience);
  await drop('late.csv', 'sku\n1\n');
  await vi.waitFor(() => expect(watching.stdout(), watching.stderr()).toMatch(/in +1 +1 +0/), patience);
  watching.child.kill('SIGINT');
  expect(await watching.ended).toMatchObject({ code: 130 });
});
