import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort } from '../../../test/support/fakes/ports.ts';
import { type Running, useCommandLine } from '../../../test/support/servers/command-line.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';

// Every test runs separate processes.
vi.setConfig({ testTimeout: 120_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 90_000, interval: 25 };

interface Started {
  server: Running;
  url: string;
  linkFile: string;
}

async function startServer(dataDir: string, env: Record<string, string>): Promise<Started> {
  const server = sluice.start([], { PORT: '0', SLUICE_DATA_DIR: dataDir, ...env });
  await vi.waitFor(() => {
    expect(server.child.exitCode, server.stderr()).toBeNull();
    expect(server.stdout()).toContain('sluice --help');
  }, patience);
  const url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
  return { server, url, linkFile: path.join(sluice.cwd, dataDir, 'login-link') };
}

/** Who a link logs in; a link that is refused gives the status. */
async function use(link: string): Promise<unknown> {
  const answer = await fetch(link.trim(), { redirect: 'manual' });
  if (answer.status !== 303) return answer.status;
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const me = await fetch(new URL('/api/me', link), { headers: { cookie } });
  const { user_id, tenant_id, role } = (await me.json()) as Record<string, unknown>;
  return { user_id, tenant_id, role };
}

const operator = { user_id: 'operator', tenant_id: 'default', role: 'operator' };

describe('the link of a start', () => {
  test('goes to a file of its owner where others read the output: an external database', async () => {
    const env = { DATABASE_URL: database.ownerUrl, LOG_LEVEL: 'trace' };
    const { server, linkFile } = await startServer('external', env);
    expect(server.stdout()).toContain(linkFile);
    expect((await stat(linkFile)).mode & 0o777).toBe(0o600);
    const link = await readFile(linkFile, 'utf8');
    expect(await use(link)).toEqual(operator);
    expect(await use(link)).toBe(401);
    const code = new URL(link.trim()).searchParams.get('code') ?? 'no code';
    server.child.kill('SIGTERM');
    const { stdout, stderr } = await server.ended;
    for (const output of [stdout, stderr]) {
      expect(output).not.toContain('code=');
      expect(output).not.toContain(code);
    }
  });

  test('replaces whatever has the name of the file, and writes through no symbolic link', async () => {
    const dataDir = path.join(sluice.cwd, 'replaced');
    const victim = path.join(sluice.cwd, 'victim');
    await writeFile(victim, 'untouched', { mode: 0o644 });
    const first = await startServer('replaced', { DATABASE_URL: database.ownerUrl });
    first.server.child.kill('SIGTERM');
    await first.server.ended;
    await rm(path.join(dataDir, 'login-link'));
    await symlink(victim, path.join(dataDir, 'login-link'));
    const { server, linkFile } = await startServer('replaced', { DATABASE_URL: database.ownerUrl });
    expect((await stat(linkFile)).mode & 0o777).toBe(0o600);
    expect(await use(await readFile(linkFile, 'utf8'))).toEqual(operator);
    expect(await readFile(victim, 'utf8')).toBe('untouched');
    server.child.kill('SIGTERM');
    await server.ended;
  });

  test('is printed for the embedded database on a loopback address, and not on another address', async () => {
    const open = await startServer('embedded', { HOST: '0.0.0.0' });
    expect(open.server.stdout()).not.toContain('code=');
    expect(open.server.stdout()).toContain(open.linkFile);
    expect(await use(await readFile(open.linkFile, 'utf8'))).toEqual(operator);
    const behindProxy = { SLUICE_PUBLIC_URL: 'https://sluice.example.com' };
    const proxied = await startServer('embedded', behindProxy);
    expect(proxied.server.stdout()).not.toContain('code=');
    const local = await startServer('embedded', {});
    const printed = /log in +(\S+)/.exec(local.server.stdout())?.[1] ?? '';
    expect(await use(printed)).toEqual(operator);
    const { code, stdout, stderr } = await sluice.run(['login'], { SLUICE_DATA_DIR: 'embedded' });
    expect({ code, lines: stdout.trimEnd().split('\n').length }, stderr).toEqual({ code: 0, lines: 1 });
    expect(new URL(stdout.trim()).origin).toBe(local.url);
    expect(await use(stdout)).toEqual(operator);
    // The last one out stops the database.
    for (const { server } of [open, proxied, local]) {
      server.child.kill('SIGTERM');
      await server.ended;
    }
  });
});

describe('sluice login', () => {
  const env = () => ({ DATABASE_URL: database.ownerUrl, SLUICE_DATA_DIR: 'for-login' });
  let started: Started;
  beforeAll(async () => {
    started = await startServer('for-login', { DATABASE_URL: database.ownerUrl });
  }, 120_000);

  test('prints a fresh link each time, and nothing else on stdout', async () => {
    const results = [await sluice.run(['login'], env()), await sluice.run(['login'], env())];
    for (const { code, stdout, stderr } of results) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('within 30 minutes') });
      expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=[\w-]{43}\n$/);
      expect(stdout.startsWith(started.url)).toBe(true);
      expect(await use(stdout)).toEqual(operator);
      expect(await use(stdout)).toBe(401);
    }
    expect(results[0]?.stdout).not.toBe(results[1]?.stdout);
  });

  test('logs in as another tenant, role and user', async () => {
    const { stdout } = await sluice.run(['login', '--tenant', 'acme', '--role', 'member'], env());
    expect(await use(stdout)).toEqual({ user_id: 'member', tenant_id: 'acme', role: 'member' });
    const ann = ['login', '--tenant', 'acme', '--role', 'admin', '--sub', 'ann'];
    const named = await sluice.run(ann, env());
    expect(await use(named.stdout)).toEqual({ user_id: 'ann', tenant_id: 'acme', role: 'admin' });
  });

  test('takes the address of the server from --url', async () => {
    const other = started.url.replace('127.0.0.1', 'localhost');
    const { stdout } = await sluice.run(['login', '--url', `${other}/`], env());
    expect(stdout.startsWith(`${other}/login?code=`)).toBe(true);
  });

  test('says what to do when no server runs, and makes no link', async () => {
    const count = () => database.owner('select count(*)::int as n from login_links');
    const before = await count();
    const nowhere = { ...env(), SLUICE_DATA_DIR: 'nobody', PORT: String(await freePort()) };
    const { code, stdout, stderr } = await sluice.run(['login'], nowhere);
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toContain('sluice serve');
    expect(stderr).toContain('--url');
    expect(await count()).toEqual(before);
  });

  test('refuses a disabled user with 4, and says who can enable them', async () => {
    await sluice.run(['login', '--tenant', 'acme', '--role', 'admin', '--sub', 'zoe'], env());
    await database.owner(`update users set disabled_at = now() where user_id = 'zoe'`);
    const { code, stdout, stderr } = await sluice.run(
      ['login', '--tenant', 'acme', '--role', 'admin', '--sub', 'zoe'],
      env(),
    );
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('enable');
  });

  test.each([
    { args: ['--role', 'king'], says: 'member, admin, support, service, operator' },
    { args: ['--tenant', 'x'.repeat(201)], says: '1 to 200 characters' },
    { args: ['--sub', 'api_key:x'], says: 'api_key:' },
  ])('wrong usage $args ends with 2 and says what is allowed', async ({ args, says }) => {
    const { code, stdout, stderr } = await sluice.runHere(['login', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
  });
});
