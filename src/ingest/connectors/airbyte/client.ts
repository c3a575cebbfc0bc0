import { isSluiceError } from '../../../lib/errors.ts';
import { createGuardedFetch, type FetchAnswer, type FetchOptions } from '../../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../../lib/log.ts';
import { type Clock, systemClock } from '../../../lib/timing/clock.ts';
import {
  connectionPageReader,
  type Reader,
  readAnyList,
  readAnything,
  readConnection,
  readJob,
  readJobs,
} from './answers.ts';
import { failureOf, foreignPage, isPage, notSent, refusalOf, unreadable } from './problems.ts';
import { checkSettings } from './settings.ts';
import { AccessTokens, type Fetch } from './token.ts';
import {
  type AirbyteAnswer,
  type AirbyteClient,
  type AirbyteJob,
  type AirbyteSettings,
  type CallOptions,
  isKnownStatus,
  type JobQuery,
  type RateLimitSaid,
} from './types.ts';

const defaults = { triggerTimeoutMs: 90_000, timeoutMs: 30_000, jobs: 20 };
/** A connection includes the settings of all its streams. */
const maxBytes = { job: 1024 * 1024, connection: 4 * 1024 * 1024, list: 32 * 1024 * 1024 };
/** Requests never queue for a connection: their time limit is already running. */
const maxConnections = 320;
const maxPageSize = 100;
const maxUnknownStatuses = 50;
const rateLimitHeader = /^(x-)?rate-?limit\b|^retry-after$/i;

/** The few calls of Airbyte's public API that Sluice needs. Throws when the settings cannot work. */
export function createAirbyteClient(
  settings: AirbyteSettings,
  { logger, clock = systemClock }: { logger: Logger; clock?: Clock },
): AirbyteClient {
  const { baseUrl, credentials } = checkSettings(settings);
  const { userAgent, timeoutMs = defaults.timeoutMs } = settings;
  const { blockPrivateAddresses = false } = settings;
  const fetch = createGuardedFetch({ blockPrivateAddresses, userAgent, maxConnections });
  const tokens = new AccessTokens({
    credentials,
    fetch,
    url: `${baseUrl}/applications/token`,
    timeoutMs,
    clock,
  });
  const triggerTimeoutMs = settings.triggerTimeoutMs ?? defaults.triggerTimeoutMs;
  return new HttpAirbyteClient({ baseUrl, fetch, tokens, logger, timeoutMs, triggerTimeoutMs }, () =>
    fetch.close(),
  );
}

interface Wiring {
  baseUrl: string;
  fetch: Fetch;
  tokens: AccessTokens;
  logger: Logger;
  timeoutMs: number;
  triggerTimeoutMs: number;
}

interface Call<T> {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  timeoutMs?: number;
  maxBytes: number;
  read: Reader<T>;
}

class HttpAirbyteClient implements AirbyteClient {
  readonly #wiring: Wiring;
  readonly #unknownStatuses = new Set<string>();
  #rateLimit: RateLimitSaid | null = null;
  readonly close: () => Promise<void>;

  constructor(wiring: Wiring, close: () => Promise<void>) {
    this.#wiring = wiring;
    this.close = close;
  }

  async triggerSync(connectionId: string, options: CallOptions = {}): Promise<AirbyteAnswer<AirbyteJob>> {
    const call: Call<AirbyteJob> = {
      method: 'POST',
      path: '/jobs',
      body: { connectionId, jobType: 'sync' },
      timeoutMs: this.#wiring.triggerTimeoutMs,
      maxBytes: maxBytes.job,
      read: expecting(
        readJob,
        (job) => isSameId(job.connectionId, connectionId),
        'the job belongs to another connection',
      ),
    };
    return this.#noticing(await this.#call(call, options), options);
  }

  getJob(runId: string, options: CallOptions = {}): Promise<AirbyteAnswer<AirbyteJob>> {
    return this.#callJob('GET', runId, options);
  }

  cancelJob(runId: string, options: CallOptions = {}): Promise<AirbyteAnswer<AirbyteJob>> {
    return this.#callJob('DELETE', runId, options);
  }

