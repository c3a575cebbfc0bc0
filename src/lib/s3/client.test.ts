import { createHash, randomBytes } from 'node:crypto';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { guardedFetch } from '../../../test/support/fakes/local-site.ts';
import { useS3Server } from '../../../test/support/fakes/s3-server.ts';

const server = useS3Server();
const mebibyte = 1024 * 1024;

async function* piecesOf(bytes: Buffer, size = 100_003): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* thenFail(bytes: Buffer): AsyncGenerator<Buffer> {
  yield* piecesOf(bytes);
  throw new Error('the source broke off');
}

function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

describe('objects', () => {
  test('an object that was put has its size and etag, and is read back whole', async () => {
    const client = server.client();
    const bytes = randomBytes(300_000);
    const put = await client.put('small', piecesOf(bytes));
    expect(put).toEqual({ sizeBytes: bytes.length, etag: md5(bytes) });
    const head = await client.head('small');
    expect(head).toMatchObject({ key: 'small', sizeBytes: bytes.length, etag: put.etag });
    expect(Math.abs(Date.now() - (head?.lastModified.getTime() ?? 0))).toBeLessThan(60_000);
    const got = await client.get('small');
    expect(got).toMatchObject({ sizeBytes: bytes.length, totalBytes: bytes.length, etag: put.etag });
    expect((await buffer(got.stream)).equals(bytes)).toBe(true);
  });

  test('an object may be empty', async () => {
    const client = server.client();
    expect((await client.put('empty', piecesOf(Buffer.alloc(0)))).sizeBytes).toBe(0);
    expect(await text((await client.get('empty')).stream)).toBe('');
  });

  test.each([8 * mebibyte, 8 * mebibyte + 1, 20 * mebibyte + 17])(
    '%i bytes come back as they were, and no unfinished upload stays',
    async (size) => {
      const client = server.client();
      const bytes = randomBytes(size);
      expect((await client.put('large', piecesOf(bytes, 1_000_003))).sizeBytes).toBe(size);
      const back = await buffer((await client.get('large')).stream);
      expect(back.equals(bytes)).toBe(true);
      expect((await client.listUploads()).uploads).toEqual([]);
    },
  );

  test('a range includes both ends, and is read only from the intended version', async () => {
    const client = server.client();
    const { etag } = await client.put('digits', piecesOf(Buffer.from('0123456789')));
    const part = await client.get('digits', { range: { start: 2, end: 4 }, ifMatch: etag });
    expect(part).toMatchObject({ sizeBytes: 3, totalBytes: 10 });
    expect(await text(part.stream)).toBe('234');
    expect(await text((await client.get('digits', { range: { start: 7 } })).stream)).toBe('789');
    expect(await text((await client.get('digits', { range: { start: 7, end: 99 } })).stream)).toBe('789');
    await expect(client.get('digits', { range: { start: 10 } })).rejects.toMatchObject({
      code: 's3_range_outside',
    });
    await expect(client.get('digits', { ifMatch: md5(Buffer.from('other')) })).rejects.toMatchObject({
      code: 's3_object_changed',
    });
  });

  test('a missing object is null for head, an error for get, and ignored by delete', async () => {
    const client = server.client();
    expect(await client.head('nowhere')).toBeNull();
    await expect(client.get('nowhere')).rejects.toMatchObject({ code: 's3_object_missing' });
    await client.delete('nowhere');
  });

  test('a copy has the same content, and the first can be deleted', async () => {
    const client = server.client();
    const { etag } = await client.put('from here/ü', piecesOf(Buffer.from('content')));
    expect(await client.copy({ from: 'from here/ü', to: 'to here' })).toEqual({ etag });
    await client.delete('from here/ü');
    expect(await client.head('from here/ü')).toBeNull();
    expect(await text((await client.get('to here')).stream)).toBe('content');
    await expect(client.copy({ from: 'gone', to: 'x' })).rejects.toMatchObject({ code: 's3_object_missing' });
  });
});

describe('a put that fails', () => {
  test.each([1000, 20 * mebibyte])('after %i bytes leaves nothing behind', async (size) => {
    const client = server.client();
    const before = await server.listEverything();
    await expect(client.put('failed', thenFail(randomBytes(size)))).rejects.toThrow('the source broke off');
    expect(await server.listEverything()).toEqual(before);
  });

  test('a failed put that cannot be aborted leaves an upload that can be aborted later, even twice', async () => {
    const client = server.client();
    const died = ['a+b c/ü', 'one', 'two'].map(async (key) => {
      const fetch = guardedFetch({ blockPrivateAddresses: false });
      const content = (async function* () {
        yield randomBytes(20 * mebibyte);
        await fetch.close();
        throw new Error('the process died');
      })();
      await expect(server.client({ fetch, maxTries: 1 }).put(`died/${key}`, content)).rejects.toThrow('died');
    });
    await Promise.all(died);
    const first = await client.listUploads({ prefix: 'died/' });
    const second = await client.listUploads({ prefix: 'died/', after: first.next ?? undefined });
    const found = [...first.uploads, ...second.uploads];
    expect(found.map(({ key }) => key).sort()).toEqual(['died/a+b c/ü', 'died/one', 'died/two']);
    expect(second.next).toBeNull();
    for (const upload of [...found, ...found]) await client.abortUpload(upload);
    expect((await client.listUploads({ prefix: 'died/' })).uploads).toEqual([]);
  });
});

