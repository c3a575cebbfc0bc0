import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually } from '../support/worlds/kernel.ts';

vi.setConfig({ testTimeout: 300_000 });

const root = path.join(import.meta.dirname, '../..');
let place = '';

afterEach(async () => {
  const location = await readFile(path.join(place, '.sluice/postgres.location'), 'utf8').catch(() => null);
  // Root's database is not below the folder, because PostgreSQL does not run as root.
  if (location !== null) await rm(path.dirname(location.trim()), { recursive: true, force: true });
  await rm(place, { recursive: true, force: true });
});

test('the server ends when npm gets SIGTERM, and its database with it', async () => {
  place = await mkdtemp(path.join(tmpdir(), 'sluice-npm-start-'));
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: {
      PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: process.env.HOME ?? place,
      PORT: '0',
      SLUICE_DATA_DIR: path.join(place, '.sluice'),
    },
  });
  let output = '';
  npm.stdout.on('data', (chunk) => (output += chunk));
  npm.stderr.on('data', (chunk) => (output += chunk));
  await eventually(async () => output.includes('running at'), `the server runs`, 120_000);
  const url = /running at (\S+)/.exec(output)?.[1] ?? '';
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
  const database = Number.parseInt(await readFile(await postmasterFile(), 'utf8'), 10);
  npm.kill('SIGTERM');
  const isGone = () =>
    fetch(`${url}/health/live`).then(
      () => false,
      () => true,
    );
  await eventually(isGone, 'nobody answers at the address any more', 60_000);
  await eventually(async () => !isAlive(database), 'the database has stopped', 60_000);
});

async function postmasterFile(): Promise<string> {
  const data = path.join(place, '.sluice');
  const location = await readFile(path.join(data, 'postgres.location'), 'utf8').catch(() => null);
  return path.join(location?.trim() ?? path.join(data, 'postgres'), 'postmaster.pid');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
