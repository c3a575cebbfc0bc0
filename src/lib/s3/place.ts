import { isIP } from 'node:net';
import { wellFormed } from '../well-formed.ts';
import { s3Errors } from './errors.ts';
import { encodePercent } from './signature.ts';
import type { S3ClientOptions } from './types.ts';

export interface Place {
  origin: string;
  host: string;
  /** Before the key: empty, or the bucket. */
  path: string;
}

const bucketName = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/;

/** Where the bucket is. Throws for an invalid endpoint or bucket name. */
export function assertPlace(
  options: Pick<S3ClientOptions, 'endpoint' | 'region' | 'bucket' | 'pathStyle'>,
): Place {
  const { endpoint, region, bucket, pathStyle } = options;
  const text = endpoint ?? `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(text)) throw s3Errors.raise.s3_endpoint_invalid('The S3 endpoint is not a URL');
  const url = new URL(text);
  const isPlain = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (!['http:', 'https:'].includes(url.protocol) || !isPlain) {
    throw s3Errors.raise.s3_endpoint_invalid(
      `The S3 endpoint on ${url.host} has more than scheme, host and port, or another scheme than http and https`,
    );
  }
  if (!bucketName.test(bucket) || bucket.includes('..')) {
    throw s3Errors.raise.s3_endpoint_invalid(
      `${JSON.stringify(bucket.slice(0, 100))} is not a bucket’s name. Allowed: 3 to 255 letters, digits, . _ and -`,
    );
  }
  if (!pathStyle && isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) {
    throw s3Errors.raise.s3_endpoint_invalid(
      `The S3 endpoint ${url.host} is an IP address, which cannot have a bucket in front of it: use path style`,
    );
  }
  if (pathStyle) return { origin: url.origin, host: url.host, path: `/${bucket}` };
  return { origin: `${url.protocol}//${bucket}.${url.host}`, host: `${bucket}.${url.host}`, path: '' };
}

/** A URL cannot hold the parts `.` and `..`: they would change the key. */
export function pathOf(place: Place, key: string | undefined): string {
  if (key === undefined) return `${place.path}/`;
  const isUsable =
    key !== '' &&
    wellFormed(key) === key &&
    Buffer.byteLength(key) <= 1024 &&
    !key.split('/').some((part) => part === '.' || part === '..');
  if (!isUsable) {
    throw s3Errors.raise.s3_key_unusable(`${JSON.stringify(key.slice(0, 100))} cannot be used as a key`);
  }
  return `${place.path}/${key.split('/').map(encodePercent).join('/')}`;
}
