import { expect, test } from 'vitest';
import { newWebhookSecret, signatureHeader } from './signature.ts';

/** The example that the reference libraries of Standard Webhooks are tested with. */
const published = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  message: { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSeconds: 1614265330, body: '{"test": 2432232314}' },
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

test('the signature is the one of the published example', () => {
  expect(signatureHeader(published.message, [published.secret])).toBe(published.signature);
});

test('two secrets make two signatures, separated by a blank', () => {
  const other = newWebhookSecret();
  const [first, second, ...rest] = signatureHeader(published.message, [other, published.secret]).split(' ');
  expect(first).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
  expect(first).not.toBe(second);
  expect(second).toBe(published.signature);
  expect(rest).toEqual([]);
});

test('id, time and body all change the signature', () => {
  const { message, secret, signature } = published;
  const changed = [
    { ...message, id: 'msg_other' },
    { ...message, timestampSeconds: 1 },
    { ...message, body: '{}' },
  ];
  for (const one of changed) expect(signatureHeader(one, [secret])).not.toBe(signature);
});

test('a secret is whsec_ and the base64 of 24 to 64 bytes, another one each time', () => {
  const secrets = Array.from({ length: 20 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(20);
  for (const secret of secrets) {
    const bytes = Buffer.from(secret.replace(/^whsec_/, ''), 'base64').length;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/);
    expect(bytes).toBeGreaterThanOrEqual(24);
    expect(bytes).toBeLessThanOrEqual(64);
  }
});
