import { expect, test } from 'vitest';
import { SecretScrubber } from './secret-scrubber.ts';

const value = 'sk-7391/éa+b "q" & <t>\'';
const scrubber = new SecretScrubber([value]);

const basic = (user: string) => Buffer.from(`${user}:${value}`).toString('base64');

test.each([
  ['as it is', value],
  ['in JSON', JSON.stringify({ a: value })],
  ['in JSON inside JSON', JSON.stringify(JSON.stringify({ a: value }))],
  ['in JSON with escaped slashes', JSON.stringify({ a: value }).replaceAll('/', '\\/')],
  ['in a URL', `https://example.com/?k=${encodeURIComponent(value)}`],
  ['in a form', String(new URLSearchParams({ k: value }))],
  ['in HTML', value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
  ['in base64', Buffer.from(value).toString('base64')],
  ['in base64 for URLs', Buffer.from(value).toString('base64url')],
  ['in base64 inside a URL', encodeURIComponent(Buffer.from(value).toString('base64'))],
])('a secret %s is replaced', (_how, text) => {
  expect(scrubber.isIn(text)).toBe(true);
  const shown = scrubber.scrub(text);
  expect(shown).toContain('[redacted]');
  for (const piece of ['7391', 'NzM5', '%2F', 'quot;t']) expect(shown).not.toContain(piece);
});

test.each(['', 'u', 'us', 'user', 'robot', 'a longer name'])(
  'the password of a basic auth pair is replaced, whatever the user (%j)',
  (user) => {
    const shown = scrubber.scrub(`Basic ${basic(user)}`);
    expect(shown).toContain('[redacted]');
    // What is left tells no more than the user and the edges of the password.
    expect(Buffer.from(shown, 'base64').toString()).not.toContain('7391');
    expect(shown.length).toBeLessThan(basic(user).length / 2 + 40);
  },
);

test('a value loses the secret from texts, keys and numbers, at any depth', () => {
  const digits = new SecretScrubber(['73917391']);
  const found = { a: [{ b: 'x73917391x' }], 73917391: 1, n: 73917391, long: 1739173910, same: 7391 };
  expect(digits.scrubValue(found)).toEqual({
    a: [{ b: 'x[redacted]x' }],
    '[redacted]': 1,
    n: '[redacted]',
    long: '[redacted]',
    same: 7391,
  });
});

test('a value without the secret is the same object', () => {
  const clean = { a: [{ b: 'nothing' }] };
  expect(scrubber.scrubValue(clean)).toBe(clean);
  expect(new SecretScrubber().scrubValue(clean)).toBe(clean);
});

test('own keys named __proto__ survive', () => {
  const odd = JSON.parse(`{"__proto__": {"a": 1}, "k": ${JSON.stringify(value)}}`) as object;
  expect(JSON.stringify(scrubber.scrubValue(odd))).toBe('{"__proto__":{"a":1},"k":"[redacted]"}');
});

test('a short secret is replaced where it stands alone, and only if asked for', () => {
  const words = new SecretScrubber(['abc'], { shortOnes: 'as words' });
  expect(words.scrub('abc abcd "abc" xabc Bearer abc')).toBe(
    '[redacted] abcd "[redacted]" xabc Bearer [redacted]',
  );
  expect(new SecretScrubber(['abc']).scrub('abc')).toBe('abc');
  expect(new SecretScrubber(['a'], { shortOnes: 'as words' }).scrub('a b')).toBe('a b');
});
