import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, type Dispatcher, request as sendRequest } from 'undici';
import { isSluiceError, messageOf } from '../errors.ts';
import { unlessAborted } from '../timing/abort.ts';
import { findMetadataRefusal, findRefusal } from './addresses.ts';
import { type DecodedBody, decodeBody } from './body.ts';
import { findAddresses, guardedConnector, type Resolver, systemResolver } from './connector.ts';
import { Deadline } from './deadline.ts';
import { fetchErrors } from './errors.ts';
import { buildRequest, type FetchMethod, type HopRequest, redirectRequest } from './request.ts';
import { type AddressRule, parseTarget } from './target.ts';

export interface GuardedFetchSettings {
  /** False opens the way to private addresses, for intranets and tests; schemes, ports and limits stay. */
  blockPrivateAddresses: boolean;
  userAgent: string;
  /** How names become addresses. */
  resolve?: Resolver;
  /** Whether a tenant may call this `host:port`, although its address is refused otherwise. */
  isExempt?: (tenantId: string, host: string) => Promise<boolean>;
  /** Replaces the rule on addresses altogether. */
  refuse?: AddressRule;
  /** Connections at once to one origin. */
  maxConnections?: number;
}

export interface FetchOptions {
  method?: FetchMethod;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** For everything: lookup, redirects and body. */
  timeoutMs?: number;
  /** Of the body, counted after decompression. */
  maxBytes?: number;
  /** 0: a redirect is a response like any other. */
  maxRedirects?: number;
  /** False: the body as it is stored, byte for byte, whatever encoding it says to have. */
  decode?: boolean;
  /** Called before each request, redirects included. When it throws, that request is not sent and the call rejects. */
  beforeHop?: (hop: Hop) => void;
  /** When it aborts, the call rejects with its reason. */
  signal?: AbortSignal;
}

/** A request of a call: the first one, or one after a redirect. */
export interface Hop extends HopRequest {
  url: URL;
}

export interface FetchAnswer<Body> {
  status: number;
  /** Names in lower case; repeated ones joined by a comma. Without a prototype. */
  headers: Record<string, string>;
  body: Body;
  /** Where the redirects ended. It may hold keys in its query: not for logs. */
  finalUrl: string;
  tookMs: number;
}

/** For URLs that tenants choose. Every status is a result; a request without a response throws one of fetchErrors. */
export interface GuardedFetch {
  (url: string, options?: FetchOptions): Promise<FetchAnswer<Buffer>>;
  /** The caller reads the stream to its end or destroys it; the time limit goes on meanwhile. */
  stream(url: string, options?: FetchOptions): Promise<FetchAnswer<Readable>>;
  /** Why calls of this address are refused, as far as that can be known before; null when nothing speaks against it. */
  findRefusal?(url: string): Promise<string | null>;
  /** The same fetch on behalf of a tenant, who may be exempt for some addresses. */
  for?(tenantId: string): GuardedFetch;
  close(): Promise<void>;
}

/** Whether the tenant may call this address although nobody else may. */
export async function isExempt(fetch: GuardedFetch, tenantId: string, url: string): Promise<boolean> {
  const isRefused = ((await fetch.findRefusal?.(url)) ?? null) !== null;
  return isRefused && (await fetchFor(fetch, tenantId).findRefusal?.(url)) === null;
}

/** As the tenant may fetch; where nobody is exempt, everybody may fetch alike. */
export function fetchFor(fetch: GuardedFetch, tenantId: string): GuardedFetch {
  return fetch.for?.(tenantId) ?? fetch;
}

const defaults = { timeoutMs: 30_000, maxBytes: 10 * 1024 * 1024, maxRedirects: 5 };
const connectTimeoutMs = 10_000;
const maxHeaderBytes = 16 * 1024;

