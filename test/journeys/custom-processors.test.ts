import { expect, test, vi } from 'vitest';
import { useCommandLine, useExample } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';

vi.setConfig({ testTimeout: 300_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 25 };

useExample(sluice, 'custom-processor');

test('the example of a custom processor does what its page says, in the server and in a worker', async () => {
  const env = { DATABASE_URL: database.ownerUrl, PORT: '0' };
  const server = sluice.start(['serve', '--no-worker'], env);
  await expect.poll(() => server.stdout() || server.stderr(), patience).toContain('running at');
  const client = { SLUICE_URL: /running at (\S+)/.exec(server.stdout())?.[1] ?? '' };
  const flags = ['--processor', 'with-tax', '--options'];
  const refused = await sluice.run(['items', 'import', 'prices.csv', ...flags, '{"percent":-1}'], client);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('/options percent must be a number from 0 to 100');
  const imported = await sluice.run(['items', 'import', 'prices.csv', ...flags, '{"percent":7}'], client);
  const jobId = imported.stdout.trim();
  expect((await sluice.run(['worker', '--once'], env)).code).toBe(0);
  expect((await sluice.run(['items', 'watch', jobId], client)).code).toBe(3);
  const { stdout } = await sluice.run(['items', 'export', jobId], client);
  const lines = stdout.replace('\ufeff', '').trimEnd().split('\r\n');
  expect(lines[0]).toMatch(/^row_no,status,.*sku,gross/);
  expect(lines.slice(1).map((line) => line.split(',').slice(0, 2))).toEqual([
    ['1', 'DONE'],
    ['2', 'DONE'],
    ['3', 'SKIPPED'],
    ['4', 'ERROR'],
  ]);
  expect(lines[1]).toContain('10.70');
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});
