import { expect, test } from 'vitest';
import { useCommandLine } from '../../test/command-line.ts';

const sluice = useCommandLine();

test('the version and the help go to stdout and end with 0', async () => {
  const version = await sluice.run(['--version']);
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
  { args: ['frobnicate'], says: 'Allowed: serve, worker, migrate, items, jobs, dlq, token, config, doctor' },
  { args: ['serve', '--colour'], says: '--colour' },
  { args: ['migrate', 'sideways'], says: 'too many arguments' },
])('$args is wrong usage: it ends with 2, and stdout stays empty', async ({ args, says }) => {
  const { code, stdout, stderr } = await sluice.run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
});

test('a start with bad settings lists all of them, shows no secret and ends with 2', async () => {
  const env = { PORT: 'x', LEASE_MS: '1', SLUICE_JWT_SECRET: 'canary', DATABASE_URL: 'postgres:canary' };
  const { code, stdout, stderr } = await sluice.run([], env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  for (const name of Object.keys(env)) expect(stderr).toContain(`${name} is `);
  expect(stderr.match(/Allowed: /g)).toHaveLength(4);
  expect(stderr).not.toContain('canary');
});

test('config prints every value with its source, as text and as JSON, and masks secrets', async () => {
  const env = { SLUICE_JWT_SECRET: 'canary-canary-canary', DATABASE_URL: 'postgres://o:canary@h/d' };
  const asText = await sluice.run(['config', '--port', '81', '--no-worker'], env);
  expect(asText.stdout).toMatch(/^PORT +81 +the command line$/m);
  expect(asText.stdout).toMatch(/^SLUICE_WORKER +false +the command line$/m);
  expect(asText.stdout).toMatch(/^HOST +127\.0\.0\.1 +default$/m);
  const asJson = await sluice.run(['config', '--json'], env);
  const lines = JSON.parse(asJson.stdout) as { variable: string; value: unknown; source: string }[];
  expect(lines.find((line) => line.variable === 'DATABASE_URL')).toMatchObject({
    value: 'postgres://o:***@h/d',
    source: 'the environment',
  });
  expect(asText.stdout + asJson.stdout).not.toContain('canary');
});

test('a database that cannot be reached ends every command that needs it with 5', async () => {
  const env = { DATABASE_URL: 'postgres://o:canary-password@127.0.0.1:1/x' };
  for (const args of [['serve'], ['migrate', 'up'], ['migrate', 'status']]) {
    const { code, stdout, stderr } = await sluice.run(args, env);
    expect({ args, code, stdout }).toEqual({ args, code: 5, stdout: '' });
    expect(stderr).toContain('cannot be reached');
    expect(stderr).not.toContain('canary');
  }
});
