import { access } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { loadJwtSecret } from '../../kernel/secrets/installation-secrets.ts';
import { mintToken } from '../../kernel/tenancy/tokens.ts';
import { isMissing } from '../../lib/durable-files.ts';
import { messageOf } from '../../lib/errors.ts';
import { readVersion } from '../../lib/version.ts';
import { parseTenant } from '../terminal/arguments.ts';
import { CommandFailure, exitCodes, UsageError } from '../terminal/exit.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';
import { nextStepFor } from './next-steps.ts';

/** For commands that talk to a server. */
export function addClientFlags(command: Command): Command {
  command
    .option('--tenant <id>', 'the tenant, when the token is made here', parseTenant, defaultTenant)
    .option('--json', 'print JSON instead of text');
  return addSettingFlags(command, ['url', 'token', 'dataDir']);
}

export async function connectClient(command: Command): Promise<Client> {
  const { config } = await loadCommandConfig(command);
  return new Client({ baseUrl: baseUrlOf(config), findToken: tokenSource(config, command) });
}

export type Query = Record<string, string | number | undefined>;

export interface CallOptions {
  query?: Query;
  body?: object;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface Upload {
  method?: 'POST' | 'PUT';
  contentType: string;
  /** Read no faster than the server accepts it. */
  content: AsyncIterable<Uint8Array>;
  signal: AbortSignal;
}

export interface Download {
  method: 'GET' | 'POST';
  query: Query;
  mediaType: string;
  signal: AbortSignal;
}

const callTimeoutMs = 30_000;
/** The server sends a heartbeat every 15 seconds: a silence this long means a dead connection. */
const silenceMs = 45_000;
/** A transfer may wait for the database on the other side, but not for ever. */
const transferSilenceMs = 300_000;

/** Calls the API of one server. Every failure is a CommandFailure, and none of them shows the token. */
export class Client {
  readonly #baseUrl: string;
  readonly #findToken: () => Promise<string>;

  constructor(options: { baseUrl: string; findToken: () => Promise<string> }) {
    this.#baseUrl = options.baseUrl;
    this.#findToken = options.findToken;
  }

  /** A page of the server, for people to open. */
  urlOf(path: string): string {
    return `${this.#baseUrl}${path}`;
  }

  get<Reply>(route: string, options: CallOptions = {}): Promise<Reply> {
    return this.#call<Reply>('GET', route, options);
  }

  post<Reply>(route: string, options: CallOptions = {}): Promise<Reply> {
    return this.#call<Reply>('POST', route, options);
  }

  put<Reply>(route: string, options: CallOptions = {}): Promise<Reply> {
    return this.#call<Reply>('PUT', route, options);
  }

  patch<Reply>(route: string, options: CallOptions = {}): Promise<Reply> {
    return this.#call<Reply>('PATCH', route, options);
  }

  /** Succeeds on 204 only. */
  async delete(route: string, { signal: outer, timeoutMs = callTimeoutMs }: CallOptions = {}): Promise<void> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = outer ? AbortSignal.any([timeout, outer]) : timeout;
    const answer = await this.#fetch(route, { method: 'DELETE', query: {}, headers: {}, signal });
    if (answer.status !== 204) throw this.#notSluice(answer);
  }

