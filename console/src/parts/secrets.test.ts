import { expect, test } from 'vitest';
import { listOf, usableFor } from './secrets.ts';

test('a form lists the secrets that have hosts and may be used for it', () => {
  const secrets = [
    { name: 'any', uses: null, needs_hosts: false },
    { name: 'http', uses: ['processor:http'], needs_hosts: false },
    { name: 'embedder', uses: ['embedder:openai'], needs_hosts: false },
    { name: 'old', uses: null, needs_hosts: true },
  ];
  expect(usableFor(secrets, 'processor:http')).toEqual(['any', 'http']);
  expect(usableFor(secrets, 'adapter:s3')).toEqual(['any']);
});

test('hosts are typed with commas, spaces or lines between them', () => {
  expect(listOf(' a.example.com, b.example.com:8443\n[::1]  a.example.com ')).toEqual([
    'a.example.com',
    'b.example.com:8443',
    '[::1]',
  ]);
  expect(listOf(' , ')).toEqual([]);
});
