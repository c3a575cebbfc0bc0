import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { SluiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/timing/clock.ts';
import { apiErrors } from '../errors.ts';
import { problemDocument, problemMediaType } from '../problem.ts';

export interface SlowBodyOptions {
  /** A body must bring `bytesPerSecond` on average over any time of this length. */
  slowBodySeconds: number;
  slowBodyBytesPerSecond: number;
}

/** A request whose body is still arriving. */
interface Arriving {
  response: ServerResponse;
  /** Known once the route is. */
  reply: FastifyReply | null;
  startedAtMs: number;
  /** Bytes that the connection had brought at the last sweeps, oldest first. */
  samples: { atMs: number; bytes: number }[];
}

/** How many sweeps one window has: a sender is cut off at most this part of the window too late. */
const sweepsPerWindow = 30;

/**
 * Cuts off senders that keep a connection open with a trickle: each holds a socket, a buffer and perhaps a slot. The
 * time limit of the whole request cannot do that, because an honest upload may take an hour.
 */
export class SlowBodies {
  readonly #windowMs: number;
  readonly #bytesPerSecond: number;
  readonly #clock: Clock;
  readonly #arriving = new Map<IncomingMessage, Arriving>();

  constructor({ slowBodySeconds, slowBodyBytesPerSecond }: SlowBodyOptions, clock: Clock) {
    this.#windowMs = slowBodySeconds * 1000;
    this.#bytesPerSecond = slowBodyBytesPerSecond;
    this.#clock = clock;
  }

  get count(): number {
    return this.#arriving.size;
  }

  /** How often `sweep` should be called. */
  get sweepMs(): number {
    return this.#windowMs / sweepsPerWindow;
  }

  watch(request: IncomingMessage, response: ServerResponse): void {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && Number(length) === 0) return;
    const atMs = this.#clock.nowMs();
    const samples = [{ atMs, bytes: request.socket.bytesRead }];
    this.#arriving.set(request, { response, reply: null, startedAtMs: atMs, samples });
    // A body may still arrive after its response: a refusal is sent before it is read.
    response.once('close', () => {
      if (isOver(request)) this.#arriving.delete(request);
    });
  }

  /** The route is found: its limits apply, and its reply must not be sent after ours. */
  meet(reply: FastifyReply): void {
    const arriving = this.#arriving.get(reply.request.raw);
    if (arriving) arriving.reply = reply;
  }

  sweep(): void {
    const nowMs = this.#clock.nowMs();
    for (const [request, arriving] of this.#arriving) {
      if (isOver(request)) this.#arriving.delete(request);
      else if (isWaitingForUs(request)) restart(request, arriving, nowMs);
      else {
        const problem = this.#problemOf(request, arriving, nowMs);
        if (problem === null) continue;
        this.#arriving.delete(request);
        cutOff(request, arriving, problem);
      }
    }
  }

  #problemOf(request: IncomingMessage, arriving: Arriving, nowMs: number): SluiceError | null {
    const { samples, startedAtMs } = arriving;
    const seconds = this.#windowMs / 1000;
    if (isShort(arriving) && nowMs - startedAtMs >= this.#windowMs) {
      return apiErrors.raise.body_too_slow(
        `The body was incomplete after ${seconds} seconds; it must arrive within them`,
      );
    }
    const bytes = request.socket.bytesRead;
    samples.push({ atMs: nowMs, bytes });
    while ((samples[1]?.atMs ?? nowMs) <= nowMs - this.#windowMs) samples.shift();
    const oldest = samples[0] ?? { atMs: nowMs, bytes };
    const least = this.#bytesPerSecond * seconds;
    if (nowMs - oldest.atMs < this.#windowMs || bytes - oldest.bytes >= least) return null;
    return apiErrors.raise.body_too_slow(
      `The body brought ${bytes - oldest.bytes} bytes in ${seconds} seconds; at least ${least} must arrive`,
    );
  }
}

/** Watches all requests of the server, also those that no route handles. */
export function installSlowBodies(app: FastifyInstance, options: SlowBodyOptions, clock: Clock): void {
  const bodies = new SlowBodies(options, clock);
  app.server.on('request', (request, response) => bodies.watch(request, response));
  app.addHook('onRequest', async (_request, reply) => bodies.meet(reply));
  const timer = setInterval(() => bodies.sweep(), bodies.sweepMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

function isOver({ complete, socket }: IncomingMessage): boolean {
  return complete || socket.destroyed;
}

/** Bytes lie unread: the handler waits for its turn or for the database, and the sender is not to blame. */
function isWaitingForUs(request: IncomingMessage): boolean {
  return request.readableLength > 0 || request.socket.isPaused();
}

function restart(request: IncomingMessage, arriving: Arriving, atMs: number): void {
  arriving.samples = [{ atMs, bytes: request.socket.bytesRead }];
}

/** A form of files and a body of data may take their time; a name, a login code or a search may not. */
function isShort({ reply }: Arriving): boolean {
  if (reply === null) return true;
  const { config } = reply.request.routeOptions;
  return config.takesData === undefined && !reply.request.isMultipart();
}

function cutOff(request: IncomingMessage, { response, reply }: Arriving, problem: SluiceError): void {
  // Without the route there is no reply that could be sent after this one.
  reply?.hijack();
  if (response.headersSent || response.destroyed) {
    request.socket.destroy();
    return;
  }
  const instance = request.url ?? '/';
  const body = JSON.stringify(problemDocument(problem, { instance, requestId: reply?.request.id ?? '' }));
  response.writeHead(problem.definition.status, {
    'content-type': problemMediaType,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(body, () => request.socket.destroy());
}
