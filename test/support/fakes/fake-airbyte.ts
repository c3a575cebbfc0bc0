import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  FakeAirbyteApi,
  type FakeAirbyteSettings,
  type FakeAnswer,
  type FakeRequest,
} from './fake-airbyte-api.ts';
import { FakeAirbyteState, type FakeConnection, type FakeJob, toJson } from './fake-airbyte-state.ts';
import {
  airbyteTroubles,
  type FakeRequestKind,
  type FakeTrouble,
  TroubleBook,
  type TroubleScope,
} from './fake-airbyte-troubles.ts';
import { listenApart } from './ports.ts';

const defaults: FakeAirbyteSettings = {
  clientId: 'fake-client',
  clientSecret: 'fake-client-secret-7f3a91',
  fixedToken: 'fake-fixed-token-52be08',
  password: 'fake-password-91c2d7',
  tokenLifetimeSeconds: 900,
  clockAheadMs: 0,
  rateLimit: null,
};

/** Runs until the test ends. Outside of a test, use FakeAirbyte.start and close it. */
export async function startFakeAirbyte(settings: Partial<FakeAirbyteSettings> = {}): Promise<FakeAirbyte> {
  const airbyte = await FakeAirbyte.start(settings);
  onTestFinished(() => airbyte.close());
  return airbyte;
}

/**
 * Airbyte's public API over real HTTP, as far as Sluice uses it and as it really behaves. By itself all goes well: a
 * job runs at the first poll and has succeeded at the second. `trouble` says what goes wrong, `plan` of a connection
 * what becomes of its jobs, and the ledger what was asked.
 */
export class FakeAirbyte {
  readonly settings: FakeAirbyteSettings;
  readonly state: FakeAirbyteState;
  /** Every request that arrived, in order. */
  readonly requests: FakeRequest[] = [];
  /** The most requests that were open at one time. */
  mostAtOnce = 0;
  readonly #troubles = new TroubleBook();
  readonly #api: FakeAirbyteApi;
  readonly #sockets = new Set<Socket>();
  readonly #watchers = new Set<() => void>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #server: Server | null = null;
  #port = 0;
  #open = 0;
  #advancedMs = 0;

  private constructor(settings: Partial<FakeAirbyteSettings>) {
    this.settings = { ...defaults, ...settings };
    const clock = { nowMs: () => this.nowMs() };
    this.state = new FakeAirbyteState(clock.nowMs);
    this.#api = new FakeAirbyteApi(this.settings, { state: this.state, clock });
  }

