import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { useCommandLine } from '../../test/command-line.ts';
import { useDatabase } from '../../test/database.ts';
import { prepareTitleSearch } from '../ingest/items/catalog/prepare-title-search.ts';
import type { Finding } from './doctor-checks.ts';

const database = useDatabase();
const sluice = useCommandLine();

async function examine(
  env: Record<string, string>,
): Promise<{ code: number | null; findings: Map<string, Finding> }> {
  const { code, stdout } = await sluice.runHere(['doctor', '--json'], env);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings: new Map(findings.map((finding) => [finding.check, finding])) };
}

function failures(findings: Map<string, Finding>): string[] {
  return [...findings.values()]
    .filter((finding) => finding.state === 'failed')
    .map((finding) => finding.check);
}

test('a database without pg_trgm is told what it cannot do, and nothing has failed', async () => {
  const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
  expect(findings.get('fuzzy titles')).toMatchObject({
    state: 'warn',
    message: expect.stringContaining('fuzzy_title are refused'),
    remedy: expect.stringContaining('create extension pg_trgm'),
  });
  expect(code).toBe(0);
});

test('a sound installation passes every check', async () => {
  await prepareTitleSearch(database.ownerUrl);
  const { code, findings } = await examine({
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: 'x'.repeat(32),
  });
  expect([...findings.values()].filter((finding) => finding.state !== 'ok')).toEqual([]);
  expect([...findings.keys()]).toEqual([
    'configuration',
    'secrets',
    'storage',
    'database',
    'migrations',
    'roles',
    'row-level security',
    'fuzzy titles',
    'clock',
  ]);
  expect(code).toBe(0);
});

test('the readable form has one line per check and no colour codes in a pipe', async () => {
  const { stdout } = await sluice.run(['doctor'], { DATABASE_URL: database.ownerUrl });
  expect(stdout).toMatch(/^ok {5}database /m);
  expect(stdout).toMatch(/^warn {3}secrets /m);
  expect(stdout).not.toContain('\u001b');
});

test('an owner as application login fails the check of roles, with all its faults and a remedy', async () => {
  const { code, findings } = await examine({
    DATABASE_URL: database.ownerUrl,
    DATABASE_APP_URL: database.ownerUrl,
  });
  expect(code).toBe(1);
  expect(failures(findings)).toEqual(['roles']);
  const roles = findings.get('roles');
  for (const fault of ['is a superuser', 'bypasses', 'inherits', 'owns tables'])
    expect(roles?.message).toContain(fault);
  expect(roles?.remedy).toContain('DATABASE_APP_URL');
});

test('a tenant table without forced row-level security is found by name', async () => {
  await database.owner('alter table files no force row level security');
  const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner('alter table files force row level security');
  expect(code).toBe(1);
  expect(failures(findings)).toEqual(['row-level security']);
  expect(findings.get('row-level security')?.message).toContain('files');
});

test('a missing migration and an unknown one are told apart', async () => {
  await database.owner('create table kept as select * from schema_migrations');
  await database.owner('delete from schema_migrations where version = 1');
  const missing = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner(
    'insert into schema_migrations select version + 900, name, checksum, state from kept where version = 1',
  );
  const unknown = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner(
    'truncate schema_migrations; insert into schema_migrations select * from kept; drop table kept',
  );
  expect(missing.findings.get('migrations')?.message).toContain('0001_tenancy');
  expect(missing.findings.get('migrations')?.remedy).toContain('sluice migrate up');
  expect(unknown.findings.get('migrations')?.message).toContain('901');
});

test('with the application login alone everything can be checked too', async () => {
  const { code, findings } = await examine({ DATABASE_APP_URL: database.appUrl });
  expect(failures(findings)).toEqual([]);
  expect(code).toBe(0);
});

test('bad configuration, storage and database each fail their own check', async () => {
  const configuration = await examine({ PORT: 'x' });
  expect(failures(configuration.findings)).toEqual(['configuration']);
  await writeFile(path.join(sluice.cwd, 'a-file'), '');
  const rest = await examine({
    DATABASE_URL: 'postgres://o:pw@127.0.0.1:1/x',
    SLUICE_DATA_DIR: 'a-file/below',
  });
  expect(failures(rest.findings)).toEqual(['storage', 'database']);
  expect(rest.code).toBe(1);
  for (const finding of rest.findings.values())
    if (finding.state === 'failed') expect(finding.remedy).not.toBe('');
});
