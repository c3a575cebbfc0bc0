import { appendFile, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileBatches } from './file-batches.ts';
import { findStamp } from './file-stamp.ts';
import { createFolderSource } from './folder.ts';
import type { DocumentBatch, KnownDocument, LoadContext, LoadedDocument, Source } from './source.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sluice-stamps-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const place = (name: string) => path.join(folder, name);
/** All files have been left alone for long enough by then. */
const later = () => Date.now() + 60_000;
const source = (now = later) => createFolderSource({ root: folder, folder: '.', now });

async function load(from: Source, known: readonly KnownDocument[] = []): Promise<LoadedDocument[]> {
  const documents: LoadedDocument[] = [];
  for await (const batch of from.batches(contextOf(known))) documents.push(...batch.documents);
  return documents;
}

function contextOf(known: readonly KnownDocument[]): LoadContext {
  return {
    cursor: null,
    frontier: [],
    findKnown: async (uris) =>
      new Map(known.filter(({ uri }) => uris.includes(uri)).map((one) => [one.uri, one])),
    signal: new AbortController().signal,
  };
}

function remembered(documents: readonly LoadedDocument[]): KnownDocument[] {
  return documents.map((document) => ({
    uri: document.uri,
    contentHash: document.kind === 'text' ? document.contentHash : 'the one before',
    etag: document.kind === 'text' || document.kind === 'unchanged' ? (document.etag ?? null) : null,
    lastModified: null,
  }));
}

/** With another hash a file that is read counts as changed: unchanged is only what was not even opened. */
const blind = (known: readonly KnownDocument[]) =>
  known.map((one) => ({ ...one, contentHash: 'of other bytes' }));

test('a file with the same stamp is not opened', async () => {
  await writeFile(place('a.md'), 'first');
  await writeFile(place('b.md'), 'second');
  const known = remembered(await load(source()));
  expect(await load(source(), blind(known))).toEqual([
    { kind: 'unchanged', uri: 'file:a.md' },
    { kind: 'unchanged', uri: 'file:b.md' },
  ]);
});

test('a file that was touched is read, found unchanged, and not opened the next time', async () => {
  await writeFile(place('a.md'), 'words');
  const known = remembered(await load(source()));
  await utimes(place('a.md'), new Date(), new Date(Date.now() - 1_000_000));
  const [touched] = await load(source(), known);
  expect(touched).toEqual({ kind: 'unchanged', uri: 'file:a.md', etag: expect.stringMatching(/^stamp:/) });
  const now = known.map((one) => ({ ...one, etag: (touched as { etag: string }).etag }));
  expect(await load(source(), blind(now))).toMatchObject([{ kind: 'unchanged' }]);
});

test('an edit in place that keeps the size and sets the time back is noticed', async () => {
  const file = place('a.md');
  const then = new Date('2024-05-01T12:00:00Z');
  await writeFile(file, 'one word');
  await utimes(file, then, then);
  const before = await stat(file, { bigint: true });
  const known = remembered(await load(source()));
  let after = before;
  // The system's clock moves in steps, which this test may be faster than; people, and `later`, are not.
  for (let tries = 0; tries < 10_000 && after.ctimeNs === before.ctimeNs; tries += 1) {
    await writeFile(file, 'two word');
    await utimes(file, then, then);
    after = await stat(file, { bigint: true });
  }
  expect([after.size, after.ino, after.mtimeNs]).toEqual([before.size, before.ino, before.mtimeNs]);
  expect(await load(source(), known)).toMatchObject([{ kind: 'text', text: 'two word' }]);
});

test('another file of the same size and time in its place is noticed', async () => {
  await writeFile(place('a.md'), 'one word');
  await writeFile(place('other.bin'), 'two word');
  const { atime, mtime } = await stat(place('a.md'));
  await utimes(place('other.bin'), atime, mtime);
  await utimes(place('a.md'), atime, mtime);
  const known = remembered(await load(source()));
  await rename(place('other.bin'), place('a.md'));
  expect(await load(source(), known)).toMatchObject([{ kind: 'text', text: 'two word' }]);
});

test('a file that was written a moment ago is read again: another write may leave the same times', async () => {
  await writeFile(place('a.md'), 'words');
  const moment = Date.now();
  const now = () => moment;
  const known = remembered(await load(source(now)));
  expect(known).toMatchObject([{ etag: null }]);
  expect(await load(source(now), blind(known))).toMatchObject([{ kind: 'text' }]);
});

test('a file that is written to while it is read is not remembered', async () => {
  const file = place('a.md');
  await writeFile(file, 'words');
  async function* listed() {
    yield [
      {
        uri: 'file:a.md',
        name: 'a.md',
        mediaType: null,
        cursor: {},
        sha256: null,
        findStamp: () => findStamp(file, later),
        open: async () => {
          await appendFile(file, ' and more');
          return Readable.from([Buffer.from('words')]);
        },
      },
    ];
  }
  const options = { context: contextOf([]), limits: {}, end: () => ({ isComplete: true }) };
  const batches: DocumentBatch[] = [];
  for await (const one of fileBatches(listed(), options)) batches.push(one);
  expect(remembered(batches[0]?.documents ?? [])).toMatchObject([{ etag: null }]);
});

test('a link is followed each time: what it leads to changes without the link', async () => {
  await writeFile(place('beside.txt'), 'one');
  await symlink('beside.txt', place('link.md'));
  const known = remembered(await load(source()));
  expect(known.find(({ uri }) => uri === 'file:link.md')).toMatchObject({ etag: null });
  // Of another size: this test may be faster than the steps of the system's clock.
  await writeFile(place('beside.txt'), 'three');
  const again = await load(source(), known);
  expect(again).toMatchObject([{ text: 'three' }, { uri: 'file:link.md', text: 'three' }]);
});

test('a file that an earlier version of the readers read is read again', async () => {
  await writeFile(place('a.md'), 'words');
  const known = remembered(await load(source()));
  const older = known.map((one) => ({ ...one, etag: one.etag?.replace(/^stamp:\d+/, 'stamp:0') ?? null }));
  expect(await load(source(), blind(older))).toMatchObject([{ kind: 'text' }]);
});

test('thousands of unchanged files come in few batches', async () => {
  const names = Array.from({ length: 1_100 }, (_, at) => `${1_000 + at}.md`);
  for (const name of names) await writeFile(place(name), name);
  const known = remembered(await load(source()));
  const sizes: number[] = [];
  for await (const { documents } of source().batches(contextOf(known))) sizes.push(documents.length);
  expect(sizes).toEqual([1_000, 100, 0]);
});