  async listJobs(query: JobQuery, options: CallOptions = {}): Promise<AirbyteAnswer<AirbyteJob[]>> {
    // Of all kinds: a running reset, refresh or clear keeps a sync from starting just as another sync does.
    const { connectionId, createdSince, limit = defaults.jobs } = query;
    const call: Call<AirbyteJob[]> = {
      method: 'GET',
      path: '/jobs',
      query: {
        connectionId,
        limit: String(pageSize(limit)),
        // By default the oldest come first, which never shows the job that was just created.
        orderBy: 'createdAt|DESC',
        ...(createdSince === undefined ? {} : { createdAtStart: createdSince.toISOString() }),
      },
      maxBytes: maxBytes.list,
      read: readJobs,
    };
    const answer = await this.#call(call, options);
    if (answer.type !== 'ok') return answer;
    // A server that does not know a filter ignores it, and a job of another connection must never be adopted.
    const own = answer.value.filter((job) => isSameId(job.connectionId, connectionId));
    for (const job of own) this.#noticeStatus(job, options);
    return { type: 'ok', value: own.sort(byNewest) };
  }

  async getConnection(connectionId: string, options: CallOptions = {}) {
    const segment = pathSegmentOf(connectionId);
    if (segment === null)
      return notSent(`${JSON.stringify(connectionId)} is not the id of an Airbyte connection.`);
    const read = expecting(
      readConnection,
      (connection) => isSameId(connection.connectionId, connectionId),
      'it is about another connection',
    );
    return this.#call(
      { method: 'GET', path: `/connections/${segment}`, maxBytes: maxBytes.connection, read },
      options,
    );
  }

  listConnections(
    { workspaceId, limit, offset }: { workspaceId: string; limit: number; offset: number },
    options: CallOptions = {},
  ) {
    const size = pageSize(limit);
    const query = { workspaceIds: workspaceId, limit: String(size), offset: String(offset) };
    const read = connectionPageReader(size);
    return this.#call({ method: 'GET', path: '/connections', query, maxBytes: maxBytes.list, read }, options);
  }

  getWorkspace(workspaceId: string, options: CallOptions = {}): Promise<AirbyteAnswer<null>> {
    const path = `/workspaces/${pathSegmentOf(workspaceId) ?? '-'}`;
    return this.#call({ method: 'GET', path, maxBytes: maxBytes.connection, read: readAnything }, options);
  }

  get rateLimit(): RateLimitSaid | null {
    return this.#rateLimit;
  }

  probe(options: CallOptions = {}): Promise<AirbyteAnswer<null>> {
    return this.#call(
      {
        method: 'GET',
        path: '/connections',
        query: { limit: '1' },
        maxBytes: maxBytes.connection,
        read: readAnyList,
      },
      options,
    );
  }

  scrub(text: string): string {
    return this.#wiring.tokens.scrub(text);
  }

  async #callJob(method: 'GET' | 'DELETE', runId: string, options: CallOptions) {
    if (!/^[1-9]\d{0,18}$/.test(runId)) {
      return notSent(`${JSON.stringify(runId)} is not a run id of Airbyte. Allowed: a positive int64.`);
    }
    const read = expecting(readJob, (job) => job.runId === runId, 'it is about another job');
    return this.#noticing(
      await this.#call({ method, path: `/jobs/${runId}`, maxBytes: maxBytes.job, read }, options),
      options,
    );
  }

  /** A 401 usually means that the token expired early, so it counts only after a try with a new one. */
  async #call<T>(call: Call<T>, options: CallOptions): Promise<AirbyteAnswer<T>> {
    const { signal } = options;
    signal?.throwIfAborted();
    const { tokens } = this.#wiring;
    const first = await tokens.get(signal);
    if (first.type !== 'ok') return first;
    const answer = await this.#send(call, first.value, options);
    if (!isUnauthorized(answer) || !tokens.canRefresh) return answer;
    tokens.discard(first.value);
    const second = await tokens.get(signal);
    return second.type === 'ok' ? this.#send(call, second.value, options) : second;
  }

  async #send<T>(call: Call<T>, token: string, options: CallOptions): Promise<AirbyteAnswer<T>> {
    const { signal } = options;
    const { fetch, tokens, baseUrl, timeoutMs } = this.#wiring;
    const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query)}`;
    const request: FetchOptions = {
      method: call.method,
      headers: headersOf(call, `${tokens.scheme} ${token}`),
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      timeoutMs: call.timeoutMs ?? timeoutMs,
      maxBytes: call.maxBytes,
      maxRedirects: 0,
      signal,
    };
    let answer: FetchAnswer<Buffer>;
    try {
      answer = await fetch(`${baseUrl}${call.path}${query}`, request);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (!isSluiceError(error)) throw error;
      return failureOf(error, tokens.scrub);
    }
    this.#noticeRateLimit(answer, options);
    if (answer.status < 200 || answer.status > 299) return refusalOf(answer, tokens.scrub);
    if (isPage(answer)) return foreignPage(answer.status);
    const reading = await call.read(answer.body);
    return reading.ok ? { type: 'ok', value: reading.value } : unreadable(answer.status, reading.reason);
  }

  #noticeRateLimit({ status, headers }: FetchAnswer<Buffer>, { logFields }: CallOptions): void {
    const said = Object.entries(headers).filter(([name]) => rateLimitHeader.test(name));
    if (said.length === 0) return;
    const { logger, tokens } = this.#wiring;
    const shown = said.slice(0, 10).map(([name, value]) => [name, tokens.scrub(String(value)).slice(0, 200)]);
    this.#rateLimit = { headers: Object.fromEntries(shown), status, at: new Date() };
    const line = { ...logFields, status, rate_limit: this.#rateLimit.headers };
    logger.info(line, 'Airbyte speaks of its rate limit');
  }

  #noticing(answer: AirbyteAnswer<AirbyteJob>, options: CallOptions): AirbyteAnswer<AirbyteJob> {
    if (answer.type === 'ok') this.#noticeStatus(answer.value, options);
    return answer;
  }

  #noticeStatus({ status, runId }: AirbyteJob, { logFields }: CallOptions): void {
    if (isKnownStatus(status) || this.#unknownStatuses.has(status)) return;
    if (this.#unknownStatuses.size >= maxUnknownStatuses) return;
    this.#unknownStatuses.add(status);
    const { logger, tokens } = this.#wiring;
    logger.warn(
      { ...logFields, status: tokens.scrub(status), run_id: runId },
      'Airbyte reports a job status that Sluice does not know; the job counts as running',
    );
  }
}

function headersOf({ body }: Call<unknown>, authorization: string): Record<string, string> {
  const headers = { accept: 'application/json', authorization };
  return body === undefined ? headers : { ...headers, 'content-type': 'application/json' };
}

function isUnauthorized(answer: AirbyteAnswer<unknown>): boolean {
  return answer.type !== 'ok' && answer.problem.status === 401;
}

function expecting<T>(read: Reader<T>, holds: (value: T) => boolean, reason: string): Reader<T> {
  return async (body) => {
    const reading = await read(body);
    return !reading.ok || holds(reading.value) ? reading : { ok: false, reason };
  };
}

/** UUIDs are case-insensitive, and Airbyte returns lower case. */
function isSameId(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Returns null for an id that would lead to another path. */
function pathSegmentOf(id: string): string | null {
  return id === '' || id === '.' || id === '..' ? null : encodeURIComponent(id);
}

function pageSize(limit: number): number {
  return Math.min(Math.max(1, Math.floor(limit)), maxPageSize);
}

/** Airbyte's times are whole seconds; of two jobs in one second the higher id is the newer. */
function byNewest(a: AirbyteJob, b: AirbyteJob): number {
  const apartMs = b.createdAt.getTime() - a.createdAt.getTime();
  return apartMs !== 0 ? apartMs : Number(BigInt(b.runId) - BigInt(a.runId));
}
