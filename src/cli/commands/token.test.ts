import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { decodeJwt } from 'jose';
import { describe, expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../test/support/servers/command-line.ts';
import { createTokenVerifier } from '../../kernel/tenancy/tokens.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { parseDurationSeconds } from './token.ts';

// Some of the commands run as separate processes.
vi.setConfig({ testTimeout: 90_000 });

const sluice = useCommandLine();
const names = { issuer: 'sluice', audience: 'sluice', jwksUrl: null };

describe('sluice token', () => {
  test('five first calls at once on an empty directory sign with one secret, which is stored there', async () => {
    const args = ['token', '--tenant', 't', '--role', 'admin', '--data-dir', 'shared'];
    const results = await Promise.all(Array.from({ length: 5 }, () => sluice.run(args)));
    const secret = (await readFile(path.join(sluice.cwd, 'shared/jwt.secret'), 'utf8')).trim();
    const verifier = createTokenVerifier({ ...names, secret }, systemClock);
    for (const { code, stdout, stderr } of results) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
      const principal = await verifier.verify(stdout.trim());
      expect(principal).toMatchObject({ tenantId: 't', role: 'admin', userId: 'cli' });
    }
  });

  test('a configured secret, user and lifetime are used', async () => {
    const secret = 'a-configured-secret-of-32-bytes!!';
    const args = ['token', '--tenant', 'ünï "t"', '--role', 'operator', '--sub', 'ann', '--ttl', '30d'];
    const { stdout } = await sluice.runHere(args, { SLUICE_JWT_SECRET: secret });
    const verifier = createTokenVerifier({ ...names, secret }, systemClock);
    expect(await verifier.verify(stdout.trim())).toMatchObject({
      tenantId: 'ünï "t"',
      userId: 'ann',
      role: 'operator',
    });
    const { iat = 0, exp = 0 } = decodeJwt(stdout.trim());
    expect(exp - iat).toBe(30 * 86_400);
  });

  test('with only a JWKS URL no token can be signed, and the message says so', async () => {
    const args = ['token', '--tenant', 't', '--role', 'admin'];
    const { code, stdout, stderr } = await sluice.runHere(args, {
      SLUICE_JWKS_URL: 'https://login.example.com/jwks',
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('SLUICE_JWT_SECRET');
  });

  test.each([
    { args: ['--role', 'admin'], says: '--tenant' },
    { args: ['--tenant', 't'], says: '--role' },
    { args: ['--tenant', 't', '--role', 'king'], says: 'member, admin, support, service, operator' },
    { args: ['--tenant', 't', '--role', 'admin', '--ttl', 'soon'], says: 'from 1s to 3650d' },
    { args: ['--tenant', 'x'.repeat(201), '--role', 'admin'], says: '1 to 200 characters' },
  ])('wrong usage %j ends with 2 and says what is allowed', async ({ args, says }) => {
    const { code, stdout, stderr } = await sluice.runHere(['token', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
  });
});

test('a lifetime is a number with a unit', () => {
  expect(['90s', '15m', '12h', '30d'].map(parseDurationSeconds)).toEqual([90, 900, 43_200, 2_592_000]);
  for (const wrong of ['0s', '1', '1w', '-1d', '3651d', '1.5h']) {
    expect(() => parseDurationSeconds(wrong)).toThrow('Allowed');
  }
});
