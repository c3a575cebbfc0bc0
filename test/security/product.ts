import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type App, createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { createLogger } from '../../src/lib/log.ts';
import { SecretScrubber } from '../../src/lib/secret-scrubber.ts';
import { type TestClaims, testTokens } from '../support/servers/server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';

export interface Ask {
  method?: string;
  path: string;
  /** Sent as JSON unless it is a form. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Told {
  status: number;
  text: string;
  type: string;
  /** Empty when the response is not JSON. */
  body: Record<string, unknown>;
  headers: Headers;
}

/** The whole product, wired as it is when it is started, on a test file's database; jobs run when they are driven. */
export interface Product {
  readonly url: string;
  /** A temporary one, with the data directory `files` in it. */
  readonly directory: string;
  bearer(claims: TestClaims): Promise<Record<string, string>>;
  /** As a principal, or with the headers alone when none is given. */
  ask(claims: TestClaims | null, ask: Ask): Promise<Told>;
}

/** `env` may depend on the directory, for settings that name a folder. */
export function useProduct(
  database: TestDatabase,
  env: Record<string, string> | ((directory: string) => Record<string, string>) = {},
): Product {
  const directory = mkdtempSync(path.join(tmpdir(), 'sluice-security-'));
  let app: App | undefined;
  beforeAll(async () => {
    const more = typeof env === 'function' ? env(directory) : env;
    app = await startApp(directory, { DATABASE_URL: database.ownerUrl, ...more });
  });
  afterAll(async () => {
    await app?.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const urlOf = (): string => {
    if (!app) throw new Error('The product is available only after beforeAll has run');
    return app.url;
  };
  const bearer = async (claims: TestClaims): Promise<Record<string, string>> => {
    const token = await mintToken(testTokens, {
      userId: 'a-user',
      role: 'admin',
      lifetimeSeconds: 600,
      ...claims,
    });
    return { authorization: `Bearer ${token}` };
  };
  return {
    directory,
    bearer,
    get url() {
      return urlOf();
    },
    ask: async (claims, ask) => {
      const own = claims === null ? {} : await bearer(claims);
      return send(`${urlOf()}${ask.path}`, { ...ask, headers: { ...own, ...ask.headers } });
    },
  };
}

async function startApp(directory: string, env: Record<string, string>): Promise<App> {
  const fixed = {
    PORT: '0',
    SLUICE_WORKER: 'false',
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    SLUICE_DATA_DIR: path.join(directory, 'files'),
    RATE_LIMIT_PER_MINUTE: '1000000',
    TENANT_REQUESTS_PER_MINUTE: '1000000',
  };
  const { config, sources } = await loadConfig({ env: { ...fixed, ...env }, cwd: directory });
  const scrubber = new SecretScrubber();
  return createApp({
    config,
    scrubber,
    portIsExplicit: sources.port.from !== 'default',
    logger: createLogger({ level: 'silent', scrubber }),
  });
}

/** One request to any server of Sluice. */
export async function send(
  url: string,
  { method = 'GET', body, headers = {} }: Omit<Ask, 'path'>,
): Promise<Told> {
  const isForm = body instanceof FormData;
  const isJson = body !== undefined && !isForm;
  const answer = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const type = answer.headers.get('content-type') ?? '';
  const parsed = type.includes('json') && text !== '' ? JSON.parse(text) : {};
  return { status: answer.status, text, type, body: parsed, headers: answer.headers };
}

/** What the server at `url` returns to a request head that no HTTP client would send. */
export async function answerTo(
  url: string,
  head: readonly string[],
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const pieces: Buffer[] = [];
  socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`));
  try {
    for await (const piece of socket) pieces.push(piece as Buffer);
  } catch (error) {
    // A server may close on what it refused before all of it was sent.
    if (pieces.length === 0) throw error;
  }
  const text = Buffer.concat(pieces).toString();
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text };
}
