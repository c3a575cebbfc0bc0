import { expect, test } from 'vitest';
import { isAmong, normalizeHost } from './hosts.ts';

test.each([
  ['api.example.com', 'api.example.com'],
  ['API.Example.COM', 'api.example.com'],
  ['api.example.com.', 'api.example.com'],
  ['api.example.com:8443', 'api.example.com:8443'],
  ['api.example.com:443', 'api.example.com:443'],
  ['api.example.com:0080', 'api.example.com:80'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['127.0.0.1:4010', '127.0.0.1:4010'],
  ['0x7f.1', '127.0.0.1'],
  ['[::1]', '[::1]'],
  ['[0:0:0:0:0:0:0:1]:81', '[::1]:81'],
])('%s is stored as %s', (text, stored) => {
  expect(normalizeHost(text)).toBe(stored);
});

test.each([
  '',
  '.',
  '*',
  '*.example.com',
  'api.*.com',
  'https://api.example.com',
  '//api.example.com',
  'api.example.com/v1',
  'api.example.com?x',
  'api.example.com#x',
  'user@api.example.com',
  'api.example.com:0',
  'api.example.com:65536',
  'api.example.com:https',
  'api.example.com:',
  'two hosts',
  'a,b',
  'api.example.com\\evil.example',
  '::1',
  '[::1',
  'a\nb',
])('%j is not a host', (text) => {
  expect(normalizeHost(text)).toBeNull();
});

test.each([
  ['api.example.com', 'https://api.example.com/v1', true],
  ['api.example.com', 'https://api.example.com:8443/', true],
  ['api.example.com', 'https://api.example.com./', true],
  ['api.example.com', 'https://API.EXAMPLE.COM/', true],
  ['api.example.com', 'https://evil-api.example.com/', false],
  ['api.example.com', 'https://api.example.com.evil.example/', false],
  ['api.example.com', 'https://evil.example/?api.example.com', false],
  ['api.example.com', 'https://api.example.com@evil.example/', false],
  ['example.com', 'https://api.example.com/', false],
  ['api.example.com:8443', 'https://api.example.com:8443/', true],
  ['api.example.com:8443', 'https://api.example.com/', false],
  ['api.example.com:443', 'https://api.example.com/', true],
  ['api.example.com:443', 'http://api.example.com/', false],
  ['api.example.com:80', 'http://api.example.com/', true],
  ['ftp.example.com:21', 'ftp://ftp.example.com:21', true],
  ['127.0.0.1', 'http://0x7f000001:4010/', true],
])('%s and %s: %s', (host, url, expected) => {
  expect(isAmong([host], new URL(url))).toBe(expected);
});

test('no host allows nothing', () => {
  expect(isAmong([], new URL('https://api.example.com/'))).toBe(false);
});