  /** Opens a stream and yields its text as it arrives. It ends when the server ends it, and throws when it breaks. */
  async stream(
    route: string,
    options: { query: Query; headers: Record<string, string>; signal: AbortSignal },
  ): Promise<AsyncGenerator<string>> {
    const silence = new Deadline(callTimeoutMs, options.signal);
    try {
      const headers = { accept: 'text/event-stream', ...options.headers };
      const answer = await this.#fetch(route, { ...options, headers, signal: silence.signal });
      if (!isOfType(answer, 'text/event-stream')) throw this.#notSluice(answer);
      return decodeText(this.#chunksOf(answer, { silence, ms: silenceMs }));
    } catch (error) {
      silence.clear();
      throw error;
    }
  }

  /** Streams a body, and gives up when the server takes none of it for a while. */
  async upload<Reply>(
    route: string,
    { method = 'POST', contentType, content, signal }: Upload,
  ): Promise<Reply> {
    const silence = new Deadline(transferSilenceMs, signal);
    async function* body(): AsyncGenerator<Uint8Array> {
      for await (const chunk of content) {
        silence.extend(transferSilenceMs);
        yield chunk;
      }
    }
    try {
      const answer = await this.#fetch(route, {
        method,
        query: {},
        headers: { accept: 'application/json', 'content-type': contentType },
        signal: silence.signal,
        body: body(),
        duplex: 'half',
        // With any other choice fetch keeps all that it has sent, to be able to send it again.
        redirect: 'error',
      });
      return await this.#replyOf<Reply>(answer);
    } finally {
      silence.clear();
    }
  }

  /** Streams a response. It throws when the response breaks off before its end. */
  async download(route: string, options: Download): Promise<AsyncGenerator<Uint8Array>> {
    const silence = new Deadline(transferSilenceMs, options.signal);
    try {
      const answer = await this.#fetch(route, {
        method: options.method,
        query: options.query,
        headers: { accept: options.mediaType },
        signal: silence.signal,
      });
      if (!isOfType(answer, options.mediaType)) throw this.#notSluice(answer);
      return this.#chunksOf(answer, { silence, ms: transferSilenceMs });
    } catch (error) {
      silence.clear();
      throw error;
    }
  }

  async *#chunksOf(
    answer: Response,
    { silence, ms }: { silence: Deadline; ms: number },
  ): AsyncGenerator<Uint8Array> {
    try {
      silence.extend(ms);
      for await (const chunk of answer.body ?? []) {
        silence.extend(ms);
        yield chunk as Uint8Array;
      }
    } catch (error) {
      throw this.#brokenOff(error);
    } finally {
      silence.clear();
    }
  }

  async #call<Reply>(method: string, route: string, options: CallOptions): Promise<Reply> {
    const { query, body, timeoutMs = callTimeoutMs } = options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body) headers['content-type'] = 'application/json';
    const sent = body ? { body: JSON.stringify(body) } : {};
    const answer = await this.#fetch(route, { method, query: query ?? {}, headers, signal, ...sent });
    return this.#replyOf<Reply>(answer);
  }

  async #replyOf<Reply>(answer: Response): Promise<Reply> {
    if (!isOfType(answer, 'application/json')) throw this.#notSluice(answer);
    try {
      return (await answer.json()) as Reply;
    } catch (error) {
      throw error instanceof SyntaxError ? this.#notSluice(answer) : this.#unreachable(error);
    }
  }

  async #fetch(
    route: string,
    { query, headers, ...init }: RequestInit & { query: Query; headers: Record<string, string> },
  ): Promise<Response> {
    const token = await this.#findToken();
    const url = new URL(`${this.#baseUrl}${route}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const request = {
      // The token is for the named server only, not for where it redirects.
      redirect: 'manual',
      ...init,
      headers: { ...headers, authorization: `Bearer ${token}`, 'user-agent': `sluice/${readVersion()}` },
    } as const;
    const answer = await fetch(url, request).catch((error: unknown) => {
      throw isRedirect(error) ? this.#redirected(error) : this.#unreachable(error);
    });
    if (answer.ok) return answer;
    throw await this.#refusal(answer, token);
  }

  #redirected(cause: unknown): CommandFailure {
    return new CommandFailure(`${this.#baseUrl} redirects to another address.`, {
      exitCode: exitCodes.failed,
      next: 'Name the address that it redirects to with --url or SLUICE_URL.',
      cause,
    });
  }

  #unreachable(error: unknown): CommandFailure {
    return new CommandFailure(`${this.#baseUrl} cannot be reached: ${reasonOf(error)}.`, {
      exitCode: exitCodes.unreachable,
      next:
        'Start the server with `sluice serve`, or name its address (it prints it at start) with --url or ' +
        'SLUICE_URL.',
      isPassing: true,
      cause: error,
    });
  }

  #brokenOff(error: unknown): CommandFailure {
    return new CommandFailure(
      `${this.#baseUrl} broke off in the middle of its response: ${reasonOf(error)}.`,
      {
        exitCode: exitCodes.unreachable,
        next: 'Try again; if it breaks off again, look into the log of the server.',
        isPassing: true,
        cause: error,
      },
    );
  }

  #notSluice({ status }: Response): CommandFailure {
    return new CommandFailure(`${this.#baseUrl} returned ${status}, but it is not a Sluice server.`, {
      exitCode: exitCodes.failed,
      next: 'Check --url or SLUICE_URL, and any proxy in between.',
      // It may be a proxy in front of a server that is away.
      isPassing: status >= 500,
    });
  }

  async #refusal(answer: Response, token: string): Promise<CommandFailure> {
    if (!isOfType(answer, 'application/problem+json')) return this.#notSluice(answer);
    const problem = (await answer.json().catch(() => ({}))) as { detail?: unknown; code?: unknown };
    const code = typeof problem.code === 'string' ? problem.code : `status ${answer.status}`;
    // No response should quote the token, but this is the one place where it would be printed if one did.
    const detail = String(problem.detail ?? 'The server refused the request').replaceAll(token, '***');
    const isAuth = answer.status === 401 || answer.status === 403;
    return new CommandFailure(`${detail} (${code})`, {
      exitCode: isAuth ? exitCodes.auth : exitCodes.failed,
      next: answer.status === 401 ? tokenAdvice : nextStepFor(code),
      isPassing: answer.status >= 500 || answer.status === 429,
      code,
    });
  }
}

