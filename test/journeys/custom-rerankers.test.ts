import { expect, test, vi } from 'vitest';
import { useCommandLine, useExample } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';

vi.setConfig({ testTimeout: 300_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 25 };

useExample(sluice, 'custom-reranker');

test('the example of a custom reranker does what its page says', async () => {
  const env = { DATABASE_URL: database.ownerUrl, PORT: '0' };
  const server = sluice.start(['serve'], env);
  await expect.poll(() => server.stdout() || server.stderr(), patience).toContain('running at');
  const url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
  const minted = await sluice.run(['token', '--tenant', 'default', '--role', 'admin'], env);
  const made = await fetch(`${url}/api/knowledge`, {
    method: 'POST',
    headers: { authorization: `Bearer ${minted.stdout.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      kb_id: 'house',
      name: 'House',
      reranker: { provider: 'custom', name: 'amounts' },
    }),
  });
  expect(made.status, await made.text()).toBe(201);
  const client = { SLUICE_URL: url };
  const indexed = await sluice.run(['index', 'docs', '--kb', 'house'], client);
  expect(indexed.code, indexed.stderr).toBe(0);
  const flags = ['--kb', 'house', '--limit', '1'];
  const question = 'how long may a visitor stay';
  const found = await sluice.run(['search', question, ...flags, '--json'], client);
  const answer = JSON.parse(found.stdout);
  expect(answer).toMatchObject({ reranked: true, results: [{ score: 1 }] });
  expect(answer.results[0].text).toContain('3 nights');
  const plain = await fetch(`${url}/api/knowledge/house/search`, {
    method: 'POST',
    headers: { authorization: `Bearer ${minted.stdout.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: question, limit: 1, merge: false, rerank: false }),
  });
  expect(await plain.text()).toContain('for the house to decide');
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});