describe('lists', () => {
  const keys = [
    "!'()*.csv",
    '%41',
    '+ plus & space.csv',
    '<tag>&amp;',
    'a/ /b',
    'tab\tnew\nline\u0001',
    'ünï/日本語/🎉.txt',
  ];

  test('keys of any kind are listed unchanged, page by page, and each can be read', async () => {
    const client = server.client();
    for (const key of keys) await client.put(`list/${key}`, piecesOf(Buffer.from(key)));
    const seen: string[] = [];
    let after: string | undefined;
    for (let page = 0; page < 10; page += 1) {
      const { objects, next } = await client.list({ prefix: 'list/', after, maxKeys: 2 });
      seen.push(...objects.map((object) => object.key.slice('list/'.length)));
      for (const { key, sizeBytes, etag } of objects) {
        const got = await client.get(key, { ifMatch: etag });
        expect(got.sizeBytes).toBe(sizeBytes);
        expect(`list/${await text(got.stream)}`).toBe(key);
      }
      if (next === null) break;
      after = next;
    }
    expect(seen.sort()).toEqual([...keys].sort());
  });

  test('a prefix without objects gives an empty last page', async () => {
    expect(await server.client().list({ prefix: 'no such/' })).toEqual({ objects: [], next: null });
  });
});

describe('places', () => {
  test('the bucket in the host name works as well', async () => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const fetch = guardedFetch({ blockPrivateAddresses: false, resolve });
    const { port } = new URL(server.access.endpoint);
    const client = server.client({ endpoint: `http://s3.example.test:${port}`, pathStyle: false, fetch });
    await client.put('in the host', piecesOf(Buffer.from('x')));
    expect((await client.list({ prefix: 'in the' })).objects).toHaveLength(1);
    expect(await server.client().head('in the host')).toMatchObject({ sizeBytes: 1 });
  });

  test('a session token is sent and signed', async () => {
    expect(await server.client({ sessionToken: 'a/b+c==' }).head('nowhere')).toBeNull();
  });

  test('a clock that is an hour wrong is corrected by the server’s', async () => {
    const now = () => new Date(Date.now() - 3_600_000);
    const client = server.client({ now });
    await client.put('late', piecesOf(Buffer.from('x')));
    expect(await client.head('late')).toMatchObject({ sizeBytes: 1 });
  });

  test('an endpoint on a private address is refused and not retried', async () => {
    const client = server.client({ fetch: guardedFetch() });
    await expect(client.list()).rejects.toMatchObject({ code: 'address_blocked' });
  });

  test('a key that a URL cannot hold or the protocol does not allow is refused', async () => {
    for (const key of ['', 'a/../b', '.', 'x/.', 'y'.repeat(1025), 'half \ud800']) {
      await expect(server.client().put(key, piecesOf(Buffer.from('x')))).rejects.toMatchObject({
        code: 's3_key_unusable',
      });
    }
  });

  test.each([
    [{ endpoint: 'nonsense' }],
    [{ endpoint: 'ftp://host' }],
    [{ endpoint: 'https://host/path' }],
    [{ endpoint: 'https://user:password@host' }],
    [{ bucket: 'a/b' }],
    [{ bucket: '..' }],
    [{ pathStyle: false }],
  ])('the place %j is refused at once', (options) => {
    expect(() => server.client(options)).toThrow(expect.objectContaining({ code: 's3_endpoint_invalid' }));
  });
});

describe('refusals are explained', () => {
  test.each([
    ['s3_bucket_missing', { bucket: 'no-such-bucket' }, 'The bucket no-such-bucket does not exist'],
    ['s3_credentials_refused', { accessKeyId: 'WRONG' }, 'InvalidAccessKeyId'],
    ['s3_credentials_refused', { secretAccessKey: 'WRONG' }, 'SignatureDoesNotMatch'],
    ['s3_region_wrong', { region: 'eu-central-1' }, 'is in us-east-1, not eu-central-1'],
  ])('%s', async (code, options, message) => {
    const list = server.client(options).list();
    await expect(list).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    await expect(list).rejects.toMatchObject({ definition: { kind: 'invalid' } });
  });
});
