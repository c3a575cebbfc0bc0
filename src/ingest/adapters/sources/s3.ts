import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isSluiceError, type SluiceError } from '../../../lib/errors.ts';
import { createS3Client } from '../../../lib/s3/client.ts';
import type { S3Client, S3Fetch, S3Object } from '../../../lib/s3/types.ts';
import { adapterFailures } from '../errors.ts';
import type { FileSource, FoundFile, S3Place } from '../types.ts';

/** The objects directly under an S3 prefix, without a further slash in their keys. */
export function openS3(
  place: S3Place,
  { fetch, keys }: { fetch: S3Fetch; keys: { accessKeyId: string; secretAccessKey: string } },
): FileSource {
  const client = createS3Client({
    endpoint: place.endpoint,
    region: place.region,
    bucket: place.bucket,
    pathStyle: place.pathStyle,
    ...keys,
    fetch,
  });
  const { prefix } = place;
  return {
    isAtomic: true,
    list: (isWanted) => list(client, { prefix, isWanted }),
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

/** Sorts after every key with the same start. */
const last = '\u{10FFFF}';

async function* list(
  client: S3Client,
  { prefix, isWanted }: { prefix: string; isWanted: (name: string) => boolean },
): AsyncGenerator<FoundFile[]> {
  let after: string | null = null;
  do {
    const { objects, next } = await client.list({ prefix, ...(after === null ? {} : { after }) });
    const files = objects.map((object) => foundOf(object, prefix));
    yield files.filter(({ path }) => path !== '' && !path.includes('/') && isWanted(path));
    after = next === null ? null : (behindFolder(next, prefix) ?? next);
  } while (after !== null);
}

/** `done/` may contain a million objects, so a page that ends inside a folder continues after it. */
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
  try {
    const { stream } = await client.get(key, { ifMatch: etag, timeoutMs: readTimeoutMs });
    await pipeline(stream, into);
  } catch (error) {
    throw isOfTheObject(error)
      ? adapterFailures.raise.adapter_file_unreadable(error.message, { cause: error })
      : error;
  }
}

/** Listing was allowed, so the key is valid: this object has its own permissions or is archived. */
function isOfTheObject(error: unknown): error is SluiceError {
  return isSluiceError(error) && ['s3_access_denied', 's3_request_refused'].includes(error.code);
}
