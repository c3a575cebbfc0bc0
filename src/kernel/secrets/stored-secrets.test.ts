import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decryptSecret, encryptSecret, needsRotation, parseSecretKeys } from './stored-secrets.ts';

const old = randomBytes(32).toString('hex');
const fresh = randomBytes(32).toString('base64');
const place = 'tenant-1/webhook/1';

test('any text comes back as it was, and never looks the same twice', () => {
  const keys = parseSecretKeys(fresh);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (secret) => {
      const stored = encryptSecret(keys, { secret, place });
      expect(decryptSecret(keys, { stored, place })).toBe(secret);
      expect(encryptSecret(keys, { secret, place })).not.toBe(stored);
    }),
    { numRuns: 50 },
  );
});

test('a new key in front encrypts, while the old one still decrypts what it encrypted', () => {
  const stored = encryptSecret(parseSecretKeys(old), { secret: 'x', place });
  const both = parseSecretKeys(`${fresh}, ${old}`);
  expect(decryptSecret(both, { stored, place })).toBe('x');
  expect(needsRotation(both, stored)).toBe(true);
  const again = encryptSecret(both, { secret: 'x', place });
  expect(needsRotation(both, again)).toBe(false);
  expect(decryptSecret(parseSecretKeys(fresh), { stored: again, place })).toBe('x');
});

test('a key that is gone, a changed text and another place are refused', () => {
  const keys = parseSecretKeys(old);
  const stored = encryptSecret(keys, { secret: 'value', place });
  const refused = expect.objectContaining({ code: 'secret_undecryptable' });
  const attempts = [
    () => decryptSecret(parseSecretKeys(fresh), { stored, place }),
    () => decryptSecret(keys, { stored, place: 'tenant-2/webhook/1' }),
    () => decryptSecret(keys, { stored: flipLastBit(stored), place }),
    () => decryptSecret(keys, { stored: 'value', place }),
    () => decryptSecret(keys, { stored: stored.slice(0, 30), place }),
  ];
  for (const attempt of attempts) expect(attempt).toThrow(refused);
});

test.each(['', ' , ', 'short', 'g'.repeat(64), `${old},nope`, 'a'.repeat(44)])(
  'the key list %j is malformed',
  (text) => {
    expect(() => parseSecretKeys(text)).toThrow(expect.objectContaining({ code: 'secret_key_malformed' }));
  },
);

function flipLastBit(stored: string): string {
  const [version, id, sealed = ''] = stored.split('.');
  const bytes = Buffer.from(sealed, 'base64url');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return [version, id, bytes.toString('base64url')].join('.');
}
