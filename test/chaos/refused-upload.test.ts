import { Agent, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { type ItemServer, installationEnv, startServer } from './items-stage.ts';

// As behind a proxy that keeps its connections: what comes after a refused upload comes over the same one.
const sluice = useCommandLine();
const database = useDatabase();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let server: ItemServer | undefined;
beforeAll(async () => {
  server = await startServer(sluice, {
    ...installationEnv(database, { leaseMs: 5_000 }),
    MAX_REPORT_BYTES: '65536',
  });
});
afterAll(() => {
  agent.destroy();
  server?.running.child.kill('SIGKILL');
});

test('a report that is refused midway leaves its connection usable for the next request', async () => {
  const tenantId = await newTenant(database);
  const boundary = 'the-boundary';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n`;
  const form = Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(20 * 1024 * 1024, 'a,b\n'),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const contentType = `multipart/form-data; boundary=${boundary}`;
  expect(await ask(tenantId, 'POST', { 'content-type': contentType }, form)).toBe(413);
  expect(await ask(tenantId, 'GET')).toBe(200);
});

async function ask(
  tenantId: string,
  method: string,
  headers: Record<string, string> = {},
  body?: Buffer,
): Promise<number | undefined> {
  const subject = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  const authorization = `Bearer ${await mintToken(testTokens, subject)}`;
  // Only what comes after: giving the refused one up would free the connection.
  const signal = body === undefined ? AbortSignal.timeout(60_000) : undefined;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { agent, method, headers: { authorization, ...headers }, signal };
    request(`${server?.url}/api/uploads`, options, resolve).on('error', reject).end(body);
  });
  answer.resume();
  return answer.statusCode;
}
