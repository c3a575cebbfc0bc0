import { expect, test, vi } from 'vitest';
import { useCommandLine } from '../../test/support/servers/command-line.ts';

// Some of the commands run as separate processes.
vi.setConfig({ testTimeout: 90_000 });

const sluice = useCommandLine();

// Most tests of commands run them in the test's own process. What that proves rests on this comparison, which also is
// the proof of these exit codes on real processes. 3 is proven so in catalog.test.ts, items.test.ts and jobs.test.ts,
// 130 wherever a command is interrupted (jobs.test.ts, scan.test.ts), and the ends of a server in serve.test.ts.
test.each<{ code: number; args: string[]; env: Record<string, string> }>([
  { code: 0, args: ['config', '--port', '81'], env: { SLUICE_JWT_SECRET: 'a-secret-that-is-masked' } },
  {
    code: 1,
    args: ['doctor'],
    env: { DATABASE_URL: 'postgres://o:pw@127.0.0.1:1/x', SLUICE_DATA_DIR: 'data' },
  },
  { code: 2, args: ['frobnicate'], env: {} },
  { code: 2, args: ['serve', '--colour'], env: {} },
  { code: 4, args: ['jobs', 'list'], env: { SLUICE_URL: 'http://127.0.0.1:1' } },
  {
    code: 5,
    args: ['jobs', 'list'],
    env: { SLUICE_URL: 'http://127.0.0.1:1', SLUICE_TOKEN: 'x'.repeat(20) },
  },
])('$args ends with $code and prints the same in a separate process as here', async ({ code, args, env }) => {
  const own = await sluice.run(args, env);
  expect(own.code).toBe(code);
  expect(own.stdout + own.stderr).not.toBe('');
  expect(await sluice.runHere(args, env)).toEqual(own);
});

test('a command that ran here leaves nothing behind in the process', async () => {
  const now = () => ({
    cwd: process.cwd(),
    env: { ...process.env },
    exitCode: process.exitCode,
    streams: [process.stdin, process.stdout, process.stderr],
    exit: process.exit,
    signals: process.listenerCount('SIGTERM') + process.listenerCount('uncaughtException'),
  });
  const before = now();
  // The first one ends while it holds the signals.
  for (const args of [['worker', '--once'], ['config'], ['doctro']]) {
    await sluice.runHere(args, { DATABASE_URL: 'postgres://o:pw@127.0.0.1:1/x' });
  }
  expect(now()).toEqual(before);
});

test('the version and the help go to stdout and end with 0', async () => {
  const version = await sluice.runHere(['--version']);
  expect(version).toMatchObject({ code: 0, stderr: '' });
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const help = await sluice.run(['--help']);
  expect(help.code).toBe(0);
  for (const command of [
    'serve',
    'worker',
    'migrate',
    'items',
    'jobs',
    'dlq',
    'token',
    'config',
    'doctor',
    'Exit codes',
  ]) {
    expect(help.stdout).toContain(command);
  }
});

test.each([
  { args: ['doctro'], says: 'Did you mean doctor?' },
  {
    args: ['frobnicate'],
    says: 'Allowed: serve, worker, migrate, jobs, find, dlq, users, keys, workspaces, webhooks, login, token, ',
  },
  { args: ['serve', '--colour'], says: '--colour' },
  { args: ['migrate', 'sideways'], says: 'too many arguments' },
])('$args is wrong usage: it ends with 2, and stdout stays empty', async ({ args, says }) => {
  const { code, stdout, stderr } = await sluice.runHere(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
});

test('a start with bad settings lists all of them, shows no secret and ends with 2', async () => {
  const env = { PORT: 'x', LEASE_MS: '1', SLUICE_JWT_SECRET: 'canary', DATABASE_URL: 'postgres:canary' };
  const { code, stdout, stderr } = await sluice.runHere([], env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  for (const name of Object.keys(env)) expect(stderr).toContain(`${name} is `);
  expect(stderr.match(/Allowed: /g)).toHaveLength(4);
  expect(stderr).not.toContain('canary');
});

test('config prints every value with its source, as text and as JSON, and masks secrets', async () => {
  const env = { SLUICE_JWT_SECRET: 'canary-canary-canary', DATABASE_URL: 'postgres://o:canary@h/d' };
  const asText = await sluice.runHere(['config', '--port', '81', '--no-worker'], env);
  expect(asText.stdout).toMatch(/^PORT +81 +the command line$/m);
  expect(asText.stdout).toMatch(/^SLUICE_WORKER +false +the command line$/m);
  expect(asText.stdout).toMatch(/^HOST +127\.0\.0\.1 +default$/m);
  const withWorker = await sluice.runHere(['config', '--worker'], { ...env, SLUICE_WORKER: 'false' });
  expect(withWorker.stdout).toMatch(/^SLUICE_WORKER +true +the command line$/m);
  const asJson = await sluice.runHere(['config', '--json'], env);
  const lines = JSON.parse(asJson.stdout) as { variable: string; value: unknown; source: string }[];
  expect(lines.find((line) => line.variable === 'DATABASE_URL')).toMatchObject({
    value: 'postgres://o:***@h/d',
    source: 'the environment',
  });
  expect(asText.stdout + asJson.stdout).not.toContain('canary');
});

test('a database that cannot be reached ends every command that needs it with 5', async () => {
  const env = { DATABASE_URL: 'postgres://o:canary-password@127.0.0.1:1/x' };
  const results = [
    await sluice.run(['serve'], env),
    await sluice.runHere(['migrate', 'up'], env),
    await sluice.runHere(['migrate', 'status'], env),
  ];
  for (const { code, stdout, stderr } of results) {
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toContain('cannot be reached');
    expect(stderr).not.toContain('canary');
  }
});
