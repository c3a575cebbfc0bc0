import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSluiceError } from '../../lib/errors.ts';
import type { FetchAnswer, GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../lib/fetch/retry-after.ts';
import { crawlErrors } from './errors.ts';
import type { CrawlBounds, FailedPage } from './types.ts';

export type Asked<Value> = { kind: 'ok'; value: Value } | RequestFailure;

export type RequestFailure = Omit<FailedPage, 'url'>;

export interface PageRequest {
  headers?: Record<string, string>;
  maxBytes?: number;
  /** 0: a redirect is returned as a response. */
  maxRedirects?: number;
}

export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

type Bounds = Pick<
  CrawlBounds,
  'delayMs' | 'timeoutMs' | 'retryDelaysMs' | 'maxRetryAfterMs' | 'maxPageBytes'
>;

/** Requests to one site, with pauses between them and retries after transient failures. */
export class PoliteRequests {
  readonly #fetch: GuardedFetch;
  readonly #bounds: Bounds;
  readonly #signal: AbortSignal;
  readonly #wait: Wait;
  #delayMs: number;
  #nextAtMs = 0;
  #pausedMs = 0;

  constructor(deps: { fetch: GuardedFetch; bounds: Bounds; signal: AbortSignal; wait?: Wait }) {
    this.#fetch = deps.fetch;
    this.#bounds = deps.bounds;
    this.#signal = deps.signal;
    this.#wait = deps.wait ?? waitFor;
    this.#delayMs = deps.bounds.delayMs;
  }

  get delayMs(): number {
    return this.#delayMs;
  }

  /** How long it has paused because of Retry-After. */
  get pausedMs(): number {
    return this.#pausedMs;
  }

  slowDownTo(delayMs: number): void {
    this.#delayMs = Math.max(this.#delayMs, delayMs);
  }

  /** `use` reads as much of the body as it needs; it is called again if the response breaks off. */
  async ask<Value>(
    url: string,
    request: PageRequest,
    use: (answer: FetchAnswer<Readable>) => Promise<Value>,
  ): Promise<Asked<Value>> {
    const { retryDelaysMs } = this.#bounds;
    for (let attempt = 0; ; attempt += 1) {
      await this.#waitForPause();
      const { failure, retryAfterMs, value } = await this.#try(url, request, use);
      if (failure === null) return { kind: 'ok', value: value as Value };
      const delayMs = retryDelaysMs[attempt];
      const isTooLong = (retryAfterMs ?? 0) > this.#bounds.maxRetryAfterMs;
      if (!failure.isTransient || delayMs === undefined || isTooLong) return failure;
      // Retry-After is about all requests to the site, not just this one.
      if (retryAfterMs !== undefined) this.#pause(retryAfterMs);
      else await this.#wait(delayMs, this.#signal);
    }
  }

  async #try<Value>(
    url: string,
    request: PageRequest,
    use: (answer: FetchAnswer<Readable>) => Promise<Value>,
  ): Promise<{ failure: RequestFailure | null; value?: Value; retryAfterMs?: number }> {
    let answer: FetchAnswer<Readable> | undefined;
    try {
      answer = await this.#fetch.stream(url, {
        headers: request.headers,
        maxBytes: request.maxBytes ?? this.#bounds.maxPageBytes,
        maxRedirects: request.maxRedirects ?? 0,
        timeoutMs: this.#bounds.timeoutMs,
        signal: this.#signal,
      });
      const failure = failureOfStatus(answer);
      if (failure === null) return { failure, value: await use(answer) };
      return { failure, retryAfterMs: parseRetryAfter(answer.headers['retry-after'], answer.headers.date) };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!isSluiceError(error)) throw error;
      const isTransient = error.kind === 'transient';
      return { failure: { kind: 'failed', code: error.code, message: error.message, isTransient } };
    } finally {
      answer?.body.destroy();
    }
  }

  async #waitForPause(): Promise<void> {
    this.#signal.throwIfAborted();
    const nowMs = performance.now();
    const atMs = Math.max(nowMs, this.#nextAtMs);
    this.#nextAtMs = atMs + this.#delayMs;
    if (atMs > nowMs) await this.#wait(atMs - nowMs, this.#signal);
  }

  #pause(ms: number): void {
    const nowMs = performance.now();
    const untilMs = Math.max(this.#nextAtMs, nowMs + ms);
    this.#pausedMs += Math.round(untilMs - Math.max(this.#nextAtMs, nowMs));
    this.#nextAtMs = untilMs;
  }
}

export async function readWhole(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const passingStatuses = [408, 425, 429];

function failureOfStatus({ status, finalUrl }: FetchAnswer<Readable>): RequestFailure | null {
  if (status < 500 && !passingStatuses.includes(status)) return null;
  const code = status === 429 ? 'page_throttled' : 'page_unavailable';
  const { message } = crawlErrors.raise[code](`${new URL(finalUrl).host} answered ${status}`);
  return { kind: 'failed', code, message, isTransient: true };
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
