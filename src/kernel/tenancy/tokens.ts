import {
  type CryptoKey,
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Clock } from '../../lib/timing/clock.ts';
import { tenancyErrors } from './errors.ts';
import {
  apiKeyUserPrefix,
  idMaxLength,
  isRole,
  isUsableId,
  type Principal,
  type Role,
  roles,
} from './types.ts';

export interface TokenSettings {
  /** For HS256. */
  secret: string;
  issuer: string;
  audience: string;
  /** For RS256 and ES256; null: such tokens are refused. */
  jwksUrl: string | null;
}

export interface VerifiedToken {
  principal: Principal;
  expiresAtMs: number;
  /** Orders the tokens of one user: the role of the newest one counts. */
  issuedAtMs: number;
}

export interface TokenVerifier {
  verify(token: string): Promise<Principal>;
  verifyWithTimes(token: string): Promise<VerifiedToken>;
}

const clockToleranceSeconds = 30;
const keyFetch = { timeoutDuration: 5_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 };

/**
 * The algorithm decides which key may be used, never the token: an HS256 token is only ever checked with the secret,
 * so a public key cannot be passed off as one.
 */
export function createTokenVerifier(settings: TokenSettings, clock: Clock): TokenVerifier {
  // Imported once: as bytes it would be imported for every token, which costs as much as the check.
  const secretKey = importSecret(settings.secret, 'verify');
  const remoteKeys =
    settings.jwksUrl === null ? null : createRemoteJWKSet(new URL(settings.jwksUrl), keyFetch);

  async function verifySignature(token: string): Promise<JWTPayload> {
    const options: JWTVerifyOptions = {
      issuer: settings.issuer,
      audience: settings.audience,
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ['exp', 'sub', 'tenant_id', 'role'],
      currentDate: new Date(clock.nowMs()),
    };
    const algorithm = algorithmOf(token);
    if (algorithm === 'HS256') {
      return (await jwtVerify(token, await secretKey, { ...options, algorithms: ['HS256'] })).payload;
    }
    if ((algorithm === 'RS256' || algorithm === 'ES256') && remoteKeys) {
      return (await jwtVerify(token, remoteKeys, { ...options, algorithms: ['RS256', 'ES256'] })).payload;
    }
    const allowed = remoteKeys ? 'HS256, RS256 and ES256' : 'HS256';
    throw tenancyErrors.raise.invalid_token(`The token’s algorithm is not accepted; allowed: ${allowed}`);
  }

  async function verifyWithTimes(token: string): Promise<VerifiedToken> {
    try {
      const claims = await verifySignature(token);
      const expiresAtMs = Number(claims.exp) * 1000;
      const issuedAtMs = issuedAtMsOf(claims, { expiresAtMs, nowMs: clock.nowMs() });
      return { principal: principalOf(claims), expiresAtMs, issuedAtMs };
    } catch (error) {
      throw toTokenError(error);
    }
  }

  return {
    verifyWithTimes,
    verify: async (token) => (await verifyWithTimes(token)).principal,
  };
}

export interface MintOptions {
  tenantId: string;
  userId: string;
  role: Role;
  lifetimeSeconds: number;
  name?: string;
  email?: string;
  groups?: readonly string[];
}

/** A token signed with the secret, for the command line and tests. */
export async function mintToken(
  settings: Pick<TokenSettings, 'secret' | 'issuer' | 'audience'>,
  options: MintOptions,
): Promise<string> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const claims: JWTPayload = { tenant_id: options.tenantId, role: options.role };
  if (options.name !== undefined) claims.name = options.name;
  if (options.email !== undefined) claims.email = options.email;
  if (options.groups !== undefined) claims.groups = options.groups;
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(options.userId)
    .setIssuer(settings.issuer)
    .setAudience(settings.audience)
    .setIssuedAt(nowSeconds)
    .setExpirationTime(nowSeconds + options.lifetimeSeconds)
    .sign(await importSecret(settings.secret, 'sign'));
}

