import type { ClientAuth, Configuration } from 'openid-client';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import type { Clock } from '../../../lib/timing/clock.ts';
import { oidcErrors } from './errors.ts';
import { isSafe } from './settings.ts';

export interface ProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  scopes: string;
  groupsClaim: string;
}

/** What must be remembered between the two halves of a sign-in, where nobody can read or change it. */
export interface SignInMemory {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

export type Claims = Record<string, unknown>;

export interface OidcProvider {
  /** Where to send the person, and what to remember until they come back. */
  begin(redirectUri: string): Promise<{ url: string; memory: SignInMemory }>;
  /** Checks what they come back with. `query` is that of the callback, as it arrived. */
  finish(query: string, memory: SignInMemory): Promise<Claims>;
}

const timeoutSeconds = 10;
const clockToleranceSeconds = 30;
/** For as long the provider's description counts; a new address of an endpoint is found without a restart. */
const descriptionMs = 3_600_000;

type Library = typeof import('openid-client');

/** Authorization code flow with PKCE, state and nonce. The provider is asked at the first sign-in, not at the start. */
export function createOidcProvider(settings: ProviderSettings, clock: Clock): OidcProvider {
  let known: { untilMs: number; described: Promise<Configuration> } | null = null;

  function describe(library: Library): Promise<Configuration> {
    if (known && known.untilMs > clock.nowMs()) return known.described;
    const described = discover(library, settings);
    const entry = { untilMs: clock.nowMs() + descriptionMs, described };
    known = entry;
    // A provider that was down is asked again.
    described.catch(() => {
      if (known === entry) known = null;
    });
    return described;
  }

  return {
    async begin(redirectUri) {
      const library = await loadLibrary();
      return guarded(async () => {
        const provider = await describe(library);
        const memory = {
          state: library.randomState(),
          nonce: library.randomNonce(),
          verifier: library.randomPKCECodeVerifier(),
          redirectUri,
        };
        const url = library.buildAuthorizationUrl(provider, {
          redirect_uri: redirectUri,
          scope: settings.scopes,
          state: memory.state,
          nonce: memory.nonce,
          code_challenge: await library.calculatePKCECodeChallenge(memory.verifier),
          code_challenge_method: 'S256',
        });
        return { url: url.href, memory };
      });
    },
    async finish(query, memory) {
      const library = await loadLibrary();
      return guarded(async () => {
        const provider = await describe(library);
        const tokens = await library.authorizationCodeGrant(
          provider,
          new URL(`${memory.redirectUri}?${query}`),
          {
            pkceCodeVerifier: memory.verifier,
            expectedState: memory.state,
            expectedNonce: memory.nonce,
            idTokenExpected: true,
          },
        );
        const claims: Claims = { ...tokens.claims() };
        const isComplete = claimAt(claims, settings.groupsClaim) !== undefined;
        if (isComplete || provider.serverMetadata().userinfo_endpoint === undefined) return claims;
        const more = await library.fetchUserInfo(provider, tokens.access_token, String(claims.sub));
        return { ...more, ...claims };
      });
    },
  };
}

/** By its name, or by dots through objects: names of claims may have dots of their own. */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split('.').reduce<unknown>((found, part) => {
    const isObject = typeof found === 'object' && found !== null && Object.hasOwn(found, part);
    return isObject ? (found as Claims)[part] : undefined;
  }, claims);
}

/** Only a server that uses it loads it. */
function loadLibrary(): Promise<Library> {
  return import('openid-client');
}

async function discover(library: Library, settings: ProviderSettings): Promise<Configuration> {
  const { issuer, clientId, clientSecret } = settings;
  // The signature of the ID token is checked too, although it comes straight from the provider.
  const strict = [library.enableNonRepudiationChecks];
  if (new URL(issuer).protocol === 'http:' && isSafe(new URL(issuer)))
    strict.push(library.allowInsecureRequests);
  const options = { execute: strict, timeout: timeoutSeconds };
  const server = (
    await library.discovery(new URL(issuer), clientId, undefined, undefined, options)
  ).serverMetadata();
  const client = {
    ...(clientSecret === null ? {} : { client_secret: clientSecret }),
    [library.clockTolerance]: clockToleranceSeconds,
  };
  const auth = authenticationOf(library, clientSecret, server.token_endpoint_auth_methods_supported);
  const provider = new library.Configuration(server, clientId, client, auth);
  provider.timeout = timeoutSeconds;
  for (const apply of strict) apply(provider);
  return provider;
}

/** Basic is what a provider supports that does not say. */
function authenticationOf(
  library: Library,
  secret: string | null,
  supported: readonly string[] = ['client_secret_basic'],
): ClientAuth {
  if (secret === null) return library.None();
  const isBasic = supported.includes('client_secret_basic') || !supported.includes('client_secret_post');
  return isBasic ? library.ClientSecretBasic(secret) : library.ClientSecretPost(secret);
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toOidcError(error);
  }
}

/** Says what went wrong without quoting tokens: the library's messages are fixed sentences, and codes are checked. */
function toOidcError(error: unknown): SluiceError {
  if (isSluiceError(error)) return error;
  const { raise } = oidcErrors;
  const { code, error: refusal, status } = error as { code?: unknown; error?: unknown; status?: unknown };
  if (isUnavailable(error)) {
    return raise.oidc_provider_unavailable('The login provider did not respond properly', {
      cause: error,
      retryAfterSeconds: 30,
    });
  }
  if (
    typeof refusal === 'string' &&
    (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' || status !== undefined)
  ) {
    const named = /^[\w.-]{1,60}$/.test(refusal) ? refusal : 'an error without a proper code';
    return raise.oidc_provider_refused(`The login provider reported ${named}`, { cause: error });
  }
  const reason = code === undefined ? '' : `: ${messageOf(error)}`;
  return raise.oidc_response_invalid(`What the login provider sent did not pass the checks${reason}`, {
    cause: error,
  });
}

function isUnavailable(error: unknown): boolean {
  const { code, cause, status } = error as { code?: unknown; cause?: unknown; status?: unknown };
  if (code === 'OAUTH_TIMEOUT' || (error instanceof TypeError && error.message === 'fetch failed'))
    return true;
  // A page where a document should be: a proxy in between, or another server.
  if (cause instanceof Response) return true;
  if (typeof status === 'number' && (status >= 500 || status === 429)) return true;
  return cause instanceof Error && isUnavailable(cause);
}
