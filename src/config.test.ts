import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { badValues } from '../test/generators/settings.ts';
import { configSecrets, describeConfig, lists, loadConfig, settings, wantsColor } from './config.ts';
import { isSluiceError } from './lib/errors.ts';

let cwd = '';

beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'sluice-config-'));
});

afterEach(async () => {
  await rm(cwd, { recursive: true, force: true });
});

const put = (name: string, content: string) => writeFile(path.join(cwd, name), content);

async function problemsOf(
  env: Record<string, string>,
  flags: Record<string, unknown> = {},
): Promise<string[]> {
  try {
    await loadConfig({ env, cwd, flags });
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    expect(error.code).toBe('configuration_invalid');
    const problems = error.details.problems as string[];
    for (const problem of problems) expect(error.message).toContain(problem);
    return problems;
  }
  return [];
}

describe('defaults', () => {
  test('with nothing set everything has its documented default', async () => {
    const { config, sources } = await loadConfig({ env: {}, cwd });
    expect(config).toMatchObject({
      port: 7400,
      host: '127.0.0.1',
      dataDir: path.join(cwd, '.sluice'),
      databaseUrl: null,
      jwtIssuer: 'sluice',
      leaseMs: 10_000,
      heartbeatMs: 2000,
      logLevel: 'warn',
      worker: true,
      trustProxy: false,
    });
    expect(sources.port.from).toBe('default');
  });

  test('the log level is info as soon as the database is not the embedded one', async () => {
    const { config } = await loadConfig({ env: { DATABASE_URL: 'postgres://o:pw@db/x' }, cwd });
    expect(config.logLevel).toBe('info');
  });

  test('the heartbeat follows the lease', async () => {
    expect((await loadConfig({ env: { LEASE_MS: '3000' }, cwd })).config.heartbeatMs).toBe(600);
  });

  test('an empty variable counts as not set', async () => {
    const { config, sources } = await loadConfig({ env: { PORT: '', DATABASE_URL: '' }, cwd });
    expect(config.port).toBe(7400);
    expect(sources.port.from).toBe('default');
    expect(config.databaseUrl).toBeNull();
  });
});

describe('precedence', () => {
  test('a flag beats the environment, which beats .env, which beats sluice.config.mjs', async () => {
    await put(
      'sluice.config.mjs',
      'export default { port: 1, host: "config", jwtIssuer: "config", jwtAudience: "config" }',
    );
    await put('.env', 'PORT=2\nHOST=dotenv\nSLUICE_JWT_ISSUER=dotenv\n');
    const { config, sources } = await loadConfig({
      env: { PORT: '3', HOST: 'environment' },
      flags: { port: '4' },
      cwd,
    });
    expect([config.port, config.host, config.jwtIssuer, config.jwtAudience]).toEqual([
      4,
      'environment',
      'dotenv',
      'config',
    ]);
    expect([sources.port.from, sources.host.from, sources.jwtIssuer.from, sources.jwtAudience.from]).toEqual([
      'flag',
      'environment',
      'env-file',
      'config-file',
    ]);
  });

  test('.env values may be quoted, commented and exported', async () => {
    await put(
      '.env',
      '# a comment\nexport HOST="::1" # loopback\nSLUICE_JWT_SECRET=\'a # b "c" d e f g h\'\n',
    );
    const { config } = await loadConfig({ env: {}, cwd });
    expect(config.host).toBe('::1');
    expect(config.jwtSecret).toBe('a # b "c" d e f g h');
  });

  test('a secret may come from a file, also one that .env names', async () => {
    await put('jwt', 'a-secret-of-more-than-16-bytes\n');
    for (const where of ['env', '.env']) {
      if (where === '.env') await put('.env', 'SLUICE_JWT_SECRET_FILE=jwt');
      const env = where === 'env' ? { SLUICE_JWT_SECRET_FILE: path.join(cwd, 'jwt') } : {};
      const { config, sources } = await loadConfig({ env, cwd });
      expect(config.jwtSecret).toBe('a-secret-of-more-than-16-bytes');
      expect(sources.jwtSecret.label).toContain('SLUICE_JWT_SECRET_FILE');
    }
  });

  test('a setting that is not secret has no _FILE form', async () => {
    await put('port', '9999');
    const { config } = await loadConfig({ env: { PORT_FILE: path.join(cwd, 'port') }, cwd });
    expect(config.port).toBe(7400);
  });
});

