import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isSluiceError, type SluiceError } from '../../lib/errors.ts';
import { fetchErrors } from '../../lib/fetch/errors.ts';
import { createGuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import { newId } from '../../lib/ids.ts';
import { createS3Client } from '../../lib/s3/client.ts';
import { s3Errors } from '../../lib/s3/errors.ts';
import type {
  S3Client,
  S3ClientOptions,
  S3Object,
  UnfinishedUpload,
  UploadPage,
} from '../../lib/s3/types.ts';
import { fileErrors } from './errors.ts';
import { MeasuredContent } from './measured-content.ts';
import { assertStorageKey, isStorageKey, newStorageKey, randomStart } from './storage-key.ts';
import type { Files, OldContent, StoredContent } from './types.ts';

export interface S3FilesOptions extends Omit<S3ClientOptions, 'fetch'> {
  /** Precedes every key; empty, or ending in a slash. Nothing else may store below it. */
  prefix: string;
  userAgent: string;
}

/**
 * Files in the operator's bucket. The server generates names (`ab/cd/<uuid>`), an object appears whole or
 * not at all, and a crash leaves only an unfinished upload, which the sweep aborts.
 */
export function createS3Files({ prefix, userAgent, ...place }: S3FilesOptions): Files {
  // The operator chooses the server: no address is refused, not even one of this machine.
  const fetch = createGuardedFetch({ blockPrivateAddresses: false, refuse: () => null, userAgent });
  const client = createS3Client({ ...place, fetch });
  const hasty = createS3Client({ ...place, fetch, ...probing });
  const context = { client, prefix };
  return {
    backend: 's3',
    store: (content, { maxBytes }) => storeContent(context, { content, maxBytes }),
    open: (storageKey, range = {}) => openContent(context, { storageKey, ...range }),
    remove: async (storageKey) => {
      await client.delete(nameOf(context, storageKey)).catch(unavailable);
    },
    exists: (storageKey) => exists(context, storageKey).catch(unavailable),
    listOlderThan: (ageMs) => listOlderThan(context, ageMs),
    probe: () => probe({ client: hasty, prefix }),
    close: () => fetch.close(),
  };
}

interface Context {
  client: S3Client;
  prefix: string;
}

/** A caller is waiting, and will ask again in a moment. */
const probing = { maxTries: 1, timeoutMs: 5_000 };

function nameOf({ prefix }: Context, storageKey: string): string {
  assertStorageKey(storageKey);
  return `${prefix}${storageKey}`;
}

async function storeContent(
  context: Context,
  { content, maxBytes }: { content: Readable; maxBytes: number },
): Promise<StoredContent> {
  const storageKey = newStorageKey();
  const measured = new MeasuredContent(content, { maxBytes });
  try {
    await context.client.put(nameOf(context, storageKey), measured.pieces());
    return { storageKey, ...measured.measures() };
  } catch (error) {
    content.destroy();
    return unavailable(error);
  }
}

async function openContent(
  context: Context,
  { storageKey, start = 0, end }: { storageKey: string; start?: number; end?: number },
): Promise<Readable> {
  const isWhole = start === 0 && end === undefined;
  const range = isWhole ? {} : { range: { start, end } };
  try {
    const { stream } = await context.client.get(nameOf(context, storageKey), range);
    const body = Readable.from(piecesOf(stream), { objectMode: false });
    // Nothing may have been read yet when it is given up.
    return body.once('close', () => stream.destroy());
  } catch (error) {
    if (isCode(error, 's3_range_outside')) return Readable.from([], { objectMode: false });
    if (!isCode(error, 's3_object_missing')) return unavailable(error);
    throw fileErrors.raise.file_content_missing(`The content ${storageKey} is not in the bucket`, {
      cause: error,
    });
  }
}

async function* piecesOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    unavailable(error);
  }
}

async function exists(context: Context, storageKey: string): Promise<boolean> {
  const name = nameOf(context, storageKey);
  if ((await context.client.head(name)) !== null) return true;
  // `head` cannot tell a missing bucket from a missing object, and a job would give its file up.
  const { objects } = await context.client.list({ prefix: name, maxKeys: 1 });
  return objects.some(({ key }) => key === name);
}

