import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSluiceError } from '../errors.ts';
import type { FetchAnswer } from '../fetch/guarded-fetch.ts';
import type { FetchMethod } from '../fetch/request.ts';
import { s3Errors } from './errors.ts';
import { Patience } from './patience.ts';
import { assertPlace, type Place, pathOf } from './place.ts';
import { readComplaint, type S3Complaint } from './responses.ts';
import { amzDate, authorizationOf, queryString, sha256Hex } from './signature.ts';
import type { S3ClientOptions } from './types.ts';

/** One request to a bucket; without a key it concerns the bucket itself. */
export interface S3Request {
  method: FetchMethod;
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string | Buffer;
  signal?: AbortSignal;
  timeoutMs?: number;
  maxTries?: number;
}

export interface S3Sender {
  /** Sends until a request succeeds or the attempts are used up; the caller reads the body. */
  open(request: S3Request): Promise<FetchAnswer<Readable>>;
  /** Like open, with the body as text. An error in a successful response is an error. */
  text(request: S3Request): Promise<{ headers: Record<string, string>; body: string }>;
}

export const retryRules = { maxTries: 4, baseMs: 200, capMs: 5_000 };
const silenceMs = 30_000;
/** For a part of 8 MiB over a slow line. */
const sendTimeoutMs = 120_000;
const maxComplaintBytes = 64 * 1024;
const maxListBytes = 32 * 1024 * 1024;

export function createSender(options: S3ClientOptions): S3Sender {
  const place = assertPlace(options);
  // How far the server's clock is ahead, once it has complained.
  const clock = { aheadMs: 0 };
  const send = (request: S3Request) => sendOnce(options, { place, clock, request });
  const open = (request: S3Request) =>
    withRetries(options, request, () => openPatiently(send, request, options));
  const text = (request: S3Request) =>
    withRetries(options, request, async () => {
      const answer = await send(request);
      const body = await readText(answer.body, maxListBytes);
      const complaint = body.includes('<Error') ? readComplaint(body) : null;
      if (complaint) throw toError({ status: 200, headers: answer.headers, complaint, options, request });
      return { headers: answer.headers, body };
    });
  return { open, text };
}

/** Limits the silence before the headers and between two pieces of the body; the request's timeout covers all of it. */
async function openPatiently(
  send: (request: S3Request) => Promise<FetchAnswer<Readable>>,
  request: S3Request,
  { timeoutMs = silenceMs }: S3ClientOptions,
): Promise<FetchAnswer<Readable>> {
  const patience = new Patience(timeoutMs);
  const answer = await patience.waitFor(send({ ...request, signal: patience.signal }));
  return { ...answer, body: patience.watch(answer.body) };
}

/** Waits before attempt number `failed` + 1: longer each time, with jitter. */
export async function waitToRetry(failed: number): Promise<void> {
  const longest = Math.min(retryRules.capMs, retryRules.baseMs * 2 ** (failed - 1));
  await sleep(longest * (0.5 + Math.random() / 2));
}

/** Worth a retry: the server is unavailable or the connection was lost. */
export function isPassing(error: unknown): boolean {
  return isSluiceError(error) && error.kind === 'transient';
}

async function withRetries<T>(
  options: S3ClientOptions,
  request: S3Request,
  work: () => Promise<T>,
): Promise<T> {
  const maxTries = request.maxTries ?? options.maxTries ?? retryRules.maxTries;
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      if (tried >= maxTries || !isPassing(error)) throw error;
      await waitToRetry(tried);
    }
  }
}

async function sendOnce(
  options: S3ClientOptions,
  context: { place: Place; clock: { aheadMs: number }; request: S3Request },
): Promise<FetchAnswer<Readable>> {
  const { clock, request } = context;
  for (let isCorrected = false; ; isCorrected = true) {
    const sentAt = new Date((options.now?.() ?? new Date()).getTime() + clock.aheadMs);
    const answer = await sendSigned(options, { ...context, at: sentAt });
    if (answer.status < 300) return answer;
    const complaint = await complaintOf(answer);
    if (complaint.code === 'RequestTimeTooSkewed' && !isCorrected && 'date' in answer.headers) {
      // The server's own Date is the time that it wants to see.
      clock.aheadMs += Date.parse(answer.headers.date ?? '') - sentAt.getTime();
      if (Number.isFinite(clock.aheadMs)) continue;
      clock.aheadMs = 0;
    }
    throw toError({ status: answer.status, headers: answer.headers, complaint, options, request });
  }
}

