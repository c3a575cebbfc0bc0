import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Nothing inline and nothing from elsewhere; styles with the nonce as well, where a page has one. */
function policyOf({ nonce }: { nonce?: string }): string {
  return [
    "default-src 'self'",
    "script-src 'self'",
    nonce === undefined ? "style-src 'self'" : `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** For the console's page, which makes styles in the browser and marks them with the nonce it was sent with. */
export function consolePolicy(nonce: string): string {
  return policyOf({ nonce });
}

const headers = {
  'content-security-policy': policyOf({}),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** First of all hooks, so that refusals carry the headers too. */
export function installSecurityHeaders(app: FastifyInstance, options: { isHttps: boolean }): void {
  app.addHook('onRequest', async (request, reply) => writeSecurityHeaders(request, reply, options));
}

/** For responses that are sent before any hook runs. */
export function writeSecurityHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  { isHttps }: { isHttps: boolean },
): void {
  reply.headers(headers);
  reply.header('x-request-id', request.id);
  if (isHttps || request.protocol === 'https') {
    reply.header('strict-transport-security', 'max-age=31536000; includeSubDomains');
  }
  // Responses belong to one caller, and no cache in between may keep a login.
  if (/^\/(api|login|health|metrics)(\/|\?|$)/.test(request.url)) reply.header('cache-control', 'no-store');
}
