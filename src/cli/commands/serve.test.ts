import { connect } from 'node:net';
import path from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../../../test/support/fakes/ports.ts';
import { type Running, useCommandLine } from '../../../test/support/servers/command-line.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';

// Some of the servers are started by a test.
vi.setConfig({ testTimeout: 90_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 25 };

interface Started {
  server: Running;
  url: string;
}

async function startServer(env: Record<string, string> = {}): Promise<Started> {
  const server = sluice.start([], { DATABASE_URL: database.ownerUrl, PORT: '0', ...env });
  await vi.waitFor(() => {
    expect(server.child.exitCode, server.stderr()).toBeNull();
    expect(server.stdout()).toContain('sluice --help');
  }, patience);
  const url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
  return { server, url };
}

// Starting a server is expensive, so tests that do not need their own share two.
let plain: Started;
let talkative: Started;
let metricsPort = 0;
beforeAll(async () => {
  metricsPort = await freePort();
  plain = await startServer({ PORT: '' });
  talkative = await startServer({
    PORT: '',
    LOG_LEVEL: 'trace',
    METRICS_PORT: String(metricsPort),
    METRICS_TOKEN: 'canary-canary-canary',
  });
}, 150_000);

test('a started server says so in at most eight lines, and serves requests', async () => {
  const { server, url } = plain;
  const lines = server.stdout().trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(8);
  expect(lines[0]).toMatch(/^Sluice \d+\.\d+\.\d+ is running at http:\/\/127\.0\.0\.1:\d+$/);
  expect(server.stdout()).toContain(path.join(sluice.cwd, '.sluice'));
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
});

test('with an external database and no terminal no login link is printed', () => {
  expect(plain.server.stdout()).not.toContain('code=');
});

test('a taken default port is replaced by the next free one, a chosen port is not', async () => {
  expect(talkative.url).not.toBe(plain.url);
  const taken = new URL(plain.url).port;
  const refused = await sluice.run(['--port', taken], { DATABASE_URL: database.ownerUrl });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`Port ${taken} on 127.0.0.1 is taken`);
});

test('metrics can be served on a separate port, which asks for the token', async () => {
  const url = `http://127.0.0.1:${metricsPort}/metrics`;
  expect((await fetch(url)).status).toBe(401);
  const answer = await fetch(url, { headers: { authorization: 'Bearer canary-canary-canary' } });
  expect(await answer.text()).toContain('process_cpu_seconds_total');
});

test('SIGTERM ends a server with 0', async () => {
  plain.server.child.kill('SIGTERM');
  expect((await plain.server.ended).code).toBe(0);
});

test('SIGINT ends a server with 0, and its log is JSON on stderr without a secret', async () => {
  const { server, url } = talkative;
  await fetch(`${url}/login?code=canary-canary-canary`);
  await fetch(`${url}/api/me`, { headers: { authorization: 'Bearer canary-canary-canary' } });
  server.child.kill('SIGINT');
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  const lines = stderr.trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain('request');
  expect(stderr).not.toContain('canary');
  const password = decodeURIComponent(new URL(database.appUrl).password);
  expect(stderr).not.toContain(password);
});

test('an endless request is cut off after the grace period', async () => {
  const { server, url } = await startServer({ SHUTDOWN_GRACE_MS: '200' });
  const socket = await openUnfinishedRequest(url);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
  socket.destroy();
});

test('a second signal ends a server at once, with 130', async () => {
  const { server, url } = await startServer({ SHUTDOWN_GRACE_MS: '60000' });
  const socket = await openUnfinishedRequest(url);
  server.child.kill('SIGINT');
  await expect
    .poll(
      () =>
        fetch(`${url}/health/live`).then(
          () => 'open',
          () => 'closed',
        ),
      patience,
    )
    .toBe('closed');
  expect(server.child.exitCode).toBeNull();
  server.child.kill('SIGINT');
  expect((await server.ended).code).toBe(130);
  socket.destroy();
});

/** A connection whose request has begun and never ends. */
async function openUnfinishedRequest(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    'POST /api/workspaces HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n',
  );
  // The server's "100 Continue" proves that it has begun with this request.
  await new Promise((resolve) => socket.once('data', resolve));
  return socket;
}
