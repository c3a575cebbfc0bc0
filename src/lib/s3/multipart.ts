import { isSluiceError } from '../errors.ts';
import { escapeMarkup } from '../formats/xml-text.ts';
import { s3Errors } from './errors.ts';
import type { S3Sender } from './requests.ts';
import { bareEtag, readEtag, readUploadId, unreadable } from './responses.ts';
import type { PutObject, UnfinishedUpload } from './types.ts';

/** The protocol allows 10,000 parts of 5 MiB or more; some servers want all but the last of one size. */
const partBytes = 8 * 1024 * 1024;
const maxParts = 10_000;
export const maxObjectBytes = partBytes * maxParts;
const hastily = { timeoutMs: 5_000, maxTries: 1 };

/** Sends small content in one request, and larger content in parts: one is sent while the next one fills. */
export async function putContent(
  sender: S3Sender,
  { key, content }: { key: string; content: AsyncIterable<Uint8Array | string> },
): Promise<PutObject> {
  const parts = partsOf(content);
  try {
    const held: Buffer[] = [];
    for (let next = await parts.next(); !next.done; next = await parts.next()) {
      held.push(next.value);
      if (held.length === 2) break;
    }
    if (held.length === 2) return await putParts(sender, { key, parts: chain(held, parts) });
    const [body = Buffer.alloc(0)] = held;
    const { headers } = await sender.text({ method: 'PUT', key, body });
    return { sizeBytes: body.length, etag: bareEtag(headers.etag) };
  } finally {
    await parts.return(undefined);
  }
}

async function putParts(
  sender: S3Sender,
  { key, parts }: { key: string; parts: AsyncIterable<Buffer> },
): Promise<PutObject> {
  const begun = await sender.text({ method: 'POST', key, query: { uploads: '' } });
  const upload = { key, uploadId: readUploadId(begun.body) };
  try {
    const sent = await sendParts(sender, { ...upload, parts });
    return { sizeBytes: sent.sizeBytes, etag: await complete(sender, { ...upload, ...sent }) };
  } catch (error) {
    // The caller waits, so only try briefly: listUploads finds uploads that could not be aborted.
    await abortUpload(sender, { ...upload, ...hastily }).catch(() => {});
    throw error;
  }
}

type UploadKey = Pick<UnfinishedUpload, 'key' | 'uploadId'>;

interface SentParts {
  sizeBytes: number;
  etags: string[];
}

async function sendParts(
  sender: S3Sender,
  { key, uploadId, parts }: UploadKey & { parts: AsyncIterable<Buffer> },
): Promise<SentParts> {
  const etags: string[] = [];
  let sizeBytes = 0;
  let sending: Promise<string> | null = null;
  const collect = async () => {
    if (sending !== null) etags.push(await sending);
  };
  try {
    for await (const body of parts) {
      await collect();
      sizeBytes += body.length;
      if (sizeBytes > maxObjectBytes) {
        throw s3Errors.raise.s3_object_too_large(`The content has more than ${maxObjectBytes} bytes`);
      }
      const query = { partNumber: String(etags.length + 1), uploadId };
      sending = sender
        .text({ method: 'PUT', key, query, body })
        .then(({ headers }) => headers.etag || Promise.reject(unreadable('the etag of a part', '')));
      // It is awaited one part later; until then a failure must not count as unhandled.
      sending.catch(() => {});
    }
    await collect();
  } finally {
    // A part that arrives after its upload was aborted would stay.
    await sending?.catch(() => {});
  }
  return { sizeBytes, etags };
}

async function complete(
  sender: S3Sender,
  { key, uploadId, etags, sizeBytes }: SentParts & UploadKey,
): Promise<string> {
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeMarkup(etag)}</ETag></Part>`,
  );
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
  const headers = { 'content-type': 'application/xml' };
  try {
    const answer = await sender.text({ method: 'POST', key, query: { uploadId }, headers, body });
    return readEtag(answer.body);
  } catch (error) {
    const etag = isUploadGone(error) ? await findFinished(sender, { key, sizeBytes }) : null;
    if (etag === null) throw error;
    return etag;
  }
}

/** A missing upload may have been completed by the previous attempt, whose response was lost. */
async function findFinished(
  sender: S3Sender,
  { key, sizeBytes }: { key: string; sizeBytes: number },
): Promise<string | null> {
  const { headers } = await sender.text({ method: 'HEAD', key });
  return Number(headers['content-length']) === sizeBytes ? bareEtag(headers.etag) : null;
}

export async function abortUpload(
  sender: S3Sender,
  { uploadId, ...rest }: UploadKey & { timeoutMs?: number; maxTries?: number },
): Promise<void> {
  try {
    await sender.text({ method: 'DELETE', query: { uploadId }, ...rest });
  } catch (error) {
    if (!isUploadGone(error)) throw error;
  }
}

function isUploadGone(error: unknown): boolean {
  return isSluiceError(error) && error.details.s3_code === 'NoSuchUpload';
}

/** Turns pieces of any size into parts of exactly `partBytes`, and a shorter last one. */
async function* partsOf(content: AsyncIterable<Uint8Array | string>): AsyncGenerator<Buffer, undefined> {
  let part: Buffer = Buffer.alloc(0);
  let filled = 0;
  for await (const piece of content) {
    let rest = typeof piece === 'string' ? Buffer.from(piece) : piece;
    while (rest.length > 0) {
      if (part.length - filled === 0) {
        if (filled === partBytes) {
          yield part;
          filled = 0;
          part = Buffer.alloc(0);
        }
        part = grown(part, filled + rest.length);
      }
      const taken = rest.subarray(0, part.length - filled);
      part.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}

/** Doubles, so that a small file does not cost the memory of a large one. */
function grown(part: Buffer, wanted: number): Buffer {
  const size = Math.min(partBytes, Math.max(wanted, part.length * 2, 64 * 1024));
  const larger = Buffer.allocUnsafe(size);
  larger.set(part);
  return larger;
}

async function* chain(first: Buffer[], rest: AsyncIterator<Buffer, undefined>): AsyncGenerator<Buffer> {
  // Each is released once it is taken: they are large.
  for (let next = first.shift(); next; next = first.shift()) yield next;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
