import { describe, expect, test } from 'vitest';
import { useServer } from '../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../test/support/worlds/database.ts';
import { createLoginLink } from '../kernel/tenancy/sessions.ts';

const database = useDatabase();

describe('with a low rate limit', () => {
  const server = useServer(database, {
    config: { rateLimitPerMinute: 5 },
    clock: { nowMs: () => Date.now() },
  });

  test('a client over the limit gets 429 and Retry-After; other clients and probes do not', async () => {
    const headers = await server.bearer({ tenantId: 'limited', userId: 'eager' });
    const ask = () => server.app.inject({ url: '/api/me', headers, remoteAddress: '198.51.100.1' });
    const statuses: number[] = [];
    for (let index = 0; index < 6; index += 1) statuses.push((await ask()).statusCode);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    const refused = await ask();
    expect(refused.json().code).toBe('rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(refused.headers['ratelimit-limit']).toBe('5');
    const patient = await server.bearer({ tenantId: 'limited', userId: 'patient' });
    expect((await server.app.inject({ url: '/api/me', headers: patient })).statusCode).toBe(200);
    for (let index = 0; index < 10; index += 1) {
      expect((await server.app.inject({ url: '/health/live' })).statusCode).toBe(200);
    }
  });

  test('failed logins are counted by address', async () => {
    const guess = (remoteAddress: string) =>
      server.app.inject({ url: '/api/me', headers: { authorization: 'Bearer slk_guess' }, remoteAddress });
    const statuses: number[] = [];
    for (let index = 0; index < 6; index += 1) statuses.push((await guess('198.51.100.7')).statusCode);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await guess('198.51.100.8')).statusCode).toBe(401);
  });
});

describe('with a low rate limit of a tenant', () => {
  const server = useServer(database, { config: { tenantRequestsPerMinute: 5 }, clock: { nowMs: () => 0 } });
  const statusAs = async (tenantId: string, userId: string) => {
    const headers = await server.bearer({ tenantId, userId, lifetimeSeconds: 600 });
    const reply = await server.app.inject({ url: '/api/me', headers });
    return { status: reply.statusCode, limit: reply.headers['ratelimit-limit'], ...reply.json() };
  };

  test('its users share it, and another tenant has its own', async () => {
    for (let n = 0; n < 5; n += 1) expect(await statusAs('busy', `user-${n}`)).toMatchObject({ status: 200 });
    expect(await statusAs('busy', 'user-6')).toMatchObject({
      status: 429,
      code: 'tenant_rate_limited',
      setting: 'TENANT_REQUESTS_PER_MINUTE',
      limit: 5,
    });
    expect(await statusAs('calm', 'user-6')).toMatchObject({ status: 200, limit: '5' });
  });
});

describe('behind https', () => {
  const server = useServer(database, {
    config: { publicUrl: 'https://sluice.example.com', metricsToken: 'a token for the scraper' },
  });

  test('the cookie is Secure and browsers are told to stay with https', async () => {
    const tenantId = await newTenant(database);
    const code = await createLoginLink(database.db, { tenantId, userId: 'ada', role: 'admin' });
    const answer = await server.app.inject({ url: `/login?code=${code}` });
    expect(answer.headers['set-cookie']).toMatch(/; Secure$/);
    expect(answer.headers['strict-transport-security']).toMatch(/^max-age=\d{8}/);
  });

  test('with METRICS_TOKEN set, a request from this machine needs the token too', async () => {
    const ask = (headers: Record<string, string>) => server.app.inject({ url: '/metrics', headers });
    expect((await ask({})).statusCode).toBe(401);
    expect((await ask({ authorization: 'Bearer another token' })).statusCode).toBe(401);
    expect((await ask({ authorization: 'Bearer a token for the scraper' })).statusCode).toBe(200);
    const operator = await server.bearer({ tenantId: 'm', role: 'operator' });
    expect((await ask(operator)).statusCode).toBe(200);
  });
});
