import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { publicProblems, shownAs } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import type { Authenticator } from '../../kernel/tenancy/service.ts';
import { sessionLifetimeSeconds, startSession } from '../../kernel/tenancy/sessions.ts';
import { roles } from '../../kernel/tenancy/types.ts';
import { isSluiceError } from '../../lib/errors.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { apiErrors } from '../errors.ts';
import { refuseForeignPage } from '../requests/auth.ts';
import { writeSessionCookie } from '../requests/cookies.ts';
import { type SendPage, wantsPage } from './console.ts';

interface LoginDeps {
  db: Database;
  authenticator: Authenticator;
  isHttps: boolean;
  sendPage: SendPage;
}

/** The two ways to a session: a link that works once, and a token or key that is pasted into the console. */
export function installLogin(app: RouteApp, deps: LoginDeps): void {
  installLoginLink(app, deps);
  installSessionByToken(app, deps);
}

const linkQuery = z.strictObject({
  code: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Of the link; without it a browser gets the login page'),
  to: z.string().max(2000).optional().describe('Where to go afterwards: a path of this server'),
  refused: z
    .string()
    .regex(/^[a-z_]{1,60}$/)
    .optional()
    .describe('For the login page: `link` when the link was refused, or the code of a refused sign-in'),
});

function installLoginLink(app: RouteApp, deps: LoginDeps): void {
  app.route({
    method: 'GET',
    url: '/login',
    // A HEAD, as link previews send it, must not use the link up.
    exposeHeadRoute: false,
    config: { public: true },
    schema: {
      tags: ['session'],
      summary: 'Use a one-time login link',
      querystring: linkQuery,
      response: {
        200: z.string().describe('The login page, for a browser without a code'),
        303: z.null().describe('Logged in'),
        ...publicProblems(401),
      },
    },
    handler: async (request, reply) => {
      const { code, to } = request.query;
      if (code === undefined) return answerWithoutCode(request, reply, deps.sendPage);
      try {
        const value = await startSession(deps.db, code, request.headers['user-agent']);
        setSessionCookie(request, reply, {
          value,
          maxAgeSeconds: sessionLifetimeSeconds,
          isHttps: deps.isHttps,
        });
        return reply.redirect(ownPath(to), 303);
      } catch (error) {
        // A person gets a page that explains it, a program gets the problem document.
        const refused = isSluiceError(error) && error.code === 'login_link_refused';
        if (refused && wantsPage(request)) return reply.redirect(refusedPath('link', to), 303);
        throw error;
      }
    },
  });
}

function answerWithoutCode(request: FastifyRequest, reply: FastifyReply, sendPage: SendPage): FastifyReply {
  if (wantsPage(request)) return sendPage(request, reply);
  throw apiErrors.raise.malformed_request('/query/code: the code of a login link is missing');
}

const sessionReply = z
  .object({
    user_id: z.string(),
    tenant_id: z.string(),
    role: z.enum(roles),
    expires_in_seconds: z
      .int()
      .describe('The session’s lifetime: 12 hours, or less if the token ends before'),
  })
  .meta({ id: 'Session' });

function installSessionByToken(app: RouteApp, { authenticator, isHttps }: LoginDeps): void {
  app.route({
    method: 'POST',
    url: '/api/session',
    config: { public: true },
    schema: {
      tags: ['session'],
      summary: 'Start a session with a token or an API key; the response sets the cookie',
      body: z.strictObject({
        token: z.string().min(1).max(8_000).describe('A JSON Web Token or an API key'),
      }),
      response: { 201: sessionReply, ...publicProblems(401, 403, 413, 415) },
    },
    // Checked before the body is read: another site must not log its visitor in under an account of its choice.
    onRequest: async (request) => refuseForeignPage(request),
    handler: async (request, reply) => {
      const started = await authenticator.startSession(
        request.body.token.trim(),
        request.headers['user-agent'],
      );
      const { principal, lifetimeSeconds } = started;
      setSessionCookie(request, reply, { value: started.session, maxAgeSeconds: lifetimeSeconds, isHttps });
      const shown = { ...shownAs(sessionReply, principal), expires_in_seconds: lifetimeSeconds };
      return reply.code(201).send(shown);
    },
  });
}

export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { value, maxAgeSeconds, isHttps }: { value: string; maxAgeSeconds: number; isHttps: boolean },
): void {
  const secure = isHttps || request.protocol === 'https';
  reply.header('set-cookie', writeSessionCookie({ value, maxAgeSeconds, secure }));
}

/** The login page, saying why. */
export function refusedPath(refused: string, to: string | undefined): string {
  const query = new URLSearchParams({ refused });
  if (ownPath(to) !== '/') query.set('to', ownPath(to));
  return `/login?${query}`;
}

/**
 * A path of this server, or `/`. Browsers read `//host`, `/\host` and paths with tabs or line feeds in them as other
 * servers, so the URL parser decides, with the same rules as theirs.
 */
export function ownPath(to: string | undefined): string {
  const nowhere = 'http://nowhere.invalid';
  if (to === undefined || !to.startsWith('/') || !URL.canParse(to, nowhere)) return '/';
  const url = new URL(to, nowhere);
  const isOwn = url.origin === nowhere && !url.pathname.startsWith('//');
  return isOwn ? `${url.pathname}${url.search}${url.hash}` : '/';
}
