import { mkdirSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { visibleJobs } from '../support/servers/adapter-server.ts';
import { type Running, useCommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { chooseSeed } from './expect-quotas.ts';
import { seededRandom } from './seeded-random.ts';

// Servers that are killed or put to sleep in the middle of a scan: every file makes one job all the same.
const database = useDatabase();
const sluice = useCommandLine();
const fileCount = 30;
const rowsOf = (index: number) => 400 + index;
const running: Running[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) {
    server.child.kill('SIGKILL');
    await server.ended;
  }
});

interface Server extends Running {
  url: string;
}

async function startServer(): Promise<Server> {
  const started = sluice.start(['serve'], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    ADAPTER_FOLDER: path.join(sluice.cwd, 'folders'),
    RATE_LIMIT_PER_MINUTE: '1000000',
    TENANT_REQUESTS_PER_MINUTE: '1000000',
    LEASE_MS: '1500',
    LOG_LEVEL: 'warn',
  });
  running.push(started);
  const isUp = async () => {
    if (started.child.exitCode !== null) throw new Error(`The server ended: ${started.stderr()}`);
    return started.stdout().includes('sluice --help');
  };
  await eventually(isUp, 'the server is running', 60_000);
  return { ...started, url: /running at (\S+)/.exec(started.stdout())?.[1] ?? '' };
}

async function kill(server: Running): Promise<void> {
  server.child.kill('SIGKILL');
  await server.ended;
}

/** A tenant with thirty files, no two of the same content, in a folder whose adapter is scanned all the time. */
async function arrange(server: Server): Promise<{ tenantId: string; folder: string }> {
  const tenantId = await newTenant(database);
  const folder = path.join(sluice.cwd, 'folders', tenantId);
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < fileCount; index += 1) {
    const rows = Array.from({ length: rowsOf(index) }, (_, row) => `${index}-${row},some words`);
    await writeFile(path.join(folder, `${index}.csv`), `sku,title\n${rows.join('\n')}\n`);
  }
  const token = await mintToken(testTokens, {
    ...{ tenantId, userId: 'keeper', role: 'admin', lifetimeSeconds: 600 },
  });
  const answer = await fetch(`${server.url}/api/ingestion/adapters/in`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ kind: 'folder', settle_seconds: 0, every_minutes: 1, after: 'move' },
      target: { kind: 'items', processor: 'noop' },
    }),
  });
  expect(answer.status).toBe(201);
  return { tenantId, folder };
}

async function countIngested(tenantId: string): Promise<number> {
  const [row] = await database.owner<{ count: string }>(
    `select count(*) as count from adapter_files where tenant_id = $1 and state = 'ingested'`,
    [tenantId],
  );
  return Number(row?.count);
}

/** So that no test waits for the schedule. */
const scanSoon = (tenantId: string) =>
  database.owner('update adapters set next_scan_at = clock_timestamp() where tenant_id = $1', [tenantId]);

async function expectThirty({ tenantId, folder }: { tenantId: string; folder: string }): Promise<void> {
  const expected = Array.from({ length: fileCount }, (_, index) => rowsOf(index));
  expect((await visibleJobs(database, tenantId)).sort((a, b) => a - b)).toEqual(expected);
  const states = await database.owner(
    `select state, count(*)::int as count, count(distinct job_id)::int as jobs
       from adapter_files where tenant_id = $1 group by state`,
    [tenantId],
  );
  expect(states).toEqual([{ state: 'ingested', count: fileCount, jobs: fileCount }]);
  await eventually(
    async () => (await readdir(path.join(folder, 'done'))).length === fileCount,
    'every file is moved',
    30_000,
  );
}

test('thirty files make thirty jobs although the server is killed repeatedly during scans', {
  timeout: 180_000,
}, async () => {
  const random = seededRandom(chooseSeed());
  let server = await startServer();
  const stage = await arrange(server);
  for (const share of [0.1, 0.35, 0.7]) {
    const goal = Math.floor(share * fileCount) + random.below(4);
    await scanSoon(stage.tenantId);
    await eventually(async () => (await countIngested(stage.tenantId)) >= goal, `${goal} files`, 60_000);
    await kill(server);
    server = await startServer();
  }
  await scanSoon(stage.tenantId);
  await eventually(async () => (await countIngested(stage.tenantId)) === fileCount, 'all files', 60_000);
  await expectThirty(stage);
});

test('a scanner that sleeps past its lease takes nothing in twice when it wakes up', {
  timeout: 180_000,
}, async () => {
  const sleeper = await startServer();
  const stage = await arrange(sleeper);
  await eventually(async () => (await countIngested(stage.tenantId)) >= 3, 'three files', 60_000);
  sleeper.child.kill('SIGSTOP');
  const before = await countIngested(stage.tenantId);
  expect(before).toBeLessThan(fileCount);
  await startServer();
  await scanSoon(stage.tenantId);
  await eventually(async () => (await countIngested(stage.tenantId)) === fileCount, 'all files', 60_000);
  sleeper.child.kill('SIGCONT');
  // When it can scan again, it is awake and knows the outcome of its scan.
  await scanSoon(stage.tenantId);
  await eventually(
    async () => {
      const [row] = await database.owner<{ done: boolean }>(
        'select next_scan_at > clock_timestamp() and scan_token is null as done from adapters where tenant_id = $1',
        [stage.tenantId],
      );
      return row?.done === true;
    },
    'a scan after the awakening',
    60_000,
  );
  await expectThirty(stage);
});
