import { readdirSync, readlinkSync } from 'node:fs';
import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type StoredEntry, zipOf } from '../../../test/generators/zip-archive.ts';
import { defineErrors, isSluiceError } from '../errors.ts';
import { type Archive, type ArchiveLimits, openArchive } from './archive.ts';
import { spoolContent } from './spool.ts';

const definition = { kind: 'invalid', status: 422, title: 'x', next: 'y' } as const;
const { raise } = defineErrors({ broken: definition, encrypted: definition, too_far: definition });
const errors = { broken: raise.broken, encrypted: raise.encrypted, expandsTooFar: raise.too_far };
const limits: ArchiveLimits = { maxEntries: 100, maxInflatedBytes: 64 * 1024 * 1024, maxRatio: 200 };
const mebibyte = 1024 * 1024;

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000);
}

async function open(bytes: Buffer, more: Partial<ArchiveLimits> = {}): Promise<Archive> {
  const spool = await spoolContent(piecesOf(bytes), { maxBytes: 64 * mebibyte });
  return openArchive(spool, { limits: { ...limits, ...more }, errors: wrapped });
}

const wrapped = {
  broken: (why: string, cause?: unknown) => errors.broken(why, { cause }),
  encrypted: (why: string) => errors.encrypted(why),
  expandsTooFar: (why: string) => errors.expandsTooFar(why),
};

async function textOf(archive: Archive, name: string): Promise<string> {
  const entry = archive.find(name);
  if (entry === null) throw new Error(`There is no ${name}`);
  const pieces: Buffer[] = [];
  for await (const piece of archive.read(entry)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function codeOf(entries: StoredEntry[], more: Partial<ArchiveLimits> = {}): Promise<string> {
  try {
    const archive = await open(zipOf(entries), more);
    try {
      for (const entry of archive.entries) for await (const _ of archive.read(entry));
    } finally {
      archive.close();
    }
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return error.code;
  }
  return 'read';
}

/** Temporary files of ours that this process has open. */
function openTemporaries(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((target) => target.includes('/sluice-')).length;
}

async function untilClosed(): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (openTemporaries() > 0 && Date.now() < deadline) await new Promise((next) => setImmediate(next));
  expect(openTemporaries()).toBe(0);
}

describe('an archive', () => {
  test('gives its entries in order, and their bytes in any order', async () => {
    const archive = await open(
      zipOf([
        { name: 'B/two.txt', content: 'two' },
        { name: 'one.txt', content: 'one', isStored: true },
        { name: 'ONE.txt', content: 'another' },
      ]),
    );
    expect(archive.entries.map(({ name }) => name)).toEqual(['B/two.txt', 'one.txt', 'ONE.txt']);
    expect(await textOf(archive, 'One.TXT')).toBe('one');
    expect(await textOf(archive, 'b/two.txt')).toBe('two');
    expect(archive.find('three.txt')).toBeNull();
    expect(openTemporaries()).toBe(1);
    archive.close();
    await untilClosed();
  });

  test('closes its file even when reading stopped early', async () => {
    const archive = await open(zipOf([{ name: 'long', content: 'abc'.repeat(mebibyte) }]));
    for await (const _ of archive.read(archive.entries[0] ?? raiseMissing())) break;
    archive.close();
    await untilClosed();
  });
});

function raiseMissing(): never {
  throw new Error('The archive has no entry');
}

describe('an archive is refused', () => {
  const content = 'some text '.repeat(100);
  const packed = deflateRawSync(content);
  test.each<[string, string, StoredEntry]>([
    ['broken', 'with a name that climbs', { name: '../a', content }],
    ['broken', 'with an absolute name', { name: '/etc/passwd', content }],
    ['broken', 'with a checksum of something else', { name: 'a', content, crc: crc32(content) + 1 }],
    ['broken', 'with more bytes than it states', { name: 'a', content, statedBytes: 10 }],
    ['broken', 'with fewer bytes than it states', { name: 'a', content, statedBytes: 10_000 }],
    ['broken', 'with content that ends too early', { name: 'a', content, packed: packed.subarray(0, -4) }],
    [
      'broken',
      'with content that is no deflate stream',
      { name: 'a', content, packed: Buffer.alloc(9, 255) },
    ],
    ['broken', 'with a compression that is not known', { name: 'a', content, method: 12 }],
    ['encrypted', 'with a password', { name: 'a', content, flags: 1 }],
  ])('as %s %s', async (code, _, entry) => {
    expect(await codeOf([{ name: 'fine', content: 'fine' }, entry])).toBe(code);
    await untilClosed();
  });

  test('as broken when it is cut off or not an archive', async () => {
    const whole = zipOf([{ name: 'a', content }]);
    for (const bytes of [whole.subarray(0, -30), Buffer.from('PK\x03\x04 and no more')]) {
      await expect(open(bytes)).rejects.toMatchObject({ code: 'broken' });
    }
    await untilClosed();
  });

  test('when it has too many entries, before they are read', async () => {
    const entries = Array.from({ length: 101 }, (_, at) => ({ name: `../${at}`, content: '' }));
    expect(await codeOf(entries)).toBe('too_far');
  });

  test('when an entry, or all together, expand too far', async () => {
    const zeros = { name: 'zeros', content: Buffer.alloc(8 * mebibyte) };
    expect(await codeOf([zeros])).toBe('too_far');
    expect(await codeOf([zeros], { maxRatio: 2_000 })).toBe('read');
    expect(await codeOf([zeros], { maxRatio: 2_000, maxEntryBytes: mebibyte })).toBe('too_far');
    const two = [zeros, { ...zeros, name: 'more' }];
    expect(await codeOf(two, { maxRatio: 2_000, maxInflatedBytes: 12 * mebibyte })).toBe('too_far');
  });

  test('when entries that share their bytes expand too far together', async () => {
    const packedBytes = deflateRawSync(Buffer.alloc(3 * mebibyte));
    const shared = Array.from({ length: 20 }, (_, at) => ({ name: `${at}`, sharesFirst: at > 0 }));
    const entries = shared.map((one) => ({
      ...one,
      content: Buffer.alloc(3 * mebibyte),
      packed: packedBytes,
    }));
    expect(await codeOf(entries)).toBe('too_far');
  });
});

describe('a spool', () => {
  test('takes no more than it may, and leaves nothing open', async () => {
    const spooling = spoolContent(piecesOf(Buffer.alloc(2_001)), { maxBytes: 2_000 });
    await expect(spooling).rejects.toMatchObject({ code: 'file_too_large' });
    await untilClosed();
  });

  test('passes on the error of a source that breaks off, and leaves nothing open', async () => {
    const aborted = new Error('aborted');
    const source = (async function* () {
      yield Buffer.from('abc');
      throw aborted;
    })();
    await expect(spoolContent(source, { maxBytes: 2_000 })).rejects.toBe(aborted);
    await untilClosed();
  });
});
