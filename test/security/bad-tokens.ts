import { generateKeyPairSync } from 'node:crypto';
import { exportSPKI, SignJWT } from 'jose';
import { testTokens } from '../support/servers/server.ts';

/** Whom the forged tokens claim to be: an existing user with all rights. */
export interface Claimed {
  tenantId: string;
  userId: string;
}

/** What may not be let in, by name; null is no token at all. */
export const badTokens: Record<string, (claimed: Claimed) => Promise<string | null>> = {
  'no token': async () => null,
  'an expired token': (claimed) => sign(claimed, { expiresInSeconds: -60 }),
  'an unsigned token (alg none)': async (claimed) => unsigned(claimed),
  'a token of another algorithm (HS512)': (claimed) => sign(claimed, { algorithm: 'HS512' }),
  'a token signed with another key': (claimed) =>
    sign(claimed, { secret: 'some other secret, also long enough' }),
  'a token whose signature was cut off': async (claimed) => (await sign(claimed)).replace(/[^.]+$/, ''),
  'a token whose claims were exchanged': exchanged,
  'a token for another audience': (claimed) => sign(claimed, { audience: 'somebody-else' }),
  'a token of another issuer': (claimed) => sign(claimed, { issuer: 'somebody-else' }),
  'a token without tenant_id': (claimed) => sign(claimed, { claims: { role: 'operator' } }),
  'an RS256 token, though no keys are configured': ({ tenantId, userId }) =>
    new SignJWT({ tenant_id: tenantId, role: 'operator' })
      .setProtectedHeader({ alg: 'RS256' })
      .setSubject(userId)
      .setIssuer(testTokens.issuer)
      .setAudience(testTokens.audience)
      .setExpirationTime('10m')
      .sign(privateKey),
  'an HS256 token signed with a public key as secret': async (claimed) =>
    sign(claimed, { secret: await exportSPKI(publicKey) }),
  'an unknown API key': async () => `slk_${'A'.repeat(43)}`,
  'a broken API key': async () => 'slk_short',
  'no token at all behind Bearer': async () => 'QQQQ',
};

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

interface Parts {
  claims?: Record<string, unknown>;
  issuer?: string;
  audience?: string;
  expiresInSeconds?: number;
  secret?: string;
  algorithm?: string;
}

/** Valid except for the given fields. */
function sign({ tenantId, userId }: Claimed, parts: Parts = {}): Promise<string> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const key = new TextEncoder().encode(parts.secret ?? testTokens.secret);
  return new SignJWT(parts.claims ?? { tenant_id: tenantId, role: 'operator' })
    .setProtectedHeader({ alg: parts.algorithm ?? 'HS256' })
    .setSubject(userId)
    .setIssuer(parts.issuer ?? testTokens.issuer)
    .setAudience(parts.audience ?? testTokens.audience)
    .setExpirationTime(nowSeconds + (parts.expiresInSeconds ?? 600))
    .sign(key);
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function unsigned(claimed: Claimed): string {
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(payloadOf(claimed))}.`;
}

/** A valid token of another user whose claims were replaced under its signature. */
async function exchanged(claimed: Claimed): Promise<string> {
  const own = await sign({ tenantId: 'somebody', userId: 'somebody' });
  const [header, , signature] = own.split('.');
  return `${header}.${encode(payloadOf(claimed))}.${signature}`;
}

function payloadOf({ tenantId, userId }: Claimed): object {
  const { issuer, audience } = testTokens;
  const exp = Math.floor(Date.now() / 1000) + 600;
  return { sub: userId, tenant_id: tenantId, role: 'operator', iss: issuer, aud: audience, exp };
}