  static async start(settings: Partial<FakeAirbyteSettings> = {}): Promise<FakeAirbyte> {
    const airbyte = new FakeAirbyte(settings);
    await airbyte.comeBack();
    return airbyte;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  nowMs(): number {
    return Date.now() + this.settings.clockAheadMs + this.#advancedMs;
  }

  /** Turns Airbyte's clock: tokens run out, rate limits pass. */
  advance(ms: number): void {
    this.#advancedMs += ms;
  }

  addConnection(wanted: Partial<FakeConnection> = {}): FakeConnection {
    return this.state.addConnection(wanted);
  }

  /** Returns a function that ends this trouble early. */
  trouble(scope: TroubleScope, trouble: FakeTrouble): () => void {
    return this.#troubles.add(scope, trouble);
  }

  /** Ends all troubles. */
  recover(): void {
    this.#troubles.clear();
  }

  /** Makes a job end, or take on any other status, now. */
  finish(runId: string, status = 'succeeded'): void {
    const job = this.state.findJob(runId);
    if (job === undefined) throw new Error(`The fake Airbyte has no job ${runId}`);
    this.state.setStatus(job, status);
  }

  /** As if each had just expired. */
  expireTokens(): void {
    this.#api.expireTokens();
  }

  /** From now on connections are refused, and those that are open are cut. */
  async goDown(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Restarts on the same port. */
  async comeBack(): Promise<void> {
    if (this.#server !== null) return;
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    if (this.#port === 0) this.#port = await listenApart(server);
    else {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(this.#port, '127.0.0.1', resolve);
      });
    }
    this.#server = server;
  }

  /** Fails when a request, or an answer of this fake, was not as Airbyte's own document has it. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.goDown();
    const [first] = this.takeFaults();
    if (first !== undefined) throw new Error(`Not as the API document of Airbyte has it: ${first}`);
  }

  /** What was sent or answered that the document does not have, each once; forgotten afterwards. */
  takeFaults(): string[] {
    return [...new Set(this.#api.faults.splice(0))];
  }

  requestsOf(kind: FakeRequestKind, connectionId?: string): FakeRequest[] {
    return this.requests.filter(
      (request) =>
        request.kind === kind && (connectionId === undefined || request.connectionId === connectionId),
    );
  }

  /** The jobs of a connection, the oldest first, however they were made. */
  jobsOf(connectionId: string): FakeJob[] {
    return this.state.jobs.filter((job) => job.connectionId === connectionId);
  }

  /** Every Authorization header that was seen, once. */
  get authorizations(): string[] {
    return [...new Set(this.requests.flatMap(({ authorization }) => authorization ?? []))];
  }

  /** Waits until that many requests of a kind have arrived, answered or not. */
  async untilRequests(kind: FakeRequestKind, count: number, deadlineMs = 10_000): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (this.requestsOf(kind).length < count) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        const seen = this.requestsOf(kind).length;
        reject(new Error(`Only ${seen} of ${count} ${kind} requests came in ${deadlineMs} ms`));
      }, deadlineMs);
      this.#watchers.add(look);
      look();
    });
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#open += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#open);
    response.once('close', () => {
      this.#open -= 1;
    });
    const body = await readBody(message);
    // The client has gone before the request was complete.
    if (body === null) return;
    const request = this.#toRequest(message, body);
    if (request === null) {
      send(response, { status: 404, body: { message: 'no such path' } });
      return;
    }
    this.requests.push(request);
    const trouble = this.#findThrottle(request) ?? this.#troubles.take(request);
    for (const look of [...this.#watchers]) look();
    await this.#respond(request, trouble, response);
  }

  async #respond(request: FakeRequest, trouble: FakeTrouble | null, response: ServerResponse): Promise<void> {
    const finish = (answer: FakeAnswer) => {
      request.status = answer.status;
      const headers = { date: new Date(this.nowMs()).toUTCString(), ...answer.headers };
      send(response, { ...answer, headers });
    };
    switch (trouble?.type) {
      case undefined:
        return finish(this.#api.answer(request));
      case 'answer':
        return finish(trouble);
      case 'done_but':
        this.#api.answer(request);
        return finish(trouble);
      case 'done_later_but': {
        const timer = setTimeout(() => {
          this.#timers.delete(timer);
          this.#api.answer(request);
        }, trouble.afterMs);
        this.#timers.add(timer);
        return finish(trouble);
      }
      case 'held': {
        const answer = this.#api.answer(request);
        await trouble.until;
        return finish(answer);
      }
      case 'late':
        await trouble.until;
        return finish(this.#api.answer(request));
      case 'hang':
        if (trouble.done) this.#api.answer(request);
        return;
      case 'cut':
        if (trouble.done) this.#api.answer(request);
        response.destroy();
        return;
      case 'truncated': {
        const text = toJson(this.#api.answer(request).body);
        response.writeHead(200, { 'content-length': text.length, 'content-type': 'application/json' });
        response.write(text.slice(0, text.length / 2), () => response.destroy());
      }
    }
  }

  #toRequest(message: IncomingMessage, body: string): FakeRequest | null {
    const url = new URL(message.url ?? '', this.url);
    const path = url.pathname.replace(/^\/v1/, '');
    const method = message.method ?? '';
    const kind = kindOf(method, path);
    if (kind === null) return null;
    const query = Object.fromEntries(url.searchParams);
    const { authorization } = message.headers;
    const connectionId = this.#api.connectionOf(kind, { path, query, body });
    return { kind, connectionId, method, path, query, body, authorization, atMs: this.nowMs(), status: null };
  }

  #findThrottle({ atMs }: FakeRequest): FakeTrouble | null {
    const { rateLimit } = this.settings;
    if (rateLimit === null) return null;
    const recent = this.requests.filter((request) => request.atMs > atMs - rateLimit.windowMs);
    return recent.length > rateLimit.max ? airbyteTroubles.throttled() : null;
  }
}

function kindOf(method: string, path: string): FakeRequestKind | null {
  const kinds: [string, RegExp, FakeRequestKind][] = [
    ['POST', /^\/applications\/token$/, 'token'],
    ['POST', /^\/jobs$/, 'trigger'],
    ['GET', /^\/jobs$/, 'list_jobs'],
    ['GET', /^\/jobs\/[^/]+$/, 'get_job'],
    ['DELETE', /^\/jobs\/[^/]+$/, 'cancel'],
    ['GET', /^\/connections$/, 'list_connections'],
    ['GET', /^\/connections\/[^/]+$/, 'get_connection'],
    ['GET', /^\/workspaces\/[^/]+$/, 'get_workspace'],
  ];
  return kinds.find(([verb, pattern]) => verb === method && pattern.test(path))?.[2] ?? null;
}

async function readBody(message: IncomingMessage): Promise<string | null> {
  let body = '';
  try {
    for await (const text of message.setEncoding('utf8')) body += text;
  } catch {
    return null;
  }
  return body;
}

function send(response: ServerResponse, { status, body, headers = {} }: FakeAnswer): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
  response.end(isText ? body : toJson(body));
}
