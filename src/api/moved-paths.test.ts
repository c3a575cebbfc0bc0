import { expect, test } from 'vitest';
import { routedUrl } from './moved-paths.ts';

test.each([
  ['/api/connectors/servers', '/api/airbyte-servers'],
  ['/api/connectors/servers?limit=1', '/api/airbyte-servers?limit=1'],
  ['/api/connectors/servers/own/check', '/api/airbyte-servers/own/check'],
  ['/api/webhooks/deliveries/1', '/api/webhook-deliveries/1'],
])('routes the old %s to %s', (old, now) => {
  expect(routedUrl(old)).toBe(now);
});

test.each([
  '/api/connectors/serversides',
  '/api/connectors/c1/sync',
  '/api/webhooks/w1/deliveries',
  '/docs/api/webhooks/deliveries',
])('leaves %s alone', (url) => {
  expect(routedUrl(url)).toBe(url);
});
