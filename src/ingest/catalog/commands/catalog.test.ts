import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../../test/support/servers/command-line.ts';
import { useServer } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { prepareTitleSearch } from '../matching/prepare-title-search.ts';

// Some of the commands are processes of their own.
vi.setConfig({ testTimeout: 60_000 });

const database = useDatabase();
const server = useServer(database);
const sluice = useCommandLine();

const products = [
  'Article No,Brand,Name',
  'AB-100,Samsung,Galaxy S21 128 GB black',
  'DUP-1,Acme,Garden Hose 20 m green',
  'DUP-2,Acme,Garden Hose 20 m green!',
  ',,',
].join('\n');

beforeAll(async () => {
  await prepareTitleSearch(database.ownerUrl);
  await writeFile(path.join(sluice.cwd, 'products.csv'), products);
  await writeFile(path.join(sluice.cwd, 'wrong.csv'), 'colour\nred\n');
});

async function commandsOf(tenantId: string) {
  const env = { SLUICE_URL: server.url, SLUICE_TOKEN: await server.token({ tenantId }) };
  return {
    run: (...args: string[]) => sluice.run(['catalog', ...args], env),
    runHere: (...args: string[]) => sluice.runHere(['catalog', ...args], env),
  };
}

test('a catalogue is made of a file, tried, kept when the next file is refused, and removed', async () => {
  const { run, runHere } = await commandsOf(await newTenant(database));
  const made = await run('put', 'main', 'products.csv', '--fields', '{"sku":"Article No"}');
  expect(made).toMatchObject({ code: 0, stdout: 'main  version 1, 3 products\n' });
  expect(made.stderr).toContain('Columns: sku Article No, brand Brand, title Name, gtin -.');
  expect(made.stderr).toContain('Left out: 1 row without a SKU and a title.');

  const hose = '{"brand":"Acme","title":"Garden hose 20 m green"}';
  const tried = await run('match', 'main', '--row', '{"sku":"ab 100"}', '--row', hose);
  expect(tried.code).toBe(3);
  expect(tried.stdout).toMatch(
    /^ROW +STATUS +STRATEGY +SCORE +PRODUCT OR REASON\n1 +DONE +sku +1\.000 +\{"Article No":"AB-100",.+\n2 +NOT_FOUND /,
  );
  expect(tried.stderr).toContain('Row 2 could be DUP-1, Acme, Garden Hose 20 m green (');

  const refused = await runHere('put', 'main', 'wrong.csv');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/colour.*\(catalog_unusable\)\nGive the file a column for the SKU/s);
  const listed = await runHere('list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    data: [{ name: 'main', version: 1, productCount: 3, fileName: 'products.csv' }],
    has_more: false,
  });

  expect(await runHere('remove', 'main')).toEqual({ code: 0, stdout: 'main  removed\n', stderr: '' });
  const unknown = await runHere('match', 'main', '--row', hose);
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
  expect(unknown.stderr).toMatch(/There is no catalogue "main" \(catalog_not_found\)\nSend its products/);
});

test.each([
  { args: ['remove', 'Main Shop'], says: 'Allowed: lower-case letters, digits' },
  { args: ['match', 'main', '--row', '{"sku":'], says: '--row is no JSON' },
  { args: ['match', 'main', '--row', '[1]'], says: '--row is [1]. Allowed: a JSON object such as' },
  { args: ['match', 'main', ...Array(101).fill(['--row', '{}']).flat()], says: 'more than 100 --row' },
  { args: ['put', 'main', import.meta.filename, '--fields', 'sku'], says: '--fields is no JSON' },
  { args: ['put', 'main', 'nowhere.csv'], says: 'nowhere.csv cannot be read' },
])('$says: is wrong usage before any server is asked', async ({ args, says }) => {
  const nowhere = { SLUICE_URL: 'http://127.0.0.1:1', SLUICE_TOKEN: 'a-token-of-some-length' };
  const { code, stdout, stderr } = await sluice.runHere(['catalog', ...args], nowhere);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
});