async function* decodeText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
}

/** Aborts after a time that can be extended, or with another signal. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  #timer: NodeJS.Timeout | undefined;

  constructor(firstMs: number, outer: AbortSignal) {
    this.#outer = outer;
    outer.addEventListener('abort', this.clear);
    this.extend(firstMs);
    if (outer.aborted) this.clear();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  extend(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new DOMException('The server fell silent', 'TimeoutError'));
    }, ms);
  }

  /** Also closes a connection whose stream was abandoned before its end. */
  readonly clear = (): void => {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.clear);
    this.#controller.abort();
  };
}

const defaultTenant = 'default';
const tokenLifetimeSeconds = 600;
const tokenAdvice =
  'Give a token or an API key with --token or SLUICE_TOKEN; `sluice token --tenant default --role operator` creates ' +
  'one on the server’s machine.';

function baseUrlOf({ url, port }: Config): string {
  if (url === null) {
    if (port !== 0) return `http://127.0.0.1:${port}`;
    throw new UsageError('PORT is 0, so the server’s port is not known here. Give its address with --url.');
  }
  const { username, password, origin, pathname } = new URL(url);
  if (username !== '' || password !== '') {
    throw new UsageError(
      'The server’s address holds a user or a password. Leave them out, and give a token with SLUICE_TOKEN.',
    );
  }
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** Asked before every call, because a token that is made here expires soon. */
function tokenSource(config: Config, command: Command): () => Promise<string> {
  const { token } = config;
  const isTenantGiven = command.getOptionValueSource('tenant') === 'cli';
  if (token === null) return () => signToken(config, String(command.opts().tenant));
  if (isTenantGiven) {
    throw new UsageError('A token belongs to one tenant already. Leave out --tenant, or the token.');
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CommandFailure('The token contains spaces or characters that no token has.', {
      exitCode: exitCodes.auth,
      next: tokenAdvice,
    });
  }
  return async () => token;
}

async function signToken(config: Config, tenantId: string): Promise<string> {
  if (!(await canSign(config))) {
    throw new CommandFailure('There is no token for the server, and no secret here to sign one with.', {
      exitCode: exitCodes.auth,
      next: tokenAdvice,
    });
  }
  const secret = await loadJwtSecret({ configured: config.jwtSecret, dataDir: config.dataDir });
  return mintToken(
    { secret, issuer: config.jwtIssuer, audience: config.jwtAudience },
    { tenantId, userId: 'cli', role: 'operator', lifetimeSeconds: tokenLifetimeSeconds },
  );
}

/** Never creates a secret: a token signed with a new one would be refused with a puzzling reason. */
async function canSign({ jwtSecret, jwksUrl, dataDir }: Config): Promise<boolean> {
  if (jwtSecret !== null) return true;
  if (jwksUrl !== null) return false;
  try {
    await access(path.join(dataDir, 'jwt.secret'));
    return true;
  } catch (error) {
    // A file that exists but cannot be read is reported when it is read.
    return !isMissing(error);
  }
}

function isOfType(answer: Response, type: string): boolean {
  return (answer.headers.get('content-type') ?? '').toLowerCase().startsWith(type);
}

function isRedirect(error: unknown): boolean {
  return error instanceof Error && messageOf(error.cause).includes('unexpected redirect');
}

/** `fetch failed` says nothing; the cause has the reason. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'it did not respond in time';
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return messageOf(cause).replace(/\.$/, '');
}
