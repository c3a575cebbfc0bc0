import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isSluiceError } from '../../lib/errors.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { createTokenVerifier, mintToken, type TokenSettings } from './tokens.ts';

const settings: TokenSettings = { secret: 'x'.repeat(32), issuer: 'us', audience: 'them', jwksUrl: null };
const options = { tenantId: 't', userId: 'u', role: 'admin', lifetimeSeconds: 60 } as const;

async function outcomeOf(
  token: string,
  changed: Partial<TokenSettings> = {},
  nowMs?: number,
): Promise<string> {
  const clock = nowMs === undefined ? systemClock : { nowMs: () => nowMs };
  try {
    const principal = await createTokenVerifier({ ...settings, ...changed }, clock).verify(token);
    return `${principal.userId}@${principal.tenantId} ${principal.role}`;
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    expect(error.message).not.toContain(token);
    return `${error.code}: ${error.message}`;
  }
}

function signClaims(claims: JWTPayload): Promise<string> {
  return new SignJWT({ sub: 'u', tenant_id: 't', role: 'admin', iss: 'us', aud: 'them', ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1m')
    .sign(new TextEncoder().encode(settings.secret));
}

describe('a token', () => {
  test('a token that was minted is accepted, with name and e-mail', async () => {
    const token = await mintToken(settings, { ...options, name: 'Ada', email: 'ada@example.com' });
    const principal = await createTokenVerifier(settings, systemClock).verify(token);
    expect(principal).toEqual({
      tenantId: 't',
      userId: 'u',
      role: 'admin',
      via: 'token',
      name: 'Ada',
      email: 'ada@example.com',
    });
  });

  test('is accepted up to 30 seconds after its end and not longer', async () => {
    const token = await mintToken(settings, options);
    const endMs = (decodeJwt(token).exp ?? 0) * 1000;
    expect(await outcomeOf(token, {}, endMs + 28_000)).toBe('u@t admin');
    expect(await outcomeOf(token, {}, endMs + 33_000)).toBe(
      'invalid_token: The token has expired (claim exp)',
    );
  });

  test('is ordered by iat; without one by exp, before all that have one; one from the future is from now', async () => {
    const nowMs = Date.now();
    const verifier = createTokenVerifier(settings, { nowMs: () => nowMs });
    const issuedAtMs = async (iat?: number) => {
      const token = await signClaims(iat === undefined ? {} : { iat });
      return (await verifier.verifyWithTimes(token)).issuedAtMs;
    };
    const nowSeconds = Math.floor(nowMs / 1000);
    expect(await issuedAtMs(nowSeconds - 60)).toBe((nowSeconds - 60) * 1000);
    expect(await issuedAtMs(nowSeconds + 86_400)).toBe(nowMs);
    expect(await issuedAtMs()).toBeLessThan((nowSeconds - 10 * 365 * 86_400) * 1000);
  });

  test('without an end is refused', async () => {
    const token = await new SignJWT({ sub: 'u', tenant_id: 't', role: 'admin', iss: 'us', aud: 'them' })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(settings.secret));
    expect(await outcomeOf(token)).toBe('invalid_token: The token’s claim exp is missing');
  });

  test.each([
    [{ role: 'root' }, /role must be one of member, admin/],
    [{ role: 7 }, /role must be one of/],
    [{ sub: '' }, /claim sub must be text of 1 to 200/],
    [{ sub: 'api_key:1' }, /sub must not begin with api_key:/],
    [{ tenant_id: '' }, /claim tenant_id must be text/],
    [{ tenant_id: 7 }, /claim tenant_id must be text/],
    [{ tenant_id: ['t'] }, /claim tenant_id must be text/],
    [{ tenant_id: 'a\0b' }, /claim tenant_id must be text/],
    [{ tenant_id: 'a\nb' }, /claim tenant_id must be text/],
    [{ tenant_id: 'a\ud800' }, /claim tenant_id must be text/],
    [{ tenant_id: 'x'.repeat(201) }, /claim tenant_id must be text/],
    [{ iss: 'other' }, /claim iss has the wrong value/],
    [{ aud: 'other' }, /claim aud has the wrong value/],
    [{ nbf: Math.floor(Date.now() / 1000) + 3600 }, /claim nbf has the wrong value/],
  ])('with the claim %j is refused in words', async (claims, words) => {
    expect(await outcomeOf(await signClaims(claims as JWTPayload))).toMatch(words);
  });

  test('with a tenant id of 200 characters beyond the basic plane is accepted', async () => {
    const tenantId = '🜁'.repeat(200);
    expect(await outcomeOf(await signClaims({ tenant_id: tenantId }))).toBe(`u@${tenantId} admin`);
  });

  test('is refused when its algorithm is not HS256 and no key URL is set', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const token = await new SignJWT({ sub: 'u', tenant_id: 't', role: 'admin', iss: 'us', aud: 'them' })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1m')
      .sign(privateKey);
    expect(await outcomeOf(token)).toBe(
      'invalid_token: The token’s algorithm is not accepted; allowed: HS256',
    );
  });
});

