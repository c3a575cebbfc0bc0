import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';

vi.setConfig({ testTimeout: 300_000 });

const database = useDatabase();
const root = path.join(import.meta.dirname, '../..');
/** Builds the product, which the processes use. */
useCommandLine();
const place = mkdtempSync(path.join(tmpdir(), 'sluice-crash-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

beforeAll(async () => {
  mkdirSync(path.join(place, 'node_modules'));
  symlinkSync(root, path.join(place, 'node_modules/sluice'));
  for (const name of ['zod', 'pg']) {
    symlinkSync(path.join(root, 'node_modules', name), path.join(place, 'node_modules', name));
  }
  cpSync(path.join(import.meta.dirname, 'crash-process.mjs'), path.join(place, 'crash-process.mjs'));
  // Without a unique key: an entry that counts twice shows.
  await database.owner('create table ledger (account text, entry int)');
  await database.owner('create table asked (key text)');
  await database.owner('create table charged (key text primary key, account text)');
});

function work(seam: string, jobs = 0): Promise<string | number | null> {
  const args = ['crash-process.mjs', database.ownerUrl, seam, String(jobs)];
  const child = spawn(process.execPath, args, { cwd: place, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
}

const seams = ['before-effects', 'after-effects', 'after-commit', 'before-step', 'after-step'];
const accounts = 4;

test('at whatever seam a process is killed with kill -9, entries count once and keys are charged once', async () => {
  expect(await work(seams[0] ?? '', accounts)).toBe('SIGKILL');
  // A death costs a job a strike; progress in between takes it away.
  for (const seam of seams.slice(1)) expect(await work(seam), seam).toBe('SIGKILL');
  expect(await work('none')).toBe(0);
  const states = await database.owner('select distinct status from ingestion_jobs');
  expect(states).toEqual([{ status: 'success' }]);
  const entries = await database.owner<{ account: string; entries: number[] }>(
    'select account, array_agg(entry order by entry) as entries from ledger group by account order by account',
  );
  expect(entries).toEqual(
    Array.from({ length: accounts }, (_, n) => ({ account: `account ${n}`, entries: [1, 2, 3] })),
  );
  const [{ charged, asked } = { charged: 0, asked: 0 }] = await database.owner<{
    charged: number;
    asked: number;
  }>('select (select count(*)::int from charged) as charged, (select count(*)::int from asked) as asked');
  expect(charged).toBe(accounts * 2);
  // The death after a step repeats its work, under the key that was charged already.
  expect(asked).toBeGreaterThan(charged);
});
