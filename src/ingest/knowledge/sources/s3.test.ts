import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { guardedFetch } from '../../../../test/support/fakes/local-site.ts';
import { useS3Server } from '../../../../test/support/fakes/s3-server.ts';
import { readSource } from '../../../../test/support/probes/read-source.ts';
import { s3Settings, s3Source } from './s3.ts';

const server = useS3Server();

function open(prefix: string, keys: Partial<{ accessKeyId: string; secretAccessKey: string }> = {}) {
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server.access;
  const settings = s3Settings.parse({
    endpoint,
    region,
    bucket,
    prefix,
    path_style: true,
    access_key_id_secret: 'id',
    secret_access_key_secret: 'key',
  });
  const readKeys = async () => ({
    accessKeyId,
    secretAccessKey,
    scrubError: (error: unknown) => error,
    ...keys,
  });
  return s3Source(settings, { fetch: guardedFetch({ blockPrivateAddresses: false }), readKeys });
}

const put = (key: string, text: string) => server.client().put(key, Readable.from([Buffer.from(text)]));

describe('the documents below a prefix', () => {
  test('are read once, with their folders, and read again only if they changed', async () => {
    await put('h1/a.md', '# A\n\nOne');
    await put('h1/deep/b.txt', 'Two');
    await put('h1/image.bin', 'x');
    await put('h2/other.md', 'Other');
    const first = await readSource(open('h1/'));
    expect(first.uris).toEqual(['s3:a.md', 's3:deep/b.txt']);
    expect(first.end).toEqual({ isComplete: true });
    await put('h1/a.md', '# A\n\nOne, changed');
    await server.client().delete('h1/deep/b.txt');
    await put('h1/c.md', 'Three');
    const second = await readSource(open('h1/'), { known: first.documents });
    expect(second.documents.map(({ kind, uri }) => `${kind} ${uri}`)).toEqual([
      'text s3:a.md',
      'text s3:c.md',
    ]);
    const third = await readSource(open('h1/'), { known: second.documents });
    expect(third.documents.map(({ kind }) => kind)).toEqual(['unchanged', 'unchanged']);
    expect(third.end).toEqual({ isComplete: true });
  });

  test('go on behind the last key', async () => {
    for (let at = 10; at < 50; at += 1) await put(`many/${at}.md`, `Text ${at}`);
    const whole = await readSource(open('many/'));
    expect(whole.uris).toHaveLength(40);
    const [{ cursor, documents } = { cursor: {}, documents: [] }] = whole.batches;
    const rest = await readSource(open('many/'), { cursor });
    expect(rest.uris).toEqual(whole.uris.slice(documents.length));
  });

  test('are not gone if nothing is found, or the bucket refuses the key', async () => {
    expect((await readSource(open('nothing/'))).end).toEqual({
      isComplete: false,
      reason: 'There are no documents below the prefix',
    });
    await put('h3/a.md', 'A');
    const refused = await readSource(open('h3/', { secretAccessKey: 'wrong' }));
    expect(refused.documents).toEqual([]);
    expect(refused.end).toMatchObject({
      isComplete: false,
      reason: expect.stringContaining('cannot be listed'),
    });
  });
});