describe('with a key URL', () => {
  const state = { url: '', keys: [] as object[], status: 200 };
  const keyServer = createServer((_request, answer) => {
    answer.writeHead(state.status, { 'content-type': 'application/json' });
    answer.end(JSON.stringify({ keys: state.keys }));
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
    state.url = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`;
  });
  afterAll(() => {
    keyServer.close();
    keyServer.closeAllConnections();
  });

  async function signedBy(alg: 'RS256' | 'ES256' | 'PS256', { publish = true } = {}): Promise<string> {
    const { publicKey, privateKey } = await generateKeyPair(alg);
    if (publish) state.keys = [{ ...(await exportJWK(publicKey)), alg, kid: alg }];
    return new SignJWT({ sub: 'u', tenant_id: 't', role: 'member', iss: 'us', aud: 'them' })
      .setProtectedHeader({ alg, kid: alg })
      .setExpirationTime('1m')
      .sign(privateKey);
  }

  test.each(['RS256', 'ES256'] as const)('%s tokens of the published key are accepted', async (alg) => {
    expect(await outcomeOf(await signedBy(alg), { jwksUrl: state.url })).toBe('u@t member');
  });

  test('a token of another key with the same id is refused', async () => {
    await signedBy('RS256');
    const forged = await signedBy('RS256', { publish: false });
    expect(await outcomeOf(forged, { jwksUrl: state.url })).toMatch(/^invalid_token: The token’s signature/);
  });

  test('an algorithm that is not pinned is refused even if its key is published', async () => {
    expect(await outcomeOf(await signedBy('PS256'), { jwksUrl: state.url })).toMatch(
      /algorithm is not accepted/,
    );
  });

  test('an HS256 token signed with the published key as secret is refused', async () => {
    await signedBy('RS256');
    const confused = await new SignJWT({ sub: 'u', tenant_id: 't', role: 'admin', iss: 'us', aud: 'them' })
      .setProtectedHeader({ alg: 'HS256', kid: 'RS256' })
      .setExpirationTime('1m')
      .sign(new TextEncoder().encode(JSON.stringify(state.keys[0])));
    expect(await outcomeOf(confused, { jwksUrl: state.url })).toMatch(
      /^invalid_token: The token’s signature/,
    );
  });

  test('keys that cannot be fetched make it 503, not 401', async () => {
    const token = await signedBy('RS256');
    state.status = 500;
    expect(await outcomeOf(token, { jwksUrl: state.url })).toMatch(/^identity_provider_unavailable/);
    state.status = 200;
    expect(await outcomeOf(token, { jwksUrl: 'http://127.0.0.1:9/keys' })).toMatch(
      /^identity_provider_unavailable/,
    );
  });
});