export function createGuardedFetch(settings: GuardedFetchSettings): GuardedFetch {
  const refuse = settings.refuse ?? (settings.blockPrivateAddresses ? findRefusal : findMetadataRefusal);
  const closing = new AbortController();
  const resolve = settings.resolve ?? systemResolver;
  const agent = new Agent({
    connect: guardedConnector({ refuse, resolve, connectTimeoutMs, closing: closing.signal }),
    connections: settings.maxConnections ?? 64,
    maxHeaderSize: maxHeaderBytes,
    // One deadline covers the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: 30_000,
  });
  const guarded: HopGuard = { agent, refuse };
  // Without the guard's connector: only for hosts that are exempt, and those are addresses of this machine.
  const exempt: HopGuard = { agent: new Agent({ connections: 16 }), refuse: () => null };
  const { userAgent, isExempt } = settings;
  const guardFor = (tenantId: string | null) => async (text: string, base?: URL) => {
    const host = hostOf(text, base);
    if (isExempt === undefined || tenantId === null || host === null || isIP(host.name) === 0) return guarded;
    if (refuse(host.name) === null || !(await isExempt(tenantId, host.all))) return guarded;
    return exempt;
  };
  const close = async () => {
    closing.abort();
    await Promise.all([agent.destroy(), exempt.agent.destroy()]);
  };
  const fetchAs = (tenantId: string | null): GuardedFetch => {
    const context = { guardOf: guardFor(tenantId), userAgent };
    const stream = (url: string, options: FetchOptions = {}) => openAnswer(context, url, options);
    const whole = async (url: string, options: FetchOptions = {}) => collect(await stream(url, options));
    const find = async (url: string) =>
      refusalOf(url, { refuse: (await context.guardOf(url)).refuse, resolve });
    return Object.assign(whole, { stream, close, findRefusal: find, for: fetchAs });
  };
  return fetchAs(null);
}

/** What checks one request: its address, and the connections that it may use. */
interface HopGuard {
  agent: Agent;
  refuse: AddressRule;
}

function hostOf(text: string, base?: URL): { name: string; all: string } | null {
  if (!URL.canParse(text, base?.href)) return null;
  const { hostname, host } = new URL(text, base);
  return { name: hostname, all: host };
}

/** A name that cannot be looked up now may be known later. */
async function refusalOf(
  text: string,
  rules: { refuse: AddressRule; resolve: Resolver },
): Promise<string | null> {
  try {
    const { hostname } = parseTarget(text, rules);
    if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0) await findAddresses(hostname, rules);
  } catch (error) {
    if (isSluiceError(error) && error.code === 'address_blocked') return error.message;
  }
  return null;
}

interface FetchContext {
  guardOf(text: string, base?: URL): Promise<HopGuard>;
  userAgent: string;
}

interface AnsweredHop {
  url: URL;
  request: HopRequest;
  response: Dispatcher.ResponseData;
  headers: Record<string, string>;
}

async function openAnswer(
  context: FetchContext,
  text: string,
  options: FetchOptions,
): Promise<FetchAnswer<Readable>> {
  const startedMs = performance.now();
  const guard = await context.guardOf(text);
  const url = parseTarget(text, guard);
  const { method = 'GET', headers = {}, body = null, decode = true } = options;
  const request = buildRequest({ method, headers, body, decode, userAgent: context.userAgent });
  const deadline = new Deadline({
    timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
    signal: options.signal,
  });
  try {
    const maxRedirects = options.maxRedirects ?? defaults.maxRedirects;
    const { beforeHop } = options;
    const last = await followRedirects(context, { url, guard, request, maxRedirects, deadline, beforeHop });
    const maxBytes = options.maxBytes ?? defaults.maxBytes;
    return {
      status: last.response.statusCode,
      headers: last.headers,
      body: readBody(last, { maxBytes, decode, deadline }),
      finalUrl: last.url.href,
      tookMs: tookMs(startedMs),
    };
  } catch (error) {
    deadline.release();
    throw error;
  }
}

async function followRedirects(
  context: FetchContext,
  start: {
    url: URL;
    guard: HopGuard;
    request: HopRequest;
    maxRedirects: number;
    deadline: Deadline;
    beforeHop: FetchOptions['beforeHop'];
  },
): Promise<AnsweredHop> {
  const { maxRedirects, deadline } = start;
  let { url, guard, request } = start;
  for (let followed = 0; ; followed += 1) {
    start.beforeHop?.({ ...request, url });
    const hop = await sendHop(guard, { url, request, deadline });
    const location = maxRedirects > 0 ? findLocation(hop) : undefined;
    if (location === undefined) return hop;
    discard(hop.response.body);
    if (followed >= maxRedirects) {
      throw fetchErrors.raise.too_many_redirects(
        `${start.url.host} redirected more than ${maxRedirects} times; the last one came from ${url.host}`,
      );
    }
    guard = await context.guardOf(location, url);
    const to = parseTarget(location, { refuse: guard.refuse, base: url });
    request = redirectRequest(request, { status: hop.response.statusCode, from: url, to });
    url = to;
  }
}

