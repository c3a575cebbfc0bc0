import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { installProblems } from '../problem.ts';
import { installTenantShares } from './tenant-shares.ts';

const patient = { timeout: 30_000, interval: 5 };

/** A server with one costly route, whose work ends when the test says so. */
async function openServer() {
  const app = Fastify();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  app.decorateRequest('principal', null);
  app.addHook('onRequest', async (request) => {
    request.principal = {
      tenantId: String(request.headers.tenant),
      userId: 'u',
      role: 'member',
      via: 'token',
    };
  });
  installProblems(app);
  installTenantShares(app, { tenantConcurrentSearches: 2, tenantConcurrentUploads: 1 });
  app.get('/search', { config: { action: 'knowledge.search', share: 'searches' } }, async (request) => {
    begun.push(String(request.headers.tenant));
    await new Promise<void>((resolve) => ends.push(resolve));
    return 'found';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    for (const end of ends) end();
    app.server.closeAllConnections();
    await app.close();
  });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/search`;
  const search = (tenant: string, signal?: AbortSignal) =>
    fetch(url, { headers: { tenant }, ...(signal && { signal }) });
  return { search, begun, ends };
}

test('a tenant with its searches at work waits, and another tenant’s search begins at once', async () => {
  const { search, begun, ends } = await openServer();
  const all = [search('greedy'), search('greedy'), search('greedy')];
  await vi.waitFor(() => expect(begun).toHaveLength(2), patient);
  all.push(search('quiet'));
  await vi.waitFor(() => expect(begun).toEqual(['greedy', 'greedy', 'quiet']), patient);
  ends[0]?.();
  await vi.waitFor(() => expect(begun).toEqual(['greedy', 'greedy', 'quiet', 'greedy']), patient);
  for (const end of ends) end();
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('a client that hangs up while it waits never begins, and one at work keeps its slot until it ends', async () => {
  const { search, begun, ends } = await openServer();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const gone = [search('t', first.signal), search('t', second.signal)];
  await vi.waitFor(() => expect(begun).toHaveLength(2), patient);
  gone.push(search('t', third.signal));
  const last = search('t');
  for (const controller of [first, third]) controller.abort();
  await Promise.allSettled([gone[0], gone[2]]);
  // A request that came after the abort has been answered: the server has seen the abort too.
  const other = search('other');
  await vi.waitFor(() => expect(begun).toContain('other'), patient);
  expect(begun.filter((tenant) => tenant === 't')).toHaveLength(2);
  ends[0]?.();
  await vi.waitFor(() => expect(begun.filter((tenant) => tenant === 't')).toHaveLength(3), patient);
  for (const end of ends) end();
  await vi.waitFor(() => {
    for (const end of ends) end();
  });
  expect((await last).status).toBe(200);
  expect((await other).status).toBe(200);
  await gone[1];
  expect(begun.filter((tenant) => tenant === 't')).toHaveLength(3);
});