async function sendSigned(
  options: S3ClientOptions,
  { place, request, at }: { place: Place; request: S3Request; at: Date },
): Promise<FetchAnswer<Readable>> {
  const { method, query = {}, body } = request;
  const path = pathOf(place, request.key);
  const payloadHash = sha256Hex(body ?? '');
  const { sessionToken } = options;
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': payloadHash,
    'x-amz-date': amzDate(at),
    ...(sessionToken ? { 'x-amz-security-token': sessionToken } : {}),
  };
  const key = { ...options, service: 's3' };
  const signed = { method, host: place.host, path, query, headers, payloadHash };
  const authorization = authorizationOf(signed, { key, at });
  const search = queryString(query);
  return options.fetch.stream(`${place.origin}${path}${search === '' ? '' : `?${search}`}`, {
    method,
    headers: { ...headers, authorization },
    ...(body === undefined ? {} : { body }),
    timeoutMs: request.timeoutMs ?? options.timeoutMs ?? (body === undefined ? silenceMs : sendTimeoutMs),
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxRedirects: 0,
    decode: false,
    signal: request.signal,
  });
}

async function complaintOf(answer: FetchAnswer<Readable>): Promise<S3Complaint> {
  const nothing = { code: '', message: '', region: '' };
  const body = await readText(answer.body, maxComplaintBytes);
  if (body.trim() === '') return nothing;
  try {
    return readComplaint(body) ?? nothing;
  } catch {
    // A proxy in between responds in HTML: then only the status counts.
    return nothing;
  }
}

async function readText(body: Readable, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    sizeBytes += piece.length;
    if (sizeBytes > maxBytes) {
      throw s3Errors.raise.s3_answer_unreadable(`The response has more than ${maxBytes} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

interface Refusal {
  status: number;
  headers: Record<string, string>;
  complaint: S3Complaint;
  options: S3ClientOptions;
  request: S3Request;
}

const passingStatuses = [429, 500, 502, 503, 504];
const passingCodes = [
  'SlowDown',
  'InternalError',
  'RequestTimeout',
  'ServiceUnavailable',
  'OperationAborted',
];
const credentialCodes = [
  'AuthorizationHeaderMalformed',
  'SignatureDoesNotMatch',
  'InvalidAccessKeyId',
  'ExpiredToken',
  'InvalidToken',
  'TokenRefreshRequired',
];
const regionCodes = ['PermanentRedirect', 'TemporaryRedirect'];

/** With an explanation: the server's code alone helps only those who know it. */
function toError(refusal: Refusal): Error {
  const { status, headers, complaint, options, request } = refusal;
  const { code } = complaint;
  const { raise } = s3Errors;
  const bucket = `The bucket ${options.bucket}`;
  const own = complaint.message === '' ? `status ${status}` : `${code}: ${complaint.message.slice(0, 300)}`;
  const extras = { details: { s3_code: code === '' ? String(status) : code } };
  const region = complaint.region || headers['x-amz-bucket-region'];
  if (code === 'NoSuchBucket') return raise.s3_bucket_missing(`${bucket} does not exist`, extras);
  if (code === 'NoSuchUpload') {
    return raise.s3_request_refused(`An upload to ${bucket} is no longer there (${own})`, extras);
  }
  if (code === 'RequestTimeTooSkewed') {
    const theirs = headers.date ?? 'another time';
    return raise.s3_clock_skewed(
      `It is ${new Date().toUTCString()} here and ${theirs} at the server`,
      extras,
    );
  }
  const isElsewhere = code === 'AuthorizationHeaderMalformed' || status === 301;
  if (regionCodes.includes(code) || (isElsewhere && region)) {
    return raise.s3_region_wrong(
      `${bucket} is in ${region || 'a region'}, not ${options.region} (${own})`,
      extras,
    );
  }
  if (credentialCodes.includes(code)) {
    return raise.s3_credentials_refused(`${bucket} did not accept this key (${own})`, extras);
  }
  if (passingStatuses.includes(status) || passingCodes.includes(code)) {
    return raise.s3_unavailable(`${bucket} cannot be used now (${own})`, extras);
  }
  if (code === 'AccessDenied' || status === 403) {
    return raise.s3_access_denied(`${bucket} does not allow ${deedOf(request)} (${own})`, extras);
  }
  if (status === 416) return raise.s3_range_outside(`The object ends before the range (${own})`, extras);
  if (status === 412) return raise.s3_object_changed('The object is no longer the same one', extras);
  if (status === 404 || code === 'NoSuchKey') {
    return request.key === undefined
      ? raise.s3_bucket_missing(`${bucket} is not at this endpoint (${own})`, extras)
      : raise.s3_object_missing(
          `${bucket} has no object ${JSON.stringify(request.key.slice(0, 200))}`,
          extras,
        );
  }
  return raise.s3_request_refused(`${bucket} refused ${deedOf(request)} (${own})`, extras);
}

function deedOf({ method, key }: S3Request): string {
  const verbs: Record<string, string> = {
    GET: 'reading',
    HEAD: 'reading',
    PUT: 'writing',
    DELETE: 'deleting',
  };
  if (key === undefined) return 'listing';
  return verbs[method] ?? 'writing';
}
