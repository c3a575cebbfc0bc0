import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Tenant, useAdapters, visibleJobs } from '../support/servers/adapter-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const drop = (tenant: Tenant, name: string, text = 'sku\n1\n2\n') =>
  writeFile(path.join(tenant.folder, name), text);

describe('a server that takes in no items', () => {
  const database = useDatabase();
  const adapters = useAdapters(database, { items: { ingestEnabled: false } });

  test('refuses scans with the reason and leaves the files alone', async () => {
    const tenant = await adapters.tenant();
    await database.owner(
      `insert into adapters (tenant_id, name, kind, place, target, settle_seconds, created_by)
       values ($1, 'in', 'folder', '{"kind": "folder", "path": ""}',
               '{"kind": "items", "processor": null, "options": {}}', 0, 'keeper')`,
      [tenant.tenantId],
    );
    await drop(tenant, 'a.csv');
    const answer = await adapters.call(tenant, '/api/ingestion/scan', { method: 'POST', body: {} });
    expect(answer).toMatchObject({ status: 503, body: { code: 'ingest_disabled' } });
    expect(await adapters.files(tenant, 'in')).toEqual([]);
  });
});

describe('a tenant that has too much to do already', () => {
  const database = useDatabase();
  const adapters = useAdapters(database, { items: { maxOpenItems: 2 } });

  test('keeps its files waiting, without using an attempt, until there is room', async () => {
    const tenant = await adapters.tenant();
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0 });
    await drop(tenant, 'a.csv');
    await drop(tenant, 'b.csv', 'sku\n3\n');
    const full = await adapters.scan(tenant, 'in');
    expect(full).toMatchObject({ ingested: 1, failed: 0, error_code: 'items_quota_exceeded' });
    expect(await adapters.files(tenant, 'in', '&state=waiting')).toMatchObject([
      { path: 'b.csv', attempts: 0, reason_code: 'items_quota_exceeded' },
    ]);
    await database.owner('update item_jobs set pending = 0, done = total where tenant_id = $1', [
      tenant.tenantId,
    ]);
    expect(await adapters.scan(tenant, 'in')).toMatchObject({ ingested: 1, error: null });
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 1]);
  });
});

describe('adapters', () => {
  const database = useDatabase();
  const adapters = useAdapters(database);

  test('are scanned by a cycle when they are due, also after a retry of one without a schedule', async () => {
    const tenant = await adapters.tenant();
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0, every_minutes: 60 });
    await drop(tenant, 'a.csv');
    await drop(tenant, 'bad.csv', '');
    await adapters.house.beforeCycle({});
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2]);
    await drop(tenant, 'later.csv', 'sku\n7\n');
    await adapters.house.beforeCycle({});
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2]);
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0 });
    const [failed] = await adapters.files(tenant, 'in', '&state=failed');
    await adapters.retry(tenant, 'in', failed?.file_id ?? '');
    await adapters.house.beforeCycle({});
    expect(await visibleJobs(database, tenant.tenantId)).toEqual([2, 1]);
    expect(await adapters.get(tenant, 'in')).toMatchObject({ next_scan_at: null });
  });

  test('are created by admins and scanned by services; members can only read', async () => {
    const tenant = await adapters.tenant();
    await adapters.put(tenant, 'in', { kind: 'folder', settle_seconds: 0 });
    const as = (role: 'member' | 'service') => ({ ...tenant, role });
    const scan = { method: 'POST', body: { adapter: 'in' } };
    expect(await adapters.call(as('member'), '/api/ingestion/scan', scan)).toMatchObject({ status: 403 });
    expect(await adapters.call(as('service'), '/api/ingestion/scan', scan)).toMatchObject({ status: 200 });
    const remove = { method: 'DELETE' };
    const one = '/api/ingestion/adapters/in';
    expect(await adapters.call(as('service'), one, remove)).toMatchObject({ status: 403 });
    expect(await adapters.call(as('member'), one)).toMatchObject({ status: 200 });
    expect(await adapters.call(tenant, one, remove)).toMatchObject({ status: 204 });
    expect(await adapters.call(tenant, one)).toMatchObject({ status: 404 });
  });

  test('report how long ago the longest waiting one was scanned', async () => {
    const age = async () => {
      const metric = await adapters.registry
        .getSingleMetric('sluice_adapter_last_success_age_seconds')
        ?.get();
      return metric?.values[0]?.value ?? 0;
    };
    const tenant = await adapters.tenant();
    await adapters.put(tenant, 'slow', { kind: 'folder', every_minutes: 60 });
    await database.owner(`update adapters set created_at = now() - interval '2 hours' where tenant_id = $1`, [
      tenant.tenantId,
    ]);
    expect(await age()).toBeGreaterThanOrEqual(7_200);
    await adapters.scan(tenant, 'slow');
    expect(await age()).toBeLessThan(7_200);
  });
});
