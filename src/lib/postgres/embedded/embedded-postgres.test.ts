import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  findServerPid,
  isRunning,
  type MemberProcess,
  query,
  Workshop,
  waitFor,
} from '../../../../test/fixtures/embedded-workshop.ts';
import { linkLibraries } from './binaries.ts';
import { joinEmbeddedPostgres } from './embedded-postgres.ts';
import { joinServer } from './join.ts';
import { findLayout } from './layout.ts';
import { leaveServer } from './member.ts';

let workshop: Workshop;

beforeAll(() => {
  workshop = new Workshop();
}, 60_000);
afterAll(async () => {
  await workshop.dispose();
}, 60_000);

const asRoot = process.getuid?.() === 0;

describe('an embedded database', { timeout: 60_000 }, () => {
  test('starts on an empty directory, keeps its data and starts again', async () => {
    const dataDir = workshop.dataDir('cold with blank');
    const cold = await joinEmbeddedPostgres({ dataDir });
    expect(cold).toMatchObject({ startedByUs: true, postgresDir: join(dataDir, 'postgres') });
    expect(cold.ownerUrl).toMatch(/^postgres:\/\/sluice_owner:[0-9a-f]+@%2F.+:5432\/sluice$/);
    await query(cold.ownerUrl, 'create table kept as select 7 as answer');
    await cold.leave();
    expect(isRunning(cold.pid)).toBe(false);

    const warm = await joinEmbeddedPostgres({ dataDir });
    expect(await query(warm.ownerUrl, 'select answer from kept')).toEqual([{ answer: 7 }]);
    expect(warm.ownerUrl).toBe(cold.ownerUrl);
    await warm.leave();
  });

  test('is safe by default: checksums, scram, durable, no network, a private password', async () => {
    const dataDir = workshop.dataDir('safe');
    const server = await joinEmbeddedPostgres({ dataDir, settings: { work_mem: '5MB' } });
    const settings = await query(
      server.ownerUrl,
      `select name, setting from pg_settings
        where name in ('data_checksums', 'fsync', 'listen_addresses', 'max_connections', 'TimeZone', 'work_mem')
        order by lower(name)`,
    );
    expect(settings.map(({ name, setting }) => `${name}=${setting}`)).toEqual([
      'data_checksums=on',
      'fsync=on',
      'listen_addresses=',
      'max_connections=200',
      'TimeZone=UTC',
      'work_mem=5120',
    ]);
    expect(await query(server.ownerUrl, "select lower('ÄÖ') as low, getdatabaseencoding() as enc")).toEqual([
      { low: 'äö', enc: 'UTF8' },
    ]);
    expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600);
    const wrong = server.ownerUrl.replace(/:[0-9a-f]+@/, ':wrong@');
    await expect(query(wrong, 'select 1')).rejects.toThrow(/password authentication failed/);
    await server.leave();
  });

  test('is made once and started once when ten processes come at the same time', async () => {
    const dataDir = workshop.dataDir('ten');
    const members = Array.from({ length: 10 }, () => workshop.member({ dataDir }));
    const joined = await Promise.all(members.map((member) => member.joined));
    expect(new Set(joined.map(({ pid }) => pid)).size).toBe(1);
    expect(joined.filter(({ startedByUs }) => startedByUs)).toHaveLength(1);
    const leftovers = readdirSync(dataDir).filter((name) => /new-|draft|incomplete/.test(name));
    expect(leftovers).toEqual([]);
    expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8')).not.toMatch(/FATAL/);

    await Promise.all(members.map((member) => member.leave()));
    expect(findServerPid(join(dataDir, 'postgres'))).toBeNull();
  });

  test('is joined and not started again when it runs, with another database made on the way', async () => {
    const dataDir = await workshop.madeDataDir('join');
    const first = await joinEmbeddedPostgres({ dataDir });
    const second = await joinEmbeddedPostgres({ dataDir });
    expect(second).toMatchObject({ startedByUs: false, pid: first.pid });
    const others = await Promise.all(
      ['a "b', 'a "b'].map((database) => joinEmbeddedPostgres({ dataDir, database })),
    );
    for (const other of others) {
      expect(await query(other.ownerUrl, 'select current_database() as name')).toEqual([{ name: 'a "b' }]);
    }
    await Promise.all([first, second, ...others].map((server) => server.leave()));
    expect(isRunning(first.pid)).toBe(false);
  });

  test('stays until the last process leaves', async () => {
    const dataDir = await workshop.madeDataDir('two');
    const [first, second] = [workshop.member({ dataDir }), workshop.member({ dataDir })];
    const [{ pid, ownerUrl }] = await Promise.all([first.joined, second.joined]);
    await first.leave();
    expect(await query(ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await second.leave();
    expect(isRunning(pid)).toBe(false);
  });

  test('is there for a process that joins at the moment the last one leaves', async () => {
    const dataDir = await workshop.madeDataDir('door');
    let current = await joinEmbeddedPostgres({ dataDir });
    for (let round = 0; round < 8; round += 1) {
      const [next] = await Promise.all([joinEmbeddedPostgres({ dataDir }), current.leave()]);
      expect(await query(next.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
      current = next;
    }
    await current.leave();
  });
});

describe('after a crash', { timeout: 60_000 }, () => {
  test('the server of a killed process is adopted', async () => {
    const dataDir = await workshop.madeDataDir('adopt');
    const starter = workshop.member({ dataDir });
    const { pid } = await starter.joined;
    await starter.kill();
    const heir = await joinEmbeddedPostgres({ dataDir });
    expect(heir).toMatchObject({ pid, startedByUs: false });
    await heir.leave();
    expect(isRunning(pid)).toBe(false);
  });

  test('the server is brought up again by one of its members, and all stay members', async () => {
    const dataDir = await workshop.madeDataDir('revive');
    const members = [
      workshop.member({ dataDir }),
      workshop.member({ dataDir }),
      workshop.member({ dataDir }),
    ];
    const [{ pid, ownerUrl }] = (await Promise.all(members.map(({ joined }) => joined))) as [
      Awaited<MemberProcess['joined']>,
    ];
    await query(ownerUrl, 'create table kept as select 1 as one');
    process.kill(pid, 'SIGKILL');
    const revived = async () => new Set(await Promise.all(members.map((member) => member.serverPid())));
    await waitFor(async () => (await revived()).size === 1 && !(await revived()).has(pid), 'a new server');
    expect(await query(ownerUrl, 'select one from kept')).toEqual([{ one: 1 }]);
    expect(
      members.flatMap(({ notices }) => notices.filter((text) => /started again/.test(text))),
    ).toHaveLength(1);

    const [newPid] = await revived();
    await members[0]?.leave();
    await members[1]?.leave();
    expect(isRunning(newPid ?? 0)).toBe(true);
    await members[2]?.leave();
    expect(isRunning(newPid ?? 0)).toBe(false);
  });

  test('a database that vanished under its server is not replaced by an empty one', async () => {
    const dataDir = await workshop.madeDataDir('vanished');
    const layout = await findLayout(dataDir, () => {});
    const control = join(layout.postgresDir, 'global/pg_control');
    renameSync(control, `${control}.away`);
    const request = { layout, database: 'sluice', settings: {}, cacheDir: undefined, onNotice: () => {} };
    await expect(joinServer({ ...request, mayMake: false })).rejects.toThrow(/no empty one is made/);
    renameSync(`${control}.away`, control);
    const { member } = await joinServer({ ...request, mayMake: false });
    await leaveServer(member, layout);
  });

  test('everything killed at once is no obstacle to the next start', async () => {
    const dataDir = await workshop.madeDataDir('all-killed');
    const member = workshop.member({ dataDir });
    const { pid, ownerUrl } = await member.joined;
    await query(ownerUrl, 'create table kept as select 1 as one');
    await member.kill();
    process.kill(pid, 'SIGKILL');
    const next = await joinEmbeddedPostgres({ dataDir });
    expect(next.startedByUs).toBe(true);
    expect(await query(next.ownerUrl, 'select one from kept')).toEqual([{ one: 1 }]);
    await next.leave();
  });

  test('lock files that name the pid of some other program of the same user do not stop a start', async () => {
    const dataDir = await workshop.madeDataDir('foreign-pid');
    const first = await joinEmbeddedPostgres({ dataDir });
    await first.leave();
    const owner = statSync(first.postgresDir);
    const stranger = spawn('sleep', ['60'], { uid: owner.uid, gid: owner.gid, stdio: 'ignore' });
    try {
      const lines = [
        stranger.pid,
        first.postgresDir,
        1,
        5432,
        join(dataDir, 'postgres.socket'),
        '',
        '  1  2',
        'ready   ',
      ];
      const files = [
        join(first.postgresDir, 'postmaster.pid'),
        join(dataDir, 'postgres.socket', '.s.PGSQL.5432.lock'),
      ];
      for (const file of files) {
        writeFileSync(file, `${lines.join('\n')}\n`);
        chownSync(file, owner.uid, owner.gid);
      }
      const next = await joinEmbeddedPostgres({ dataDir });
      expect(next.startedByUs).toBe(true);
      await next.leave();
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill('SIGKILL');
    }
  });

  test('a making that was killed half-way is done again', async () => {
    const dataDir = workshop.dataDir('half');
    const member = workshop.member({ dataDir });
    const drafts = () =>
      existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-')) : [];
    await waitFor(
      () => drafts().some((draft) => existsSync(join(dataDir, draft, 'postgres', 'base'))),
      'initdb',
    );
    await member.kill();
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    const server = await joinEmbeddedPostgres({ dataDir });
    expect(server.startedByUs).toBe(true);
    expect(await query(server.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.leave();
    expect(drafts()).toEqual([]);
  });

  test('a directory without a complete database is put aside, not deleted', async () => {
    const dataDir = workshop.dataDir('incomplete');
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
    writeFileSync(join(dataDir, 'postgres.password'), 'kept\n');
    const notices: string[] = [];
    const server = await joinEmbeddedPostgres({ dataDir, onNotice: (text) => notices.push(text) });
    expect(notices.join()).toMatch(/held no complete database/);
    const aside = readdirSync(dataDir).find((name) => name.startsWith('postgres.incomplete-')) ?? '';
    expect(readFileSync(join(dataDir, aside, 'PG_VERSION'), 'utf8')).toBe('18\n');
    expect(server.ownerUrl).toMatch(/:kept@/);
    await server.leave();
  });
});

describe('what cannot work is said', { timeout: 60_000 }, () => {
  test('a setting that the server refuses is quoted from its log', async () => {
    const dataDir = await workshop.madeDataDir('setting');
    const attempt = joinEmbeddedPostgres({ dataDir, settings: { no_such_setting: '1' } });
    await expect(attempt).rejects.toThrow(/unrecognized configuration parameter "no_such_setting"/);
  });

  test('a database of another major version is named with both versions', async () => {
    const dataDir = await workshop.madeDataDir('major');
    const server = await joinEmbeddedPostgres({ dataDir });
    await server.leave();
    writeFileSync(join(server.postgresDir, 'PG_VERSION'), '17\n');
    await expect(joinEmbeddedPostgres({ dataDir })).rejects.toThrow(
      /made by PostgreSQL 17.*brings PostgreSQL 18/,
    );
  });

  test('a lost password file is named', async () => {
    const dataDir = workshop.dataDir('password');
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
    await expect(joinEmbeddedPostgres({ dataDir })).rejects.toThrow(
      /password file .*postgres\.password is gone/,
    );
  });
});

describe('where things lie', { timeout: 60_000 }, () => {
  test('a path too long for a socket gets a short private directory', async () => {
    const dataDir = await workshop.madeDataDir('long'.repeat(20), 'path'.repeat(10));
    const server = await joinEmbeddedPostgres({ dataDir });
    const socketDir = decodeURIComponent(new URL(server.ownerUrl).hostname);
    expect(socketDir).toMatch(/^\/tmp\/sluice-[0-9a-f]{12}$/);
    expect(statSync(socketDir).mode & 0o777).toBe(0o700);
    expect(await query(server.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.leave();
    workshop.cleanUpOutside(join(socketDir, 'nothing'));
  });

  test('library links that the installation left out are made, also by several at once', async () => {
    const root = workshop.installWithoutLinks('no-links');
    const links = workshop.libraryLinks(root);
    expect(links.length).toBeGreaterThan(5);
    expect(links.some((link) => existsSync(link))).toBe(false);
    const member = workshop.member({ dataDir: workshop.dataDir('no-links') }, { root });
    await member.joined;
    await member.leave();
    const missing = () => links.filter((link) => !lstatSync(link).isSymbolicLink() || !existsSync(link));
    expect(missing()).toEqual([]);

    for (const link of links) rmSync(link);
    const packageDir = join(dirname(links[0] ?? ''), '..', '..');
    await Promise.all(Array.from({ length: 10 }, () => linkLibraries(packageDir)));
    expect(missing()).toEqual([]);
    expect(readdirSync(dirname(links[0] ?? '')).filter((name) => name.includes('draft'))).toEqual([]);
  });
});

describe.runIf(asRoot)('as root and as others', { timeout: 180_000 }, () => {
  const nobody = { uid: 65534, gid: 65534 };

  test('the server runs as an unprivileged user, who owns the database', async () => {
    const dataDir = await workshop.madeDataDir('root');
    const server = await joinEmbeddedPostgres({ dataDir });
    expect(statSync(`/proc/${server.pid}`).uid).not.toBe(0);
    expect(statSync(`/proc/${server.pid}`).uid).toBe(statSync(server.postgresDir).uid);
    await server.leave();
  });

  test('an ordinary user runs it as himself, and root joins it as that user', async () => {
    const home = join(workshop.root, 'ordinary');
    mkdirSync(home, { mode: 0o755 });
    chownSync(home, nobody.uid, nobody.gid);
    const dataDir = workshop.dataDir('ordinary');
    const member = workshop.member({ dataDir }, nobody);
    const { pid, ownerUrl } = await member.joined;
    expect(statSync(`/proc/${pid}`).uid).toBe(nobody.uid);
    expect(await query(ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await member.leave();
    chmodSync(dataDir, 0o755);
    const root = await joinEmbeddedPostgres({ dataDir });
    expect(statSync(`/proc/${root.pid}`).uid).toBe(nobody.uid);
    await root.leave();
    const again = workshop.member({ dataDir }, nobody);
    await again.joined;
    await again.leave();
  });

  test('an ordinary user with a read-only installation uses a copy of the programs', async () => {
    const root = workshop.installWithoutLinks('read-only');
    const home = join(workshop.root, 'reader');
    mkdirSync(home, { mode: 0o755 });
    chownSync(home, nobody.uid, nobody.gid);
    const cacheDir = join(home, 'cache');
    const member = workshop.member({ dataDir: workshop.dataDir('reader'), cacheDir }, { ...nobody, root });
    await member.joined;
    expect(member.notices.join()).toMatch(/programs were copied to .*cache\/postgres-18/);
    expect(readdirSync(cacheDir)).toHaveLength(1);
    await member.leave();
  });

  test('a database below a closed directory moves out, says so and is found again', async () => {
    const closed = join(workshop.root, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const dataDir = workshop.dataDir('closed');
    const notices: string[] = [];
    const server = await joinEmbeddedPostgres({ dataDir, onNotice: (text) => notices.push(text) });
    workshop.cleanUpOutside(server.postgresDir);
    expect(server.postgresDir).toMatch(/^\/var\/lib\/sluice\/sluice-[0-9a-f]{12}\/postgres$/);
    expect(notices).toEqual([
      expect.stringContaining(`The database lives in ${server.postgresDir}, because`),
    ]);
    expect(readFileSync(join(dataDir, 'postgres.location'), 'utf8')).toBe(`${server.postgresDir}\n`);
    await query(server.ownerUrl, 'create table kept as select 1 as one');
    await server.leave();
    // Open by now: the place that was recorded still counts.
    chmodSync(closed, 0o755);
    const again = await joinEmbeddedPostgres({ dataDir });
    expect(again.postgresDir).toBe(server.postgresDir);
    expect(await query(again.ownerUrl, 'select one from kept')).toEqual([{ one: 1 }]);
    await again.leave();
  });

  test('programs below a closed directory are copied to where the user can run them', async () => {
    const root = workshop.installWithoutLinks('closed-programs');
    chmodSync(root, 0o700);
    const cacheDir = join(workshop.root, 'cache');
    const dirs = [workshop.dataDir('copy-a'), workshop.dataDir('copy-b')];
    const members = dirs.map((dataDir) => workshop.member({ dataDir, cacheDir }, { root }));
    await Promise.all(members.map((member) => member.joined));
    expect(readdirSync(cacheDir)).toEqual([expect.stringMatching(/^postgres-18/)]);
    await Promise.all(members.map((member) => member.leave()));
  });
});
