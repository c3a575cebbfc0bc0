import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { useS3Server } from '../../../test/support/fakes/s3-server.ts';
import { createGuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import { newId } from '../../lib/ids.ts';
import { createFiles } from './backends.ts';
import { createLocalFiles } from './local-files.ts';
import type { Files, OldContent } from './types.ts';

interface FilesUnderTest {
  files: Files;
  /** Everything stored, finished or not: a failed store must add nothing to it. */
  listEverything(): Promise<string[]>;
}

const plenty = { maxBytes: 10_000_000 };
const unknownKey = 'ab/cd/01890000-0000-7000-8000-000000000000';

/** What every file storage must do. A new implementation adds one call. */
function filesContract(name: string, makeFiles: () => Promise<FilesUnderTest>): void {
  describe(name, () => {
    const made = {} as FilesUnderTest;
    beforeEach(async () => {
      Object.assign(made, await makeFiles());
    });
    keepsContent(made);
    leavesNothingOfFailures(made);
    findsItsWay(made);
  });
}

function keepsContent(made: FilesUnderTest): void {
  test('stored bytes come back whole, with their size and hash', async () => {
    const bytes = randomBytes(300_000);
    const stored = await made.files.store(Readable.from(piecesOf(bytes, 7_919)), plenty);
    expect(stored.sizeBytes).toBe(bytes.length);
    expect(stored.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(await made.files.exists(stored.storageKey)).toBe(true);
    const back = Buffer.concat(await (await made.files.open(stored.storageKey)).toArray());
    expect(back.equals(bytes)).toBe(true);
  });

  test('an empty file and a file of exactly the limit are fine', async () => {
    expect((await made.files.store(Readable.from([]), plenty)).sizeBytes).toBe(0);
    expect((await made.files.store(Readable.from([Buffer.alloc(100)]), { maxBytes: 100 })).sizeBytes).toBe(
      100,
    );
  });

  test('a range is read with both ends included', async () => {
    const { storageKey } = await made.files.store(Readable.from(['0123456789']), plenty);
    expect(await text(await made.files.open(storageKey, { start: 2, end: 4 }))).toBe('234');
    expect(await text(await made.files.open(storageKey, { start: 7 }))).toBe('789');
  });
}

function leavesNothingOfFailures(made: FilesUnderTest): void {
  test('one byte over the limit is refused with 413, the source is stopped and nothing is left', async () => {
    const before = await made.listEverything();
    const source = Readable.from([Buffer.alloc(60), Buffer.alloc(41), Buffer.alloc(60)]);
    const refused = expect(made.files.store(source, { maxBytes: 100 })).rejects;
    await refused.toMatchObject({
      code: 'file_too_large',
      definition: { status: 413 },
      details: { max_bytes: 100 },
    });
    expect(source.destroyed).toBe(true);
    expect(await made.listEverything()).toEqual(before);
  });

  test('a source that breaks off in the middle leaves nothing behind', async () => {
    const before = await made.listEverything();
    const source = new Readable({ read() {} });
    source.push(Buffer.alloc(1000));
    const storing = made.files.store(source, plenty);
    setImmediate(() => source.destroy(new Error('the client went away')));
    await expect(storing).rejects.toThrow('the client went away');
    expect(await made.listEverything()).toEqual(before);
  });

  test('a source that is closed early leaves nothing behind', async () => {
    const before = await made.listEverything();
    const source = new Readable({ read() {} });
    source.push(Buffer.alloc(1000));
    const storing = made.files.store(source, plenty);
    setImmediate(() => source.destroy());
    await expect(storing).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
    expect(await made.listEverything()).toEqual(before);
  });
}

function findsItsWay(made: FilesUnderTest): void {
  test('removing twice is harmless', async () => {
    const { storageKey } = await made.files.store(Readable.from(['x']), plenty);
    await made.files.remove(storageKey);
    expect(await made.files.exists(storageKey)).toBe(false);
    await made.files.remove(storageKey);
    await expect(made.files.open(storageKey)).rejects.toMatchObject({ code: 'file_content_missing' });
  });

  test('content that was never there is missing, not an accident', async () => {
    expect(await made.files.exists(unknownKey)).toBe(false);
    await expect(made.files.open(unknownKey)).rejects.toMatchObject({ code: 'file_content_missing' });
  });

  const hostile = [
    '../../etc/passwd',
    '/etc/passwd',
    'ab/cd/../../x',
    `${unknownKey}/..`,
    `${unknownKey}\0`,
    '',
    'tmp/x',
  ];
  test.each(hostile)('the key %j is refused by every operation', async (key) => {
    const refused = { code: 'storage_key_malformed' };
    await expect(async () => made.files.open(key)).rejects.toMatchObject(refused);
    await expect(async () => made.files.remove(key)).rejects.toMatchObject(refused);
    await expect(async () => made.files.exists(key)).rejects.toMatchObject(refused);
  });

  test('the list of old content has what is old enough and nothing younger', async () => {
    const { storageKey } = await made.files.store(Readable.from(['x']), plenty);
    expect(await collectKeys(made.files, -60_000)).toContain(storageKey);
    expect(await collectKeys(made.files, 60_000)).not.toContain(storageKey);
  });

  test('a search that never comes to its end begins somewhere else each time', async () => {
    for (let n = 0; n < 8; n += 1) await made.files.store(Readable.from(['x']), plenty);
    const firsts = new Set<string>();
    for (let n = 0; n < 40; n += 1) {
      for await (const old of made.files.listOlderThan(-60_000)) {
        if (old.kind === 'stored') firsts.add(old.storageKey);
        if (old.kind === 'stored') break;
      }
    }
    expect(firsts.size).toBeGreaterThan(1);
    const all = await collectKeys(made.files, -60_000);
    expect(new Set(all).size).toBe(all.length);
  });

  test('fifty stores at once do not disturb each other', async () => {
    const contents = Array.from({ length: 50 }, (_, index) => `content ${index}`);
    const stored = await Promise.all(
      contents.map((content) => made.files.store(Readable.from([content]), plenty)),
    );
    const back = await Promise.all(
      stored.map(async ({ storageKey }) => text(await made.files.open(storageKey))),
    );
    expect(back).toEqual(contents);
  });

  test('the probe leaves nothing behind', async () => {
    const before = await made.listEverything();
    await made.files.probe();
    expect(await made.listEverything()).toEqual(before);
  });
}

let parent = '';
let count = 0;

beforeAll(async () => {
  parent = await mkdtemp(path.join(tmpdir(), 'sluice-files-'));
});

afterAll(async () => {
  await rm(parent, { recursive: true, force: true });
});

function newRoot(): string {
  count += 1;
  return path.join(parent, `root-${count}`);
}

filesContract('local files', async () => {
  const root = newRoot();
  return { files: createLocalFiles({ root }), listEverything: () => listFiles(root) };
});

const s3 = useS3Server();

function bucketFiles(
  changes: { s3Prefix?: string; s3Bucket?: string; s3SecretAccessKey?: string } = {},
): Files {
  const { endpoint, region, bucket, accessKeyId, secretAccessKey, pathStyle } = s3.access;
  const files = createFiles({
    filesBackend: 's3',
    dataDir: '/nonexistent',
    s3Endpoint: endpoint,
    s3Region: region,
    s3Bucket: bucket,
    s3AccessKeyId: accessKeyId,
    s3SecretAccessKey: secretAccessKey,
    s3PathStyle: pathStyle,
    s3Prefix: 'files/of/sluice',
    ...changes,
  });
  onTestFinished(() => files.close());
  return files;
}

filesContract('files in a bucket', async () => ({
  files: bucketFiles(),
  listEverything: () => s3.listEverything(),
}));

describe('files in a bucket', () => {
  const large = 20 * 1024 * 1024;

  test('a file of several parts is stored whole, under the prefix and a generated name', async () => {
    const bytes = randomBytes(large);
    const files = bucketFiles();
    const stored = await files.store(Readable.from(piecesOf(bytes, 999_983)), { maxBytes: large });
    expect(stored).toMatchObject({
      sizeBytes: large,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    expect(await s3.client().head(`files/of/sluice/${stored.storageKey}`)).toMatchObject({
      sizeBytes: large,
    });
    const part = await files.open(stored.storageKey, { start: large - 10, end: large + 10 });
    expect((await part.toArray()).join('')).toBe(bytes.subarray(large - 10).toString());
  });

  test.each(['too large', 'broken off'])(
    'a file of several parts that is %s leaves nothing behind',
    async (how) => {
      const before = await s3.listEverything();
      const source = Readable.from(
        (async function* () {
          yield randomBytes(large);
          if (how === 'broken off') throw new Error('broken off');
          yield randomBytes(1);
        })(),
      );
      await expect(bucketFiles().store(source, { maxBytes: large })).rejects.toThrow(
        how === 'broken off' ? 'broken off' : 'which is the limit',
      );
      expect(source.destroyed).toBe(true);
      expect(await s3.listEverything()).toEqual(before);
    },
  );

  test('a range beyond the end is empty, as on disk', async () => {
    const files = bucketFiles();
    const { storageKey } = await files.store(Readable.from(['abc']), plenty);
    expect(await text(await files.open(storageKey, { start: 3 }))).toBe('');
    const { storageKey: empty } = await files.store(Readable.from([]), plenty);
    expect(await text(await files.open(empty, { start: 0, end: 99 }))).toBe('');
  });

  test('unfinished uploads and probes of a crash are listed as leftovers; foreign objects are not', async () => {
    const s3Prefix = `crash-${newId()}/`;
    const files = bucketFiles({ s3Prefix });
    const client = s3.client();
    const unfinished = async (key: string) => {
      const fetch = createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'test/1' });
      const content = (async function* () {
        yield randomBytes(large);
        await fetch.close();
        throw new Error('the process died');
      })();
      await expect(s3.client({ fetch, maxTries: 1 }).put(key, content)).rejects.toThrow('died');
    };
    await unfinished(`${s3Prefix}${unknownKey}`);
    await unfinished(`${s3Prefix}notes`);
    await client.put(`${s3Prefix}probe/${newId()}`, Readable.from(['probe']));
    await client.put(`${s3Prefix}mine`, Readable.from(['mine']));
    expect(await collectOld(files, 3_600_000)).toEqual([]);
    const old = await collectOld(files, -60_000);
    expect(old.map(({ kind }) => kind)).toEqual(['leftover', 'leftover']);
    for (const found of old) if (found.kind === 'leftover') await found.remove();
    expect(await collectOld(files, -60_000)).toEqual([]);
    expect((await client.list({ prefix: s3Prefix })).objects.map(({ key }) => key)).toEqual([
      `${s3Prefix}mine`,
    ]);
    const [left] = (await client.listUploads({ prefix: s3Prefix })).uploads;
    expect(left?.key).toBe(`${s3Prefix}notes`);
    if (left) await client.abortUpload(left);
  });

  test.each([
    ['s3_bucket_missing', { s3Bucket: 'no-such-bucket' }],
    ['s3_credentials_refused', { s3SecretAccessKey: 'wrong' }],
  ])('only the probe says what is wrong (%s)', async (code, wrong) => {
    const files = bucketFiles(wrong);
    await expect(files.probe()).rejects.toMatchObject({ code });
    const away = {
      code: 'files_unavailable',
      cause: { code },
      message: expect.not.stringContaining('bucket'),
    };
    await expect(files.store(Readable.from(['x']), plenty)).rejects.toMatchObject(away);
    await expect(files.open(unknownKey)).rejects.toMatchObject(away);
    // A response to HEAD has no body that could say more.
    await expect(files.exists(unknownKey)).rejects.toMatchObject({ code: 'files_unavailable' });
    await expect(files.remove(unknownKey)).rejects.toMatchObject(away);
    await expect(collectOld(files, 0)).rejects.toMatchObject(away);
  });

  test('while the server is away nothing is stored or lost, and later everything works again', async () => {
    const files = bucketFiles();
    const { storageKey } = await files.store(Readable.from(['kept']), plenty);
    await s3.kill();
    const away = { code: 'files_unavailable', definition: { kind: 'transient', status: 503 } };
    try {
      await expect(files.open(storageKey)).rejects.toMatchObject(away);
      await expect(files.exists(storageKey)).rejects.toMatchObject(away);
      await expect(files.probe()).rejects.toThrow();
    } finally {
      await s3.start();
    }
    expect(await text(await files.open(storageKey))).toBe('kept');
  });
});

describe('local files on disk', () => {
  test('an old file that a crash left in tmp is listed as a leftover and can be removed', async () => {
    const root = newRoot();
    const files = createLocalFiles({ root });
    await mkdir(path.join(root, 'tmp'), { recursive: true });
    const leftover = path.join(root, 'tmp', 'half');
    await writeFile(leftover, 'half');
    const hourAgo = new Date(Date.now() - 3_700_000);
    expect(await collectOld(files, 3_600_000)).toEqual([]);
    await utimes(leftover, hourAgo, hourAgo);
    const [found] = await collectOld(files, 3_600_000);
    expect(found?.kind).toBe('leftover');
    if (found?.kind === 'leftover') await found.remove();
    expect(await listFiles(root)).toEqual([]);
  });

  test('a foreign file in the root is neither listed nor touched', async () => {
    const root = newRoot();
    await mkdir(path.join(root, 'ab/cd'), { recursive: true });
    await writeFile(path.join(root, 'ab/cd/notes.txt'), 'mine');
    const files = createLocalFiles({ root });
    expect(await collectKeys(files, -60_000)).toEqual([]);
  });

  test('a root that cannot be created fails the probe', async () => {
    const root = newRoot();
    await writeFile(root, 'a file where the directory should be');
    await expect(createLocalFiles({ root }).probe()).rejects.toThrow();
  });
});

function* piecesOf(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collectOld(files: Files, ageMs: number): Promise<OldContent[]> {
  const found: OldContent[] = [];
  for await (const old of files.listOlderThan(ageMs)) found.push(old);
  return found;
}

async function collectKeys(files: Files, ageMs: number): Promise<string[]> {
  return (await collectOld(files, ageMs)).flatMap((old) => (old.kind === 'stored' ? [old.storageKey] : []));
}

async function listFiles(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}