describe('problems', () => {
  test('every setting refuses a bad value with its name, its source and what is allowed, all at once', async () => {
    expect(Object.keys(badValues).sort()).toEqual(
      Object.values(settings)
        .map((entry) => entry.env)
        .sort(),
    );
    const problems = await problemsOf(badValues);
    expect(problems).toHaveLength(Object.keys(badValues).length);
    for (const entry of Object.values(settings)) {
      const line = problems.find((problem) => problem.startsWith(`${entry.env} is `));
      expect(line).toContain('(from the environment)');
      expect(line).toContain(`Allowed: ${entry.allowed}`);
      if (!('secret' in entry) || entry.secret === undefined) expect(line).toContain(badValues[entry.env]);
    }
    expect(problems.join('\n')).not.toContain('canary');
  });

  test('a bad value on the command line is reported under the flag’s name', async () => {
    const [problem] = await problemsOf({}, { port: 'eighty' });
    expect(problem).toBe(
      '--port is "eighty" (from the command line). Allowed: a whole number from 0 to 65535.',
    );
  });

  test('a misspelt `processors` is reported with the right name', async () => {
    await put('sluice.config.mjs', 'export default { procesors: [] }');
    expect(await problemsOf({})).toEqual([
      'procesors (in sluice.config.mjs) is not a setting. Did you mean processors?',
    ]);
  });

  test('an unknown key in sluice.config is a problem that names the nearest setting', async () => {
    await put('sluice.config.mjs', 'export default { prot: 1, SLUICE_WORKER: false, zzz: 1 }');
    const problems = await problemsOf({});
    expect(problems[0]).toBe('prot (in sluice.config.mjs) is not a setting. Did you mean port?');
    expect(problems[1]).toContain('Did you mean worker?');
    expect(problems[2]).toContain('Allowed: the names in docs/configuration.md');
  });

  test('a config file that does not load or exports nothing is reported beside the other problems', async () => {
    await put('sluice.config.mjs', 'export const port = 1');
    expect(await problemsOf({ PORT: 'x' })).toHaveLength(2);
  });

  test('a config file that throws says so', async () => {
    await put('sluice.config.mjs', 'throw new Error("no coffee")');
    expect((await problemsOf({}))[0]).toContain('no coffee');
  });

  test('the processors of a config file are read, beside its settings', async () => {
    await put(
      'sluice.config.mjs',
      `export default { port: 81, processors: [{ name: 'mine', processItem: () => ({ status: 'DONE' }) }] }`,
    );
    const { config, definitions } = await loadConfig({ env: {}, cwd });
    expect(config.port).toBe(81);
    expect(config).not.toHaveProperty('processors');
    expect(definitions.processors).toMatchObject([{ name: 'mine' }]);
    expect((await loadConfig({ env: {}, cwd: tmpdir() })).definitions.processors).toEqual([]);
  });

  const embedder = `{ name: 'mine', model: 'm', dimensions: 2, embed: () => [] }`;
  test('the embedders of a config file are read, beside its settings', async () => {
    await put('sluice.config.mjs', `export default { embedders: [${embedder}] }`);
    const { config, definitions } = await loadConfig({ env: {}, cwd });
    expect(config).not.toHaveProperty('embedders');
    expect(definitions.embedders).toMatchObject([{ name: 'mine', dimensions: 2 }]);
    expect((await loadConfig({ env: {}, cwd: tmpdir() })).definitions.embedders).toEqual([]);
  });

  test('an invalid embedder is a problem of the file', async () => {
    await put('sluice.config.mjs', `export default { embedders: [${embedder}, { name: 'local' }] }`);
    const [problem] = await problemsOf({});
    expect(problem).toMatch(/^embedders \(in sluice\.config\.mjs\): number 2: .*built-in/);
  });

  test.each([
    ['{}', 'it is an object. Allowed: an array of processors'],
    ['() => []', 'it is a function. Allowed: an array of processors'],
    ['["noop"]', 'number 1: A processor is a string. Allowed: an object'],
    ['[{ name: "A b", processItem() {} }]', 'number 1: A processor needs a name of lower-case letters'],
    ['[{ name: "a" }]', 'number 1: The processor a needs one function'],
    [
      '[{ name: "a", processItem: 1 }]',
      'The processItem of the processor a is a number. Allowed: a function',
    ],
    ['[{ name: "http", processItem() {} }]', 'The built-in processor is named http already. Give yours'],
    ['[{ name: "a", process() {} }, { name: "a", process() {} }]', 'number 2: Another processor is named a'],
    ['[{ name: "a", process() {}, validateoptions() {} }]', 'perhaps validateOptions is meant'],
    ['[{ name: "a", process() {}, optionsSchema: {} }]', 'optionsSchema of the processor a is an object'],
  ])('processors: %s is a problem of the file, beside the others', async (value, says) => {
    await put('sluice.config.mjs', `export default { processors: ${value}, prot: 1 }`);
    const problems = await problemsOf({ LEASE_MS: '1' });
    expect(problems).toHaveLength(3);
    expect(problems[0]).toMatch(/^processors \(in sluice\.config\.mjs\): .*\.$/);
    expect(problems[0]).toContain(says);
  });

  test('two config files, or a secret given twice, are ambiguous', async () => {
    await put('sluice.config.mjs', 'export default {}');
    await put('sluice.config.ts', 'export default {}');
    const problems = await problemsOf({ METRICS_TOKEN: 'x'.repeat(20), METRICS_TOKEN_FILE: 'y' });
    expect(problems).toHaveLength(2);
    expect(problems.every((problem) => problem.includes('one of the two'))).toBe(true);
  });

  test('a missing secret file is named, with what is allowed', async () => {
    const [problem] = await problemsOf({ SLUICE_JWT_SECRET_FILE: '/nowhere/jwt' });
    expect(problem).toContain('SLUICE_JWT_SECRET_FILE is "/nowhere/jwt"');
    expect(problem).toContain('Allowed:');
  });

  test('values that contradict each other are reported', async () => {
    const problems = await problemsOf({
      LEASE_MS: '1000',
      HEARTBEAT_MS: '900',
      PORT: '80',
      METRICS_PORT: '80',
    });
    expect(problems).toHaveLength(2);
  });

  test('a misspelt SLUICE_ variable is only a warning', async () => {
    const { warnings } = await loadConfig({ env: { SLUICE_JWT_SECERT: 'x', SLUICE_OTHER_THING: 'y' }, cwd });
    expect(warnings).toEqual([
      'SLUICE_JWT_SECERT (in the environment) is not a setting. Did you mean SLUICE_JWT_SECRET?',
    ]);
  });
});

