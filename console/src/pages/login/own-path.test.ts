import { expect, test } from 'vitest';
import { ownPath } from './own-path.ts';

test('the login opens a path of this server with its query', () => {
  expect(ownPath('/jobs?status=failed#x')).toBe('/jobs?status=failed#x');
  expect(ownPath(undefined)).toBe('/');
});

test.each([
  'https://evil.example',
  '//evil.example/jobs',
  '/..//evil.example/jobs',
  '/\\evil.example',
  '/\t/evil.example',
  'javascript:alert(1)',
])('%j opens the start page', (to) => {
  expect(ownPath(to)).toBe('/');
});