async function sendHop(
  { agent }: HopGuard,
  { url, request, deadline }: { url: URL; request: HopRequest; deadline: Deadline },
): Promise<AnsweredHop> {
  const sending = sendRequest(url, {
    ...request,
    dispatcher: agent,
    signal: deadline.signal,
    // The parsed form trips over headers named like members of Object.prototype.
    responseHeaders: 'raw',
  });
  try {
    // A request that still waits for its connection hears of its signal only once it has one.
    const response = await unlessAborted(sending, deadline.signal);
    return { url, request, response, headers: toHeaders(response.headers as unknown as string[]) };
  } catch (error) {
    sending.then(({ body }) => discard(body)).catch(() => {});
    throw deadline.findReason(url.host) ?? toFetchError(error, url);
  }
}

const redirectStatuses = [301, 302, 303, 307, 308];

function findLocation({ response, headers }: AnsweredHop): string | undefined {
  return redirectStatuses.includes(response.statusCode) ? headers.location : undefined;
}

function toHeaders(raw: string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = String(raw[index]).toLowerCase();
    const value = String(raw[index + 1]);
    const before = headers[name];
    // A second Location must not change where the first one leads.
    if (before === undefined) headers[name] = value;
    else if (name !== 'location') headers[name] = `${before}, ${value}`;
  }
  return headers;
}

function readBody(
  hop: AnsweredHop,
  { maxBytes, decode, deadline }: { maxBytes: number; decode: boolean; deadline: Deadline },
): Readable {
  const { url, headers, response } = hop;
  const hasNone = hop.request.method === 'HEAD' || [204, 304].includes(response.statusCode);
  let decoded: DecodedBody;
  try {
    decoded = decodeBody(response.body, {
      host: url.host,
      encoding:
        !decode || hasNone || headers['content-length'] === '0' ? undefined : headers['content-encoding'],
      contentLength: hasNone ? undefined : headers['content-length'],
      maxBytes,
    });
  } catch (error) {
    discard(response.body);
    throw error;
  }
  const body = Readable.from(chunksOf(decoded, { url, deadline }), { objectMode: false });
  body.once('close', () => {
    deadline.release();
    decoded.stream.destroy();
  });
  return body;
}

async function* chunksOf(source: DecodedBody, { url, deadline }: { url: URL; deadline: Deadline }) {
  try {
    for await (const chunk of source.stream) yield chunk as Buffer;
  } catch (error) {
    if (findCode(error) === 'Z_BUF_ERROR' && source.isEmpty()) return;
    throw deadline.findReason(url.host) ?? toFetchError(error, url);
  }
}

async function collect(answer: FetchAnswer<Readable>): Promise<FetchAnswer<Buffer>> {
  const startedMs = performance.now();
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk as Buffer);
  return { ...answer, body: Buffer.concat(chunks), tookMs: answer.tookMs + tookMs(startedMs) };
}

function discard(body: Readable): void {
  body.on('error', () => {
    // It is discarded, so an error of its end does not matter.
  });
  body.destroy();
}

const timeoutCodes = [
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
];
const nameCodes = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA', 'ESERVFAIL'];

function toFetchError(error: unknown, url: URL): unknown {
  if (isSluiceError(error)) return error;
  const code = findCode(error);
  const extras = { cause: error };
  if (timeoutCodes.includes(code)) {
    return fetchErrors.raise.fetch_timeout(`${url.host} did not respond in time (${code})`, extras);
  }
  if (nameCodes.includes(code)) {
    return fetchErrors.raise.host_not_found(`The host ${url.hostname} cannot be found (${code})`, extras);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return fetchErrors.raise.response_too_large(
      `The headers of ${url.host} are larger than ${maxHeaderBytes} bytes`,
      extras,
    );
  }
  return fetchErrors.raise.fetch_failed(
    `The exchange with ${url.host} broke off: ${messageOf(error)}`,
    extras,
  );
}

/** When several addresses were tried, the code of the first failure counts. */
function findCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return findCode(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function tookMs(startedMs: number): number {
  return Math.round(performance.now() - startedMs);
}
