import { isSluiceError } from '../errors.ts';
import { openContent } from './content.ts';
import { s3Errors } from './errors.ts';
import { abortUpload, putContent } from './multipart.ts';
import { createSender, type S3Sender } from './requests.ts';
import { bareEtag, dateOf, readEtag, readObjects, readUploads, sizeOf, unreadable } from './responses.ts';
import { encodePercent } from './signature.ts';
import type { ListQuery, S3Client, S3ClientOptions, S3Object, S3Page, UnfinishedUpload } from './types.ts';

/** A client for one bucket. It has no connections of its own: the fetch has them. */
export function createS3Client(options: S3ClientOptions): S3Client {
  const sender = createSender(options);
  return {
    list: (query = {}) => list(sender, query),
    head: (key) => head(sender, key),
    get: (key, wishes = {}) => openContent(sender, { key, maxTries: options.maxTries, ...wishes }),
    put: (key, content) => putContent(sender, { key, content }),
    copy: (names) => copy(sender, { ...names, bucket: options.bucket }),
    delete: async (key) => {
      await sender.text({ method: 'DELETE', key });
    },
    listUploads: (query = {}) => listUploads(sender, query),
    abortUpload: ({ key, uploadId }) => abortUpload(sender, { key, uploadId }),
  };
}

const mostKeys = 1000;
/** After many deletions, servers return empty pages that continue. */
const mostEmptyPages = 1000;

async function list(sender: S3Sender, { prefix, after, maxKeys = mostKeys }: ListQuery): Promise<S3Page> {
  const query = {
    'list-type': '2',
    'encoding-type': 'url',
    'max-keys': String(Math.max(1, Math.min(mostKeys, maxKeys))),
    ...(prefix ? { prefix } : {}),
    ...(after ? { 'start-after': after } : {}),
  };
  let token: string | null = null;
  for (let page = 0; page < mostEmptyPages; page += 1) {
    const asked = token === null ? query : { ...query, 'continuation-token': token };
    const { objects, next, ...more } = readObjects((await sender.text({ method: 'GET', query: asked })).body);
    if (more.token === null) return { objects, next };
    token = more.token;
  }
  throw unreadable('objects', `${mostEmptyPages} empty pages`);
}

async function head(sender: S3Sender, key: string): Promise<S3Object | null> {
  try {
    const { headers } = await sender.text({ method: 'HEAD', key });
    return {
      key,
      sizeBytes: sizeOf(headers['content-length']),
      etag: bareEtag(headers.etag),
      lastModified: dateOf(headers['last-modified']),
    };
  } catch (error) {
    if (isSluiceError(error) && error.code === 's3_object_missing') return null;
    throw error;
  }
}

async function copy(
  sender: S3Sender,
  { from, to, bucket }: { from: string; to: string; bucket: string },
): Promise<{ etag: string }> {
  if (from === to) throw s3Errors.raise.s3_key_unusable('An object cannot be copied onto itself');
  const source = `/${bucket}/${from.split('/').map(encodePercent).join('/')}`;
  const headers = { 'x-amz-copy-source': source };
  const { body } = await sender.text({ method: 'PUT', key: to, headers });
  return { etag: readEtag(body) };
}

async function listUploads(
  sender: S3Sender,
  { prefix, after }: { prefix?: string; after?: UnfinishedUpload },
) {
  const query = {
    uploads: '',
    'encoding-type': 'url',
    ...(prefix ? { prefix } : {}),
    ...(after ? { 'key-marker': after.key, 'upload-id-marker': after.uploadId } : {}),
  };
  return readUploads((await sender.text({ method: 'GET', query })).body);
}
