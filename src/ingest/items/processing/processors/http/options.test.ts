import { describe, expect, test } from 'vitest';
import type { SluiceError } from '../../../../../lib/errors.ts';
import { httpProcessor } from './http.ts';

const url = 'https://api.example.com/v1/{{sku}}';

function pointersOf(options: unknown): string[] {
  try {
    httpProcessor.validateOptions(options);
  } catch (error) {
    expect(error).toMatchObject({ code: 'processor_options_invalid' });
    return (error as SluiceError).fields.map(({ pointer }) => pointer);
  }
  return [];
}

describe('the options of a provider', () => {
  test('need no more than a URL', () => {
    const options = httpProcessor.validateOptions({ request: { url } });
    expect(options).toMatchObject({ request: { method: 'GET', url }, timeoutMs: 10_000 });
    expect(httpProcessor.validateOptions(options)).toEqual(options);
    expect(httpProcessor.provider?.({ request: { url } })).toBe('http:api.example.com');
  });

  test('have a literal host, so that no row chooses whom a secret is sent to', () => {
    const bad = [
      'https://{{host}}/v1',
      'https://api.{{region}}.example.com/',
      '{{url}}',
      'https://user:password@example.com/',
      'https://example.com@{{sku}}/',
      'https://example.com:{{port}}/',
      'https://example.com\\{{sku}}',
      'ftp://example.com/',
      'https://',
      'https://example.com/a/../{{sku}}',
      'https://example.com/%2e%2e/{{sku}}',
      'https://example.com/#{{sku}}',
      'https://example.com/{{sku',
      'https://example.com/{{ }}',
    ];
    for (const text of bad)
      expect(pointersOf({ request: { url: text } }), text).toContain('/options/request/url');
  });

  test('point at every wrong place', () => {
    expect(
      pointersOf({
        request: { url, method: 'TRACE', headers: { Host: 'x' }, body: { a: ['{{x'] } },
        auth: { type: 'bearer' },
        response: { notFoundWhen: [{ path: 'a' }], errorWhen: [{}] },
        timeoutMs: 0,
        surprise: true,
      }).toSorted(),
    ).toEqual(
      [
        '/options',
        '/options/auth/secret',
        '/options/request/body',
        '/options/request/headers/Host',
        '/options/request/method',
        '/options/response/errorWhen/0',
        '/options/response/notFoundWhen/0',
        '/options/timeoutMs',
      ].toSorted(),
    );
  });

  test('the options of a batch have no columns outside its items', () => {
    const batch = {};
    expect(pointersOf({ request: { method: 'POST', url: 'https://a.test/' }, batch })).toEqual([]);
    expect(pointersOf({ request: { method: 'POST', url }, batch })).toEqual(['/options/request/url']);
    expect(pointersOf({ request: { url: 'https://a.test/' }, batch })).toEqual(['/options/request/method']);
    for (const body of [{}, ['{{*}}', '{{*}}'], 'x {{*}}', ['{{*}}', '{{sku}}']]) {
      const request = { method: 'POST', url: 'https://a.test/', body };
      expect(pointersOf({ request, batch }), JSON.stringify(body)).toEqual(['/options/request/body']);
    }
  });

  test('name each strategy once, and each of them makes a whole request', () => {
    const strategies = [{ name: 'a' }, { name: 'a' }, { name: 'b', body: {} }];
    expect(pointersOf({ request: { url }, strategies })).toEqual([
      '/options/strategies/1/name',
      '/options/strategies/2/body',
    ]);
  });

  test('the options of a provider that are nested without end are refused', () => {
    const body = JSON.parse('['.repeat(5000) + ']'.repeat(5000));
    expect(pointersOf({ request: { method: 'POST', url, body } })).toEqual(['/options/request/body']);
  });
});