/**
 * A multipart upload is as old as its beginning, and so is what becomes of it: a slow client may take hours. Only
 * after a multiple of the age is such a one taken for left behind.
 */
const multipartPatience = 24;

async function* listOlderThan(context: Context, ageMs: number): AsyncGenerator<OldContent> {
  const { client, prefix } = context;
  const isOlder = (date: Date, isMultipart: boolean) =>
    date.getTime() < Date.now() - ageMs * (isMultipart ? multipartPatience : 1);
  for await (const { key, uploadId, startedAt } of listUploads(context)) {
    if (!isOlder(startedAt, true)) continue;
    yield { kind: 'leftover', remove: () => client.abortUpload({ key, uploadId }).catch(unavailable) };
  }
  for await (const { key, etag, lastModified } of listObjects(context)) {
    if (!isOlder(lastModified, etag.includes('-'))) continue;
    const storageKey = key.slice(prefix.length);
    if (isStorageKey(storageKey)) yield { kind: 'stored', storageKey };
    else if (probeShape.test(storageKey)) {
      yield { kind: 'leftover', remove: () => client.delete(key).catch(unavailable) };
    }
  }
}

async function* listUploads({ client, prefix }: Context): AsyncGenerator<UnfinishedUpload> {
  let after: UnfinishedUpload | undefined;
  do {
    const page = await client.listUploads({ prefix, after }).catch(nothingIfUnknown);
    // Only uploads that this installation may have begun.
    yield* page.uploads.filter(({ key }) => isStorageKey(key.slice(prefix.length)));
    after = page.next ?? undefined;
  } while (after);
}

/** Not every server offers this list; those that do not remove unfinished uploads by their own rules. */
function nothingIfUnknown(error: unknown): UploadPage {
  const code = isCode(error, 's3_request_refused') ? String(error.details.s3_code) : '';
  if (['NotImplemented', 'MethodNotAllowed', '501', '405'].includes(code)) return { uploads: [], next: null };
  return unavailable(error);
}

async function* listObjects(context: Context): AsyncGenerator<S3Object> {
  const start = `${context.prefix}${randomStart()}`;
  yield* listBehind(context, { after: start });
  for await (const object of listBehind(context, {})) {
    if (object.key > start) return;
    yield object;
  }
}

async function* listBehind(
  { client, prefix }: Context,
  { after }: { after?: string },
): AsyncGenerator<S3Object> {
  let last = after;
  do {
    const page = await client.list({ prefix, after: last }).catch(unavailable);
    yield* page.objects;
    last = page.next ?? undefined;
  } while (last !== undefined);
}

const probeShape = /^probe\/[0-9a-f-]{36}$/;

/** Checks every right that the work needs: write, read, list and delete. */
async function probe({ client, prefix }: Context): Promise<void> {
  const key = `${prefix}probe/${newId()}`;
  await client.put(key, Readable.from(['probe']));
  try {
    const { stream } = await client.get(key);
    const { objects } = await client.list({ prefix: key, maxKeys: 1 });
    if ((await text(stream)) === 'probe' && objects.length === 1) return;
    throw s3Errors.raise.s3_answer_unreadable('What was just written is not what is there');
  } finally {
    await client.delete(key);
  }
}

/**
 * A failure of the operator's storage is not the tenant's fault, may be repaired, and its details are not for
 * tenants. Other errors stay as they are.
 */
function unavailable(error: unknown): never {
  const isOfStorage =
    isSluiceError(error) && (error.code in s3Errors.definitions || error.code in fetchErrors.definitions);
  if (!isOfStorage) throw error;
  throw fileErrors.raise.files_unavailable('The file storage is not available at the moment', {
    cause: error,
  });
}

function isCode(error: unknown, code: keyof typeof s3Errors.definitions): error is SluiceError {
  return isSluiceError(error) && error.code === code;
}
