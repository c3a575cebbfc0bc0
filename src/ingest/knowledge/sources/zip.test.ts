import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { zipOf } from '../../../../test/generators/zip-archive.ts';
import { guardedFetch, serveSite } from '../../../../test/support/fakes/local-site.ts';
import { readSource } from '../../../../test/support/probes/read-source.ts';
import { exportedName } from './exported-names.ts';
import { zipSource } from './zip.ts';

type Entries = Parameters<typeof zipOf>[0];

async function inFolder(bytes: Buffer) {
  const root = await mkdtemp(path.join(tmpdir(), 'sluice-zip-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await writeFile(path.join(root, 'export.zip'), bytes);
  const deps = { fetch: guardedFetch({ blockPrivateAddresses: false }), findRoot: () => root };
  return zipSource({ path: 'export.zip' }, deps);
}

const read = async (entries: Entries) => readSource(await inFolder(zipOf(entries)));

const page = '59833787-2cf9-4fdf-8782-e53db20768a5'.replaceAll('-', '');

describe('an export of Notion', () => {
  const part = zipOf([
    { name: `Handbook ${page}.md`, content: '# Handbook\n\nWelcome.' },
    { name: `Handbook ${page}/Leave ${page.replace('5', '6')}.md`, content: 'Thirty days.' },
    { name: `Handbook ${page}/Tasks ${page.replace('5', '7')}.csv`, content: 'Name\nOne' },
    { name: `Handbook ${page}/Tasks ${page.replace('5', '7')}_all.csv`, content: 'Name\nOne\nTwo' },
    { name: `Handbook ${page}/picture.png`, content: 'x' },
    { name: '__MACOSX/._Handbook.md', content: 'x' },
  ]);

  test('has its pages under their ids, with their names, and each database once, from its parts', async () => {
    const { documents, end } = await read([{ name: 'ExportBlock-1-Part-1.zip', content: part }]);
    expect(documents.map((one) => [one.uri, 'title' in one ? one.title : null])).toEqual([
      [`zip:${page}.md`, 'Handbook'],
      [`zip:Handbook/${page.replace('5', '6')}.md`, 'Leave'],
      [`zip:Handbook/${page.replace('5', '7')}.csv`, 'Tasks_all'],
    ]);
    expect(documents.at(-1)).toMatchObject({ text: expect.stringContaining('Two') });
    expect(end).toEqual({ isComplete: true });
  });

  test('knows a renamed page again, and leaves out one that has gone', async () => {
    const first = await read([
      { name: 'a.zip', content: part },
      { name: `Old ${page}.md`, content: 'Same text' },
    ]);
    const source = await inFolder(zipOf([{ name: `New name ${page}.md`, content: 'Same text' }]));
    const second = await readSource(source, { known: first.documents });
    expect(second.documents).toEqual([{ kind: 'unchanged', uri: `zip:${page}.md` }]);
    expect(second.end).toEqual({ isComplete: true });
  });
});

test('pages of Confluence have the names that people gave them', () => {
  expect(exportedName('DS/How-we-work_229438.html')).toEqual({
    identity: 'DS/229438.html',
    shownName: 'How we work.html',
  });
  expect(exportedName('DS/229438.html').identity).toBe('DS/229438.html');
  expect(exportedName('notes/plan_2024.md')).toEqual({
    identity: 'notes/plan_2024.md',
    shownName: 'plan_2024.md',
  });
});

test('documents whose names end in the same number stay apart', async () => {
  const { documents } = await read([
    { name: 'bills/invoice_20240101.html', content: 'An invoice' },
    { name: 'bills/receipt_20240101.html', content: 'A receipt' },
    { name: 'bills/receipt_20240102.html', content: 'Another receipt' },
  ]);
  expect(documents.map((one) => [one.uri, 'title' in one ? one.title : null])).toEqual([
    ['zip:bills/invoice_20240101.html', 'invoice_20240101'],
    ['zip:bills/receipt_20240101.html', 'receipt_20240101'],
    ['zip:bills/20240102.html', 'receipt'],
  ]);
});

test('another archive in the same place is read from its start, whatever the place in the earlier one', async () => {
  const entries = Array.from({ length: 40 }, (_, at) => ({ name: `f${10 + at}.md`, content: `Text ${at}` }));
  const earlier = await inFolder(zipOf(entries));
  const [{ cursor } = { cursor: {} }] = (await readSource(earlier)).batches;
  const later = await inFolder(zipOf([{ name: 'a.md', content: 'New before all others' }, ...entries]));
  expect((await readSource(later, { cursor })).uris).toHaveLength(41);
});

test('more archives in an archive than are read leave nothing gone, and are said', async () => {
  const inner = zipOf([{ name: 'a.md', content: 'A' }]);
  const archives = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `part${at}.zip`, content: inner }));
  expect((await read(archives(50))).end).toEqual({ isComplete: true });
  const { documents, end } = await read(archives(52));
  expect(documents).toHaveLength(50);
  expect(end).toEqual({
    isComplete: false,
    reason: 'The archive contains 52 archives; only 50 of them were read',
  });
});

test('an archive on the web is read, and goes on behind the last document', async () => {
  const entries = Array.from({ length: 40 }, (_, at) => ({ name: `f${10 + at}.md`, content: `Text ${at}` }));
  const site = await serveSite('127.0.0.1', (_request, response) => response.end(zipOf(entries)));
  const deps = {
    fetch: guardedFetch({ blockPrivateAddresses: false }),
    findRoot: () => {
      throw new Error('not needed');
    },
  };
  const source = zipSource({ url: `http://127.0.0.1:${site.port}/all.zip` }, deps);
  const whole = await readSource(source);
  expect(whole.uris).toHaveLength(40);
  const [{ cursor, documents } = { cursor: {}, documents: [] }] = whole.batches;
  expect((await readSource(source, { cursor })).uris).toEqual(whole.uris.slice(documents.length));
  const blocked = zipSource(
    { url: `http://127.0.0.1:${site.port}/all.zip` },
    { ...deps, fetch: guardedFetch() },
  );
  expect((await readSource(blocked)).end?.isComplete).toBe(false);
});

test('an archive that is broken, encrypted, empty, missing or climbs out removes nothing, and says why', async () => {
  const whole = zipOf([{ name: 'a.md', content: 'A' }]);
  const cases: [Buffer, RegExp][] = [
    [whole.subarray(0, whole.length - 10), /cannot be read/],
    [Buffer.from('hello'), /cannot be read/],
    [zipOf([{ name: 'a.png', content: 'A' }]), /no documents/],
    [zipOf([{ name: '../a.md', content: 'A' }]), /cannot be read/],
  ];
  for (const [bytes, reason] of cases) {
    const { documents, end } = await readSource(await inFolder(bytes));
    expect(documents).toEqual([]);
    expect(end).toEqual({ isComplete: false, reason: expect.stringMatching(reason) });
  }
  const missing = zipSource({ path: '../x.zip' }, { fetch: guardedFetch(), findRoot: () => tmpdir() });
  expect((await readSource(missing)).end).toMatchObject({ reason: expect.stringContaining('no file') });
});
