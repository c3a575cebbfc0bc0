import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { can, rolesAllowed } from '../../kernel/tenancy/rights.ts';
import type { Authenticator } from '../../kernel/tenancy/service.ts';
import type { Principal } from '../../kernel/tenancy/types.ts';
import { isSluiceError } from '../../lib/errors.ts';
import { apiErrors } from '../errors.ts';
import { readCookie, sessionCookie } from './cookies.ts';
import type { RateLimiter } from './rate-limit.ts';

export interface AuthenticationOptions {
  authenticator: Authenticator;
  /** Of one client: a user, a key or an address. */
  limiter: RateLimiter;
  /** Of all users and keys of a tenant: a tenant can have any number of keys. */
  tenantLimiter: RateLimiter;
}

/**
 * Decides who is asking and whether the role allows it, before a byte of the body is read, and applies the limit of
 * that client. Failed logins are counted by address, so that keys cannot be guessed without limit.
 */
export function installAuthentication(
  app: FastifyInstance,
  { authenticator, limiter, tenantLimiter }: AuthenticationOptions,
): void {
  app.decorateRequest('principal', null);
  app.addHook('onRequest', async (request, reply) => {
    const { action, unlimited } = request.routeOptions.config;
    if (action === undefined) {
      if (!unlimited) limiter.take(addressOf(request), reply);
      return;
    }
    const principal = await authenticate(request, reply, { authenticator, limiter });
    request.principal = principal;
    limiter.take(`user ${principal.tenantId}\0${principal.userId}`, reply);
    tenantLimiter.take(principal.tenantId, reply);
    if (can(principal.role, action)) return;
    throw apiErrors.raise.forbidden(
      `The role ${principal.role} does not have the right ${action}; allowed: ${rolesAllowed(action).join(', ')}`,
    );
  });
}

/** The principal of a request's credentials; a bearer value counts before the cookie. */
export async function identify(request: FastifyRequest, authenticator: Authenticator): Promise<Principal> {
  const header = request.headers.authorization;
  if (header !== undefined) {
    const bearer = /^Bearer +([^\s]+) *$/i.exec(header)?.[1];
    if (bearer !== undefined) return authenticator.fromBearer(bearer);
    throw apiErrors.raise.unauthenticated('The Authorization header is not of the form `Bearer <token>`');
  }
  const session = readCookie(request.headers.cookie, sessionCookie);
  if (session === null)
    throw apiErrors.raise.unauthenticated('The request carries no token, API key or session');
  const principal = await authenticator.fromSession(session);
  refuseCrossSite(request);
  return principal;
}

async function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  { authenticator, limiter }: { authenticator: Authenticator; limiter: RateLimiter },
): Promise<Principal> {
  try {
    return await identify(request, authenticator);
  } catch (error) {
    if (isSluiceError(error) && error.definition.status < 500) limiter.take(addressOf(request), reply);
    throw error;
  }
}

/** A browser sends the cookie for any page; so a change needs a header in which it confirms that ours asked. */
function refuseCrossSite(request: FastifyRequest): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  if (isFromOwnPage(request)) return;
  throw apiErrors.raise.cross_site_request('A session may change things only from a page of this server');
}

/** For the login, which programs may use too: they send neither header, while a browser sends one of them. */
export function refuseForeignPage(request: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if ((origin === undefined && site === undefined) || isFromOwnPage(request)) return;
  throw apiErrors.raise.cross_site_request('A session may be started only from a page of this server');
}

function isFromOwnPage(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  return site !== undefined ? site === 'same-origin' : isOwnOrigin(request);
}

function isOwnOrigin(request: FastifyRequest): boolean {
  const { origin } = request.headers;
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === request.host;
}

function addressOf(request: FastifyRequest): string {
  return `address ${request.ip}`;
}
