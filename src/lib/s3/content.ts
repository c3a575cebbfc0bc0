import { Readable } from 'node:stream';
import type { FetchAnswer } from '../fetch/guarded-fetch.ts';
import { s3Errors } from './errors.ts';
import { isPassing, retryRules, type S3Sender, waitToRetry } from './requests.ts';
import { bareEtag, dateOf, sizeOf, unreadable } from './responses.ts';
import type { GetOptions, S3Content } from './types.ts';

const readTimeoutMs = 600_000;

interface Reading extends GetOptions {
  key: string;
  maxTries?: number;
}

/**
 * Opens an object. A connection that breaks off is resumed after the last byte received, as long as the object is still
 * the same one.
 */
export async function openContent(sender: S3Sender, reading: Reading): Promise<S3Content> {
  const answer = await ask(sender, reading);
  const { start, sizeBytes, totalBytes } = extentOf(answer, reading);
  const etag = bareEtag(answer.headers.etag);
  const lastModified = dateOf(answer.headers['last-modified']);
  const whole = { ...reading, ifMatch: etag, start, end: start + sizeBytes - 1 };
  const stream = Readable.from(read(sender, { answer, reading: whole }), { objectMode: false });
  // It may be destroyed before anybody has begun to read.
  stream.once('close', () => answer.body.destroy());
  return { stream, sizeBytes, totalBytes, etag, lastModified };
}

function ask(sender: S3Sender, { key, range, ifMatch, timeoutMs }: Reading) {
  return sender.open({
    method: 'GET',
    key,
    headers: {
      ...(range ? { range: `bytes=${range.start}-${range.end ?? ''}` } : {}),
      ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
    },
    timeoutMs: timeoutMs ?? readTimeoutMs,
  });
}

interface Extent {
  start: number;
  sizeBytes: number;
  totalBytes: number;
}

/** A server that ignores the range returns 200 with the whole object, which must not be taken for the part. */
function extentOf({ status, headers }: FetchAnswer<Readable>, { range }: Reading): Extent {
  if (status !== 206) {
    const sizeBytes = sizeOf(headers['content-length']);
    const isWanted = range === undefined || (range.start === 0 && (range.end ?? sizeBytes) >= sizeBytes - 1);
    if (isWanted) return { start: 0, sizeBytes, totalBytes: sizeBytes };
    throw unreadable('a range of the object', 'all of it');
  }
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  const start = sizeOf(first);
  if (range === undefined || start !== range.start)
    throw unreadable('the range that was asked for', first ?? '');
  return { start, sizeBytes: sizeOf(last) - start + 1, totalBytes: sizeOf(total) };
}

interface Whole extends Reading {
  ifMatch: string;
  start: number;
  end: number;
}

async function* read(
  sender: S3Sender,
  { answer, reading }: { answer: FetchAnswer<Readable>; reading: Whole },
): AsyncGenerator<Buffer> {
  let body: Readable = answer.body;
  let at = reading.start;
  let failed = 0;
  try {
    while (true) {
      try {
        for await (const piece of body as AsyncIterable<Buffer>) {
          at += piece.length;
          failed = 0;
          if (at > reading.end + 1) {
            throw s3Errors.raise.s3_object_changed('The object has more bytes than announced');
          }
          yield piece;
        }
        if (at === reading.end + 1) return;
        throw s3Errors.raise.s3_unavailable(`The object ended ${reading.end + 1 - at} bytes too early`);
      } catch (error) {
        failed += 1;
        if (!isPassing(error) || failed >= (reading.maxTries ?? retryRules.maxTries)) throw error;
      }
      await waitToRetry(failed);
      body = await reopen(sender, { reading, at });
    }
  } finally {
    body.destroy();
  }
}

async function reopen(sender: S3Sender, { reading, at }: { reading: Whole; at: number }): Promise<Readable> {
  const range = { start: at, end: reading.end };
  const answer = await ask(sender, { ...reading, range });
  extentOf(answer, { ...reading, range });
  return answer.body;
}
