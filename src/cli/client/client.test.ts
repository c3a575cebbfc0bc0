import { access } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../test/support/servers/command-line.ts';
import { testTokens, useServer } from '../../../test/support/servers/server.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';

// Some of the commands run as separate processes.
vi.setConfig({ testTimeout: 60_000 });

const database = useDatabase();
const server = useServer(database);
const sluice = useCommandLine();
const list = ['jobs', 'list', '--json'];

describe('the token of the command line', () => {
  test('is signed with the installation’s secret, for the named tenant, when none is given', async () => {
    const env = { SLUICE_URL: server.url, SLUICE_JWT_SECRET: testTokens.secret };
    const { code, stdout } = await sluice.run([...list, '--tenant', 'new-tenant'], env);
    expect({ code, list: JSON.parse(stdout) }).toEqual({ code: 0, list: { data: [], has_more: false } });
    const users = await database.owner<{ user_id: string; role: string }>(
      'select user_id, role from users where tenant_id = $1',
      ['new-tenant'],
    );
    expect(users).toEqual([{ user_id: 'cli', role: 'operator' }]);
  });

  test('is asked for when there is neither token nor secret, and no secret is created', async () => {
    const { code, stdout, stderr } = await sluice.run(list, { SLUICE_URL: server.url });
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('SLUICE_TOKEN');
    await expect(access(path.join(sluice.cwd, '.sluice'))).rejects.toThrow('ENOENT');
  });

  test('is not signed where a login service issues the tokens', async () => {
    const env = { SLUICE_URL: server.url, SLUICE_JWKS_URL: 'https://login.example.com/jwks' };
    expect(await sluice.runHere(list, env)).toMatchObject({ code: 4, stdout: '' });
  });

  test('ends the command with 4, and is not shown, when it is refused or lacks the right', async () => {
    const canary = 'canary-canary-canary';
    const member = await server.token({ tenantId: 't', role: 'member' });
    const refused = await sluice.runHere(list, { SLUICE_URL: server.url, SLUICE_TOKEN: canary });
    const typed = await sluice.runHere([...list, '--token', `${canary}\n${canary}`, '--url', server.url]);
    const forbidden = await sluice.runHere(['dlq', 'list'], { SLUICE_URL: server.url, SLUICE_TOKEN: member });
    for (const { code, stdout, stderr } of [refused, typed, forbidden]) {
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
      expect(stderr).not.toContain(canary);
      expect(stderr).not.toContain(member);
    }
    expect(refused.stderr).toContain('(invalid_token)');
    expect(forbidden.stderr).toContain('(forbidden)');
  });
});

describe('a server that cannot be reached', () => {
  test('ends every command with 5 and names the address', async () => {
    const env = { SLUICE_TOKEN: 'a-token-of-some-length' };
    const results = await Promise.all([
      sluice.run([...list, '--url', 'http://127.0.0.1:1/'], env),
      sluice.runHere(['jobs', 'watch'], { ...env, PORT: '1' }),
    ]);
    for (const { code, stdout, stderr } of results) {
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
      expect(stderr).toContain('http://127.0.0.1:1 cannot be reached');
      expect(stderr).toContain('sluice serve');
    }
  });
});

describe('a server that is something else', () => {
  const other = createServer((request, reply) => {
    if (request.url?.startsWith('/moved')) reply.writeHead(302, { location: '/api/jobs' }).end();
    else reply.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello');
  });
  beforeAll(() => new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise<void>((resolve) => other.close(() => resolve())));

  test.each(['', '/moved/'])('is recognised at %j', async (prefix) => {
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}${prefix}`;
    const { code, stdout, stderr } = await sluice.runHere(list, {
      SLUICE_URL: url,
      SLUICE_TOKEN: 'a-token-of-some-length',
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('it is not a Sluice server');
  });
});

test.each([
  { args: ['jobs'], says: 'Commands:' },
  { args: ['jobs', 'lsit'], says: 'list' },
  { args: ['jobs', 'show', '17'], says: 'the whole id of a job' },
  { args: ['jobs', 'list', '--status', 'lost'], says: 'queued, running, paused' },
  { args: ['jobs', 'list', '--limit', '0'], says: 'from 1 to 10000' },
  { args: ['jobs', 'list'], says: 'PORT is 0' },
  { args: ['jobs', 'list', '--url', 'http://me:canary@127.0.0.1'], says: 'Leave them out' },
  {
    args: ['jobs', 'list', '--tenant', 't', '--token', 'x'.repeat(20), '--url', 'http://127.0.0.1'],
    says: 'Leave out --tenant',
  },
  { args: ['dlq', 'requeue'], says: 'either the id of a dead letter or --all' },
  { args: ['dlq', 'requeue', '--all', '--correlation-id', 'c'], says: 'one dead letter' },
])('$args is wrong usage and ends with 2', async ({ args, says }) => {
  const { code, stdout, stderr } = await sluice.runHere(args, { PORT: '0' });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
  expect(stderr).not.toContain('canary');
});
