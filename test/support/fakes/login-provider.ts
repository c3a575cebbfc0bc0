import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { decodeJwt, type JWTPayload, SignJWT } from 'jose';
import { type ClientMetadata, Provider } from 'oidc-provider';
import { afterAll, beforeAll } from 'vitest';
import { listenApart } from './ports.ts';

export interface Person {
  sub: string;
  groups?: string[];
  name?: string;
  email?: string;
  [claim: string]: unknown;
}

export interface LoginProvider {
  /** Its address without a slash at the end. */
  readonly issuer: string;
  readonly client: { id: string; secret: string };
  /** Who sits at the browser: the provider asks nobody for a password. Null: the person declines. */
  person: Person | null;
  /** Changes the claims of the next ID tokens; they are signed with the provider's key, or with the one given. */
  forge: { change(claims: JWTPayload): JWTPayload; key?: KeyObject } | null;
  /** Where people may be sent back to. */
  allowRedirect(uri: string): void;
  down(): Promise<void>;
  up(): Promise<void>;
}

/** A real OpenID Connect provider (the npm package oidc-provider) on this machine. */
export function useLoginProvider(): LoginProvider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' };
  const client = { id: 'sluice', secret: 'the secret of the client at the provider' };
  const redirects: string[] = [];
  let port = 0;
  let handle: Handler | null = null;
  const server = createServer((request, response) => {
    // Not before the first request: by then it is known where people may be sent back to.
    handle ??= handlerOf(shown, { jwk, redirects, privateKey });
    void handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const shown: LoginProvider & { issuer: string } = {
    issuer: '',
    client,
    person: { sub: 'ada', groups: [] },
    forge: null,
    allowRedirect: (uri) => void redirects.push(uri),
    up: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
    down: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  beforeAll(async () => {
    port = await listenApart(server);
    shown.issuer = `http://127.0.0.1:${port}`;
  });
  afterAll(() => shown.down());
  return shown;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function handlerOf(
  shown: LoginProvider,
  { privateKey, ...options }: { jwk: object; redirects: string[]; privateKey: KeyObject },
): Handler {
  const provider = createProvider(shown, options);
  forgeIdTokens(provider, shown, privateKey);
  const answer = provider.callback();
  const interact = interactionHandler(provider, shown);
  return async (request, response) => {
    if (request.url?.startsWith('/interaction/')) await interact(request, response);
    else await answer(request, response);
  };
}

function createProvider(
  shown: LoginProvider,
  { jwk, redirects }: { jwk: object; redirects: string[] },
): Provider {
  const client: ClientMetadata = {
    client_id: shown.client.id,
    client_secret: shown.client.secret,
    redirect_uris: redirects,
    grant_types: ['authorization_code'],
    response_types: ['code'],
  };
  return new Provider(shown.issuer, {
    clients: [client],
    jwks: { keys: [jwk as never] },
    cookies: { keys: ['a key of the tests'] },
    scopes: ['openid', 'profile', 'email', 'groups'],
    claims: {
      openid: ['sub'],
      profile: ['name'],
      email: ['email', 'email_verified'],
      groups: ['groups', 'org'],
    },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...shown.person, sub }) }),
    // Everybody agrees to share their claims.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId,
        accountId: oidc.session?.accountId,
      });
      grant.addOIDCScope('openid profile email groups');
      await grant.save();
      return grant;
    },
  });
}

function interactionHandler(provider: Provider, shown: LoginProvider) {
  return (request: IncomingMessage, response: ServerResponse) =>
    provider.interactionFinished(
      request,
      response,
      shown.person === null
        ? { error: 'access_denied', error_description: 'The person declined' }
        : { login: { accountId: shown.person.sub } },
    );
}

function forgeIdTokens(provider: Provider, shown: LoginProvider, own: KeyObject): void {
  provider.use(async (context, next) => {
    await next();
    const body = context.body as { id_token?: string } | undefined;
    if (shown.forge === null || typeof body?.id_token !== 'string') return;
    const claims = shown.forge.change(decodeJwt(body.id_token));
    const forged = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' });
    context.body = { ...body, id_token: await forged.sign(shown.forge.key ?? own) };
  });
}
