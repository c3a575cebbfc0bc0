import { expect, test } from 'vitest';
import { useServer } from '../../test/support/servers/server.ts';
import { useDatabase } from '../../test/support/worlds/database.ts';
import { newId } from '../lib/ids.ts';

const server = useServer(useDatabase());

test('only the operator may change a plan; nobody else can see other tenants', async () => {
  const tenantId = `plan-${newId()}`;
  const admin = await server.bearer({ tenantId });
  await server.app.inject({ url: '/api/me', headers: admin });
  const operator = await server.bearer({ tenantId: 'operators', role: 'operator' });
  const patch = { method: 'PATCH', url: `/api/tenants/${tenantId}`, payload: { plan: 'growth' } } as const;
  expect((await server.app.inject({ ...patch, headers: admin })).statusCode).toBe(403);
  expect((await server.app.inject({ ...patch, headers: operator })).json()).toMatchObject({
    plan: 'growth',
  });
  const other = await server.app.inject({ url: '/api/tenants/operators', headers: admin });
  const missing = await server.app.inject({ url: '/api/tenants/nobody', headers: admin });
  expect([other.statusCode, missing.statusCode]).toEqual([404, 404]);
  expect(other.json().code).toBe(missing.json().code);
});

test.each([
  ['with an unknown name', { concurent_jobs: 3 }, 'concurent_jobs'],
  ['above the database’s range', { concurrent_jobs: 3_000_000_000 }, '/body/limits/concurrent_jobs'],
  [
    'of more days than a date can hold',
    { job_retention_days: 2_000_000_000 },
    '/body/limits/job_retention_days',
  ],
])('a limit %s is refused by its name', async (_, limits, field) => {
  const tenantId = `limits-${newId()}`;
  await server.app.inject({ url: '/api/me', headers: await server.bearer({ tenantId }) });
  const headers = await server.bearer({ tenantId: 'operators', role: 'operator' });
  const patch = { method: 'PATCH', url: `/api/tenants/${tenantId}`, headers } as const;
  const refused = await server.app.inject({ ...patch, payload: { limits } });
  expect(refused.statusCode).toBe(400);
  expect(JSON.stringify(refused.json().errors)).toContain(field);
  const taken = await server.app.inject({ ...patch, payload: { limits: { concurrent_jobs: 3 } } });
  expect(taken.json()).toMatchObject({ limits: { concurrent_jobs: 3 } });
});
