import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { eventErrors } from '../kernel/events/errors.ts';
import type { LiveStream, LiveStreams, StreamFrame } from '../kernel/events/live-stream.ts';
import { principalOf } from '../kernel/http/route.ts';
import type { Authenticator } from '../kernel/tenancy/service.ts';
import { isSluiceError } from '../lib/errors.ts';
import { identify } from './requests/auth.ts';

export interface SseOptions {
  authenticator: Authenticator;
  /** How often a silent stream sends a heartbeat and checks that its caller may still listen. */
  heartbeatMs?: number;
  /** How long a client may leave a full connection unread. */
  stallMs?: number;
  maxStreams?: number;
  maxPerPrincipal?: number;
  maxPerTenant?: number;
}

/** Browsers reconnect by themselves after this time. */
const reconnectMs = 2_000;
const tooManyRetrySeconds = 10;

/** Server-sent events: the open streams of this process, with their limits. */
export class SseStreams implements LiveStreams {
  readonly #options: Required<SseOptions>;
  readonly #streams = new Set<SseStream>();
  /** Open streams of each principal and of each tenant. */
  readonly #counts = new Map<string, number>();
  #isClosing = false;

  constructor(options: SseOptions) {
    this.#options = {
      heartbeatMs: 15_000,
      stallMs: 60_000,
      maxStreams: 1_000,
      maxPerPrincipal: 20,
      maxPerTenant: 100,
      ...options,
    };
  }

  open(request: FastifyRequest, reply: FastifyReply, position: string): LiveStream {
    const { tenantId, userId } = principalOf(request);
    const holders = [`tenant ${tenantId}`, `user ${tenantId}\0${userId}`] as const;
    this.#refuseExcess(holders);
    const { authenticator, heartbeatMs, stallMs } = this.#options;
    const stream = new SseStream(takeOver(reply), {
      position,
      heartbeatMs,
      stallMs,
      mayListen: () => mayStillListen(request, authenticator),
      onEnd: () => this.#forget(stream, holders),
    });
    this.#streams.add(stream);
    for (const holder of holders) this.#counts.set(holder, this.#countOf(holder) + 1);
    // A browser gives up for good on any status but 200; a stream that ends at once makes it try again elsewhere. And a
    // client that left while its request was being checked sends no second `close`.
    if (this.#isClosing || reply.raw.destroyed) stream.end();
    return stream;
  }

  closeAll(): void {
    this.#isClosing = true;
    for (const stream of [...this.#streams]) stream.end();
  }

  #countOf(holder: string): number {
    return this.#counts.get(holder) ?? 0;
  }

  #refuseExcess([tenant, principal]: readonly [string, string]): void {
    const { maxStreams, maxPerPrincipal, maxPerTenant } = this.#options;
    const extras = { retryAfterSeconds: tooManyRetrySeconds };
    if (this.#countOf(tenant) >= maxPerTenant) {
      throw eventErrors.raise.too_many_streams(
        `A tenant may have ${maxPerTenant} streams open at a time (TENANT_STREAMS)`,
        { ...extras, details: { setting: 'TENANT_STREAMS', limit: maxPerTenant } },
      );
    }
    if (this.#countOf(principal) >= maxPerPrincipal) {
      throw eventErrors.raise.too_many_streams(
        `A user may have ${maxPerPrincipal} streams open at a time`,
        extras,
      );
    }
    if (this.#streams.size >= maxStreams) {
      throw eventErrors.raise.too_many_streams(
        `This server has its ${maxStreams} streams open already`,
        extras,
      );
    }
  }

  #forget(stream: SseStream, holders: readonly string[]): void {
    this.#streams.delete(stream);
    for (const holder of holders) {
      const left = this.#countOf(holder) - 1;
      if (left > 0) this.#counts.set(holder, left);
      else this.#counts.delete(holder);
    }
  }
}

interface SseStreamOptions {
  position: string;
  heartbeatMs: number;
  stallMs: number;
  mayListen: () => Promise<boolean>;
  onEnd: () => void;
}

class SseStream implements LiveStream {
  readonly #raw: ServerResponse;
  readonly #options: SseStreamOptions;
  readonly #ended = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #position: string;

  constructor(raw: ServerResponse, options: SseStreamOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#position = options.position;
    raw.once('close', () => this.end());
    // A reset connection is a client that left, and `close` reports it too; unhandled, it would end the process.
    raw.on('error', () => {});
    raw.write(`retry: ${reconnectMs}\n${this.#positionLine()}\n`);
    this.#timer = setInterval(() => void this.#beat(), options.heartbeatMs);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  async send(frames: readonly StreamFrame[], position: string): Promise<void> {
    if (this.signal.aborted) return;
    const text = frames
      .map(({ id, event, data }) => `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`)
      .join('');
    if (text !== '' && !this.#raw.write(text)) await this.#drained();
    this.#position = position;
  }

  end(): void {
    if (this.signal.aborted) return;
    clearInterval(this.#timer);
    this.#ended.abort();
    this.#options.onEnd();
    // A client that does not read would keep the stream, and so the server, from closing.
    if (this.#raw.writableNeedDrain) this.#raw.destroy();
    else this.#raw.end();
  }

  async #beat(): Promise<void> {
    // The client stores an id that comes without data and shows nothing: so filtered streams move on too.
    if (!this.#raw.writableNeedDrain) this.#raw.write(`: heartbeat\n${this.#positionLine()}\n`);
    if (!(await this.#options.mayListen())) this.end();
  }

  #positionLine(): string {
    return `id: ${this.#position}\n`;
  }

  /** Memory stays bounded: nothing more is read for a client that has not taken what it was sent. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end(), this.#options.stallMs);
      const done = () => {
        clearTimeout(timer);
        this.#raw.off('drain', done);
        this.signal.removeEventListener('abort', done);
        resolve();
      };
      this.#raw.on('drain', done);
      this.signal.addEventListener('abort', done);
    });
  }
}

/** Takes the response over from Fastify, with the headers that are set so far. */
function takeOver(reply: FastifyReply): ServerResponse {
  reply.hijack();
  const headers = {
    ...reply.getHeaders(),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // The connection ends with its stream, so that a stopping server need not wait for idle ones.
    connection: 'close',
  };
  return reply.raw.writeHead(200, headers as Record<string, string>);
}

/** Tokens expire, keys are revoked, users are disabled, roles change: each takes effect within a heartbeat. */
async function mayStillListen(request: FastifyRequest, authenticator: Authenticator): Promise<boolean> {
  try {
    const before = principalOf(request);
    const now = await identify(request, authenticator);
    return now.tenantId === before.tenantId && now.userId === before.userId && now.role === before.role;
  } catch (error) {
    // While the database or the key server is away this cannot be checked; the next heartbeat tries again.
    if (isSluiceError(error) && error.definition.status < 500) return false;
    request.log.warn({ err: error }, 'the right to a live stream could not be checked');
    return true;
  }
}