function importSecret(secret: string, use: 'sign' | 'verify'): Promise<CryptoKey> {
  const bytes = new TextEncoder().encode(secret);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [use]);
}

function algorithmOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).alg;
  } catch {
    throw tenancyErrors.raise.invalid_token('The bearer value is not a JSON Web Token');
  }
}

function principalOf(claims: JWTPayload): Principal {
  const role = claims.role;
  if (typeof role !== 'string' || !isRole(role)) {
    throw tenancyErrors.raise.invalid_token(`The token’s claim role must be one of ${roles.join(', ')}`);
  }
  const userId = idClaim(claims, 'sub');
  if (userId.startsWith(apiKeyUserPrefix)) {
    throw tenancyErrors.raise.invalid_token(`The token’s claim sub must not begin with ${apiKeyUserPrefix}`);
  }
  const principal: Principal = { tenantId: idClaim(claims, 'tenant_id'), userId, role, via: 'token' };
  const name = describingClaim(claims, 'name');
  const email = describingClaim(claims, 'email');
  if (name !== undefined) principal.name = name;
  if (email !== undefined) principal.email = email;
  const groups = groupsOf(claims);
  if (groups.length > 0) principal.groups = groups;
  return principal;
}

const twentyYearsMs = 20 * 365 * 86_400_000;

/**
 * A token from the future counts as issued now, so that it cannot outlast every later one. Tokens without `iat` are
 * ordered by `exp`, all of them before every token that has an `iat`.
 */
function issuedAtMsOf(
  { iat }: JWTPayload,
  { expiresAtMs, nowMs }: { expiresAtMs: number; nowMs: number },
): number {
  if (iat === undefined) return Math.min(expiresAtMs, nowMs + twentyYearsMs) - 2 * twentyYearsMs;
  return Math.max(0, Math.min(Math.round(iat * 1000), nowMs));
}

function idClaim(claims: JWTPayload, claim: string): string {
  const value = claims[claim];
  if (typeof value === 'string' && isUsableId(value)) return value;
  throw tenancyErrors.raise.invalid_token(
    `The token’s claim ${claim} must be text of 1 to ${idMaxLength} characters without control characters`,
  );
}

/** Name and e-mail are only shown: an unusable one is left out rather than refused. */
function describingClaim(claims: JWTPayload, claim: string): string | undefined {
  const value = claims[claim];
  return typeof value === 'string' && isUsableId(value) ? value : undefined;
}

const maxGroups = 1_000;

/** Unusable ones are left out: that shows less, never more. */
function groupsOf({ groups }: JWTPayload): string[] {
  if (!Array.isArray(groups)) return [];
  return groups
    .filter((group): group is string => typeof group === 'string' && isUsableId(group))
    .slice(0, maxGroups);
}

/** Quotes neither the token nor the library's message, which may quote what the caller sent. */
function toTokenError(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) {
    return tenancyErrors.raise.invalid_token('The token has expired (claim exp)', { cause: error });
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const problem = error.reason === 'missing' ? 'is missing' : 'has the wrong value';
    return tenancyErrors.raise.invalid_token(`The token’s claim ${error.claim} ${problem}`, { cause: error });
  }
  if (error instanceof errors.JWKSTimeout || isFetchFailure(error)) {
    return tenancyErrors.raise.identity_provider_unavailable(
      'The keys at SLUICE_JWKS_URL could not be fetched, so the token cannot be checked',
      { cause: error, retryAfterSeconds: 5 },
    );
  }
  if (error instanceof errors.JOSEError) {
    return tenancyErrors.raise.invalid_token('The token’s signature or form is not valid', { cause: error });
  }
  return error;
}

function isFetchFailure(error: unknown): boolean {
  if (error instanceof errors.JOSEError) return error.code === 'ERR_JOSE_GENERIC';
  return error instanceof TypeError && error.message === 'fetch failed';
}
