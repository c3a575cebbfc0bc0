import type { Readable } from 'node:stream';
import type { FetchAnswer, FetchOptions } from '../fetch/guarded-fetch.ts';

/** One bucket of an S3-compatible server. Throws s3Errors, or fetchErrors when there was no response. */
export interface S3Client {
  /** Keys in the order of their UTF-8 bytes. For the following page, pass `next` as `after`. */
  list(query?: ListQuery): Promise<S3Page>;
  /** Null if there is no such object. */
  head(key: string): Promise<S3Object | null>;
  /** The caller reads the stream to its end or destroys it. If the body ends early, the stream fails. */
  get(key: string, options?: GetOptions): Promise<S3Content>;
  /**
   * Reads the content to its end; the object appears whole or not at all. At most two parts of 8 MiB are in memory. If
   * the content throws, nothing is left behind: the upload is aborted.
   */
  put(key: string, content: AsyncIterable<Uint8Array | string>): Promise<PutObject>;
  /** Within the bucket, at most 5 GiB, which is the limit of the protocol. */
  copy(names: { from: string; to: string }): Promise<{ etag: string }>;
  /** Deleting a missing object is not an error. */
  delete(key: string): Promise<void>;
  /** Multipart uploads that were neither finished nor aborted. */
  listUploads(query?: { prefix?: string; after?: UnfinishedUpload }): Promise<UploadPage>;
  abortUpload(upload: Pick<UnfinishedUpload, 'key' | 'uploadId'>): Promise<void>;
}

export interface S3ClientOptions {
  /** `https://minio.example.com:9000`. Null: Amazon's own of the region. */
  endpoint: string | null;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | null;
  /** The bucket in the path (`host/bucket/key`) instead of in the host name (`bucket.host/key`). */
  pathStyle: boolean;
  /** A guarded fetch for an endpoint that a tenant chose; one that refuses nothing for the operator's own. */
  fetch: S3Fetch;
  /** Of one attempt: until the response is complete; for `get`, until its headers and between pieces of its body. */
  timeoutMs?: number;
  /** Attempts per request, including the first. */
  maxTries?: number;
  now?: () => Date;
}

/** What the client needs of a fetch: GuardedFetch has it. */
export interface S3Fetch {
  stream(url: string, options?: FetchOptions): Promise<FetchAnswer<Readable>>;
}

export interface ListQuery {
  prefix?: string;
  /** Only keys after this one, which need not exist. */
  after?: string;
  /** At most 1000, which is also the default. */
  maxKeys?: number;
}

export interface S3Page {
  objects: S3Object[];
  /** The `after` of the next page; null on the last one. */
  next: string | null;
}

export interface S3Object {
  key: string;
  sizeBytes: number;
  /** Without its quotes. The same content may have another one after a multipart upload. */
  etag: string;
  lastModified: Date;
}

export interface GetOptions {
  /** Byte positions, both included; without `end` to the end of the object. */
  range?: { start: number; end?: number };
  /** An etag. If the object has another one, s3_object_changed is thrown. */
  ifMatch?: string;
  /** How long the whole body may take; 10 minutes by default. */
  timeoutMs?: number;
}

export interface S3Content {
  stream: Readable;
  /** The length of the stream: of the range, if one was requested. */
  sizeBytes: number;
  /** Of the whole object. */
  totalBytes: number;
  etag: string;
  lastModified: Date;
}

export interface PutObject {
  sizeBytes: number;
  etag: string;
}

export interface UnfinishedUpload {
  key: string;
  uploadId: string;
  startedAt: Date;
}

export interface UploadPage {
  uploads: UnfinishedUpload[];
  next: UnfinishedUpload | null;
}
