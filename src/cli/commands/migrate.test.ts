import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { createDatabase, queryOnce, withDatabase } from '../../../test/support/fakes/postgres-server.ts';
import { type CommandResult, useCommandLine } from '../../../test/support/servers/command-line.ts';
import { newId } from '../../lib/ids.ts';
import { readMigrations } from '../../lib/postgres/migrate.ts';

// Some of the commands are processes of their own.
vi.setConfig({ testTimeout: 90_000 });

const sluice = useCommandLine();
const name = `migrate_${newId().replaceAll('-', '')}`;
const serverUrl = inject('serverUrl');
const env = { DATABASE_URL: withDatabase(serverUrl, name) };

beforeAll(() => createDatabase(serverUrl, name));
afterAll(() => queryOnce(serverUrl, `drop database if exists ${name} with (force)`));

interface Report {
  code: number | null;
  version: number;
  missing: string[];
}

async function status(): Promise<Report> {
  return reported(await sluice.runHere(['migrate', 'status', '--json'], env));
}

function reported({ code, stdout }: CommandResult): Report {
  return { code, ...(JSON.parse(stdout) as Omit<Report, 'code'>) };
}

test('an empty database is reported, migrated, taken down and migrated again', async () => {
  const newest = (await readMigrations()).length;
  // One of each runs as a process: a connection that was left open would keep it from ending.
  const first = await sluice.run(['migrate', 'status', '--json'], env);
  expect(reported(first)).toMatchObject({ code: 1, version: 0 });

  const up = await sluice.run(['migrate'], env);
  expect(up).toMatchObject({ code: 0, stdout: `The schema is at version ${newest}.\n` });
  expect(up.stderr).toContain('applied 0001_tenancy');
  expect(await status()).toMatchObject({ code: 0, version: newest, missing: [] });

  const again = await sluice.runHere(['migrate', 'up', '--json'], env);
  expect(JSON.parse(again.stdout)).toEqual({ applied: [], reverted: [], version: newest });

  const down = await sluice.run(['migrate', 'down', '--to', '1'], env);
  expect(down).toMatchObject({ code: 0, stdout: 'The schema is at version 1.\n' });
  expect(await status()).toMatchObject({ code: 1, version: 1 });
  expect((await sluice.runHere(['migrate', 'up'], env)).code).toBe(0);
});

test.each([
  { args: ['down', 'nothing'], says: 'no optional feature nothing' },
  { args: ['down', 'x', '--to', '1'], says: 'not both' },
  { args: ['down', '--to', 'one'], says: 'Allowed: a version from 0 to 9999' },
])('migrate $args is wrong usage', async ({ args, says }) => {
  const { code, stderr } = await sluice.runHere(['migrate', ...args], env);
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});

test('without the owner’s login nothing can be migrated, and the message names the missing variable', async () => {
  const { code, stderr } = await sluice.runHere(['migrate'], { DATABASE_APP_URL: env.DATABASE_URL });
  expect(code).toBe(2);
  expect(stderr).toContain('DATABASE_URL');
});
