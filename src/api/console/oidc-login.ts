import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { oidcErrors } from '../../kernel/tenancy/oidc/errors.ts';
import type { SignInMemory } from '../../kernel/tenancy/oidc/provider.ts';
import type { OidcSignIn } from '../../kernel/tenancy/oidc/sign-in.ts';
import { isSluiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/timing/clock.ts';
import { readCookie, writeCookie } from '../requests/cookies.ts';
import { createCookieSeal, type Seal } from '../requests/sealed-answer.ts';
import { wantsPage } from './console.ts';
import { ownPath, refusedPath, setSessionCookie } from './login.ts';

interface OidcLoginDeps {
  /** Null when no provider is set. */
  signIn: OidcSignIn | null;
  publicUrl: string | null;
  secret: string;
  isHttps: boolean;
  clock: Clock;
}

type Deps = OidcLoginDeps & { seal: Seal };

const beginPath = '/login/oidc';
const callbackPath = '/login/oidc/callback';
const memoryCookie = 'sluice_sign_in';
const memorySeconds = 600;
/** Browsers drop cookies beyond 4 KB. */
const maxPathLength = 1_500;

/** What the browser keeps, sealed, while the person is at the provider. */
interface KeptMemory extends SignInMemory {
  to: string;
  untilMs: number;
}

/** The third way to a session: a login provider that speaks OpenID Connect. */
export function installOidcLogin(app: RouteApp, options: OidcLoginDeps): void {
  const deps = { ...options, seal: createCookieSeal(options.secret) };
  installWays(app, deps);
  installBegin(app, deps);
  installCallback(app, deps);
}

const waysReply = z
  .object({
    oidc: z
      .object({ name: z.string().describe('What the provider is called'), url: z.string() })
      .nullable()
      .describe('Null when no login provider is set'),
  })
  .meta({ id: 'SignInWays' });

function installWays(app: RouteApp, { signIn }: Deps): void {
  app.route({
    method: 'GET',
    url: '/login/ways',
    config: { public: true },
    schema: {
      tags: ['session'],
      summary: 'How people can log in here, besides a login link and a token',
      response: { 200: waysReply, ...publicProblems() },
    },
    handler: async () => ({ oidc: signIn && { name: signIn.name, url: beginPath } }),
  });
}

function installBegin(app: RouteApp, deps: Deps): void {
  app.route({
    method: 'GET',
    url: beginPath,
    // A HEAD would replace the memory of a sign-in that is under way.
    exposeHeadRoute: false,
    config: { public: true },
    schema: {
      tags: ['session'],
      summary: 'Sign in with the login provider: leads there, and back to the callback',
      querystring: z.strictObject({
        to: z.string().max(2000).optional().describe('Where to go afterwards: a path of this server'),
      }),
      response: { 303: z.null().describe('To the provider'), ...publicProblems(401, 404) },
    },
    handler: async (request, reply) => {
      const asked = ownPath(request.query.to);
      const to = asked.length > maxPathLength ? '/' : asked;
      return orLoginPage(request, reply, to, async () => {
        const base = (deps.publicUrl ?? `${request.protocol}://${request.host}`).replace(/\/+$/, '');
        const { url, memory } = await signInOf(deps).begin(`${base}${callbackPath}`);
        const kept: KeptMemory = { ...memory, to, untilMs: deps.clock.nowMs() + memorySeconds * 1000 };
        keepMemory(request, reply, deps, kept);
        return reply.redirect(url, 303);
      });
    },
  });
}

const callbackQuery = z
  .looseObject({
    code: z.string().max(8_000).optional().describe('Of the provider, when it agrees'),
    state: z.string().max(2_000).optional().describe('As it was sent to the provider'),
    error: z.string().max(2_000).optional().describe('Of the provider, when it refuses'),
  })
  .describe('What the provider sends, which may be more');

function installCallback(app: RouteApp, deps: Deps): void {
  app.route({
    method: 'GET',
    url: callbackPath,
    exposeHeadRoute: false,
    config: { public: true },
    schema: {
      tags: ['session'],
      summary: 'Where the login provider sends people back to; the response sets the session cookie',
      querystring: callbackQuery,
      response: { 303: z.null().describe('Logged in'), ...publicProblems(401, 403, 404) },
    },
    handler: async (request, reply) => {
      const memory = takeMemory(request, reply, deps);
      return orLoginPage(request, reply, memory?.to ?? '/', async () => {
        const signIn = signInOf(deps);
        if (memory === null || request.query.state !== memory.state) {
          throw oidcErrors.raise.oidc_sign_in_expired(
            'This browser has no sign-in under way that the response belongs to',
          );
        }
        const query = request.url.slice(request.url.indexOf('?') + 1);
        const { session, lifetimeSeconds } = await signIn.finish(
          query,
          memory,
          request.headers['user-agent'],
        );
        setSessionCookie(request, reply, {
          value: session,
          maxAgeSeconds: lifetimeSeconds,
          isHttps: deps.isHttps,
        });
        return reply.redirect(memory.to, 303);
      });
    },
  });
}

function signInOf({ signIn }: Deps): OidcSignIn {
  if (signIn) return signIn;
  throw oidcErrors.raise.oidc_not_configured('This server has no login provider');
}

/** A person gets the login page with the reason, a program gets the problem document. */
async function orLoginPage(
  request: FastifyRequest,
  reply: FastifyReply,
  to: string,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    // The caller learns a code; what the provider really said is for whoever runs the server.
    request.log.warn({ err: error, cause: error.cause }, 'a sign-in with the login provider failed');
    if (!wantsPage(request)) throw error;
    return reply.redirect(refusedPath(error.code, to), 303);
  }
}

function keepMemory(request: FastifyRequest, reply: FastifyReply, deps: Deps, kept: KeptMemory): void {
  const value = deps.seal.close(JSON.stringify(kept));
  writeMemory(request, reply, deps, { value, maxAgeSeconds: memorySeconds });
}

/** Whatever comes of it, one memory serves one callback. */
function takeMemory(request: FastifyRequest, reply: FastifyReply, deps: Deps): KeptMemory | null {
  const sealed = readCookie(request.headers.cookie, memoryCookie);
  if (sealed === null) return null;
  writeMemory(request, reply, deps, { value: '', maxAgeSeconds: 0 });
  const opened = deps.seal.open(sealed);
  // Only this server can have sealed it, so it has the form that this server gave it.
  const kept = opened === null ? null : (JSON.parse(opened) as KeptMemory);
  return kept !== null && kept.untilMs > deps.clock.nowMs() ? kept : null;
}

function writeMemory(
  request: FastifyRequest,
  reply: FastifyReply,
  { isHttps }: Deps,
  content: { value: string; maxAgeSeconds: number },
): void {
  const secure = isHttps || request.protocol === 'https';
  reply.header('set-cookie', writeCookie({ ...content, name: memoryCookie, path: beginPath, secure }));
}
