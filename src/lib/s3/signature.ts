import { createHash, createHmac } from 'node:crypto';

/** A request as AWS Signature Version 4 sees it. */
export interface SignedRequest {
  method: string;
  host: string;
  /** Already percent-encoded, exactly as it is sent. */
  path: string;
  query: Record<string, string>;
  /** All headers to sign besides `host`; names in lower case. */
  headers: Record<string, string>;
  payloadHash: string;
}

export interface SigningKey {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
  service: string;
}

/** The value of the header `authorization`. The headers must include `x-amz-date` for the same moment. */
export function authorizationOf(request: SignedRequest, { key, at }: { key: SigningKey; at: Date }): string {
  const time = amzDate(at);
  const scope = `${time.slice(0, 8)}/${key.region}/${key.service}/aws4_request`;
  const { text, signedHeaders } = canonicalRequest(request);
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256Hex(text)}`;
  const signature = hmac(derivedKey(key, time), toSign).toString('hex');
  return (
    `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, ` +
    `SignedHeaders=${signedHeaders}, Signature=${signature}`
  );
}

/** `20130524T000000Z` */
export function amzDate(at: Date): string {
  return at.toISOString().replace(/[-:]|\.\d+/g, '');
}

export function sha256Hex(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Encodes everything except letters, digits and `-._~`, as UTF-8. */
export function encodePercent(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Sorted by encoded names, which is also the order for the signature. */
export function queryString(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => [encodePercent(name), encodePercent(value)] as const)
    .sort(([a, valueOfA], [b, valueOfB]) => compare(a, b) || compare(valueOfA, valueOfB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function canonicalRequest(request: SignedRequest): { text: string; signedHeaders: string } {
  const headers = Object.entries({ ...request.headers, host: request.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')] as const)
    .sort(([a], [b]) => compare(a, b));
  const signedHeaders = headers.map(([name]) => name).join(';');
  const text = [
    request.method,
    request.path,
    queryString(request.query),
    ...headers.map(([name, value]) => `${name}:${value}`),
    '',
    signedHeaders,
    request.payloadHash,
  ].join('\n');
  return { text, signedHeaders };
}

function derivedKey({ secretAccessKey, region, service }: SigningKey, time: string): Buffer {
  const steps = [time.slice(0, 8), region, service, 'aws4_request'];
  return steps.reduce<Buffer>((key, step) => hmac(key, step), Buffer.from(`AWS4${secretAccessKey}`));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
