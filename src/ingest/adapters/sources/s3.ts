import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createS3Client } from '../../../kernel/s3/client.ts';
import type { S3Client, S3Fetch, S3Object } from '../../../kernel/s3/types.ts';
import type { FileSource, FoundFile, S3Place } from '../types.ts';

/** An S3 prefix: the objects whose names go on without a further slash. */
export async function openS3(
  place: S3Place,
  { fetch, secret }: { fetch: S3Fetch; secret(name: string): Promise<string> },
): Promise<FileSource> {
  const client = createS3Client({
    endpoint: place.endpoint,
    region: place.region,
    bucket: place.bucket,
    pathStyle: place.pathStyle,
    accessKeyId: await secret(place.accessKeyIdSecret),
    secretAccessKey: await secret(place.secretAccessKeySecret),
    fetch,
  });
  const { prefix } = place;
  return {
    isAtomic: true,
    list: (limit) => list(client, { prefix, limit }),
    find: async (name) => {
      const object = await client.head(prefix + name);
      return object === null ? null : foundOf(object, prefix);
    },
    read: (file, into) => read(client, { key: prefix + file.path, etag: file.version, into }),
    move: async ({ from, to }) => {
      await client.copy({ from: prefix + from, to: prefix + to });
      await client.delete(prefix + from);
    },
    close: async () => {},
  };
}

const maxPages = 1_000;
/** Behind every key that begins like this. */
const last = '\u{10FFFF}';

async function list(client: S3Client, { prefix, limit }: { prefix: string; limit: number }) {
  const files: FoundFile[] = [];
  let after: string | null = null;
  for (let page = 0; page < maxPages; page += 1) {
    const { objects, next } = await client.list({ prefix, ...(after === null ? {} : { after }) });
    for (const object of objects) {
      const name = object.key.slice(prefix.length);
      if (name === '' || name.includes('/')) continue;
      if (files.length >= limit) return { files, isComplete: false };
      files.push(foundOf(object, prefix));
    }
    if (next === null) return { files, isComplete: true };
    after = behindFolder(objects.at(-1)?.key ?? next, prefix) ?? next;
  }
  return { files, isComplete: false };
}

/** What was moved to `done/` may be a million objects: a page that ends within a folder goes on behind it. */
function behindFolder(key: string, prefix: string): string | null {
  const slash = key.indexOf('/', prefix.length);
  return slash === -1 ? null : `${key.slice(0, slash + 1)}${last}`;
}

function foundOf(object: S3Object, prefix: string): FoundFile {
  const { key, sizeBytes, etag } = object;
  return { path: key.slice(prefix.length), sizeBytes, version: etag, modifiedAt: null };
}

const readTimeoutMs = 6 * 3_600_000;

async function read(
  client: S3Client,
  { key, etag, into }: { key: string; etag: string; into: Writable },
): Promise<void> {
  const { stream } = await client.get(key, { ifMatch: etag, timeoutMs: readTimeoutMs });
  await pipeline(stream, into);
}
