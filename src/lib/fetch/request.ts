import { fetchErrors } from './errors.ts';

export const fetchMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type FetchMethod = (typeof fetchMethods)[number];

/** What is sent in one hop. */
export interface HopRequest {
  method: FetchMethod;
  headers: Record<string, string>;
  body: string | Buffer | null;
}

/** Headers that say how the message is framed or where it goes: a caller who could set them could leave the request. */
const refusedHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/;
const maxHeaders = 100;

export function isHeaderAllowed(name: string): boolean {
  const lower = name.toLowerCase();
  return headerName.test(lower) && !refusedHeaders.has(lower) && !lower.startsWith('proxy-');
}

export function buildRequest(input: {
  method: FetchMethod;
  headers: Record<string, string>;
  body: string | Buffer | null;
  decode?: boolean;
  userAgent: string;
}): HopRequest {
  if (!fetchMethods.includes(input.method)) {
    throw fetchErrors.raise.fetch_request_invalid(
      `The method ${input.method} is not allowed. Allowed: ${fetchMethods.join(', ')}`,
    );
  }
  const entries = Object.entries(input.headers);
  if (entries.length > maxHeaders) {
    throw fetchErrors.raise.fetch_request_invalid(
      `The request has ${entries.length} headers; at most ${maxHeaders} are allowed`,
    );
  }
  const own = entries.map(([name, value]) => checkHeader(name, value));
  const headers = Object.fromEntries([['user-agent', input.userAgent], ...own]);
  // Only what we can inflate under a limit.
  headers['accept-encoding'] = input.decode === false ? 'identity' : 'gzip, br';
  return { method: input.method, headers, body: input.body };
}

/** Across origins only these go along: any other header may hold a key that was meant for the first host. */
const portableHeaders = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'content-type',
  'user-agent',
]);

/** As browsers do it: 303, and 301 and 302 after a POST, become a GET without a body. */
export function redirectRequest(
  request: HopRequest,
  { status, from, to }: { status: number; from: URL; to: URL },
): HopRequest {
  const becomesGet =
    (status === 303 && request.method !== 'HEAD') ||
    ((status === 301 || status === 302) && request.method === 'POST');
  const kept = Object.entries(request.headers)
    .filter(([name]) => from.origin === to.origin || portableHeaders.has(name))
    .filter(([name]) => !becomesGet || !name.startsWith('content-'));
  return {
    method: becomesGet ? 'GET' : request.method,
    headers: Object.fromEntries(kept),
    body: becomesGet ? null : request.body,
  };
}

function checkHeader(name: string, value: string): [string, string] {
  if (!isHeaderAllowed(name)) {
    throw fetchErrors.raise.fetch_request_invalid(
      `The header ${JSON.stringify(name.slice(0, 100))} may not be set on an outgoing request`,
    );
  }
  // The value is left out of the message: it may be a key.
  if (!headerValue.test(value)) {
    throw fetchErrors.raise.fetch_request_invalid(
      `The value of the header ${name} has line breaks or other characters that headers cannot hold, or is too long`,
    );
  }
  return [name.toLowerCase(), value];
}