describe('what is shown', () => {
  test('the listing masks secrets and keeps the rest of a database URL', async () => {
    const env = {
      DATABASE_URL: 'postgres://owner:canary%20pw@db.example/x?password=canary2&a=b',
      SLUICE_JWT_SECRET: 'canary-canary-canary',
    };
    const loaded = await loadConfig({ env, cwd });
    const listing = describeConfig(loaded);
    const url = String(listing.find((line) => line.name === 'databaseUrl')?.value);
    expect(url).toMatch(/^postgres:\/\/owner:\*\*\*@db\.example\/x/);
    expect(JSON.stringify(listing)).not.toContain('canary');
    expect(listing.find((line) => line.name === 'port')).toEqual({
      name: 'port',
      variable: 'PORT',
      value: 7400,
      source: 'default',
    });
    expect(configSecrets(loaded.config)).toEqual(
      expect.arrayContaining(['canary pw', 'canary%20pw', 'canary2', 'canary-canary-canary']),
    );
  });

  test('colours are used on terminals whose user did not refuse them', () => {
    expect(wantsColor({ isTTY: true }, {})).toBe(true);
    expect(wantsColor({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColor({}, { CI: 'true' })).toBe(false);
  });

  test('docs/configuration.md matches the table of settings', async () => {
    const script = path.join(import.meta.dirname, '../scripts/pages/configuration.mjs');
    const { renderSettingsPage } = await import(script);
    const page = await readFile(path.join(import.meta.dirname, '../docs/configuration.md'), 'utf8');
    expect(page, 'run `npm run generate`').toBe(
      renderSettingsPage(settings, { chapters: lists.map(([, list]) => list.page) }),
    );
  });
});
