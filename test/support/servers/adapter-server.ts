import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Registry } from 'prom-client';
import { afterAll } from 'vitest';
import type { AdapterHouse, AdapterHouseOptions } from '../../../src/ingest/adapters/open.ts';
import type { renderAdapter, renderFile, renderScan } from '../../../src/ingest/adapters/views.ts';
import type { ItemHouseOptions } from '../../../src/ingest/items/open.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import type { Pipeline } from '../../../src/kernel/jobs/types.ts';
import { testAdapterHouse } from '../worlds/adapter-house.ts';
import { newTenant, type TestDatabase } from '../worlds/database.ts';
import { testItemHouse } from '../worlds/item-house.ts';
import { useKernel } from '../worlds/kernel.ts';
import { testUploadHouse } from '../worlds/upload-house.ts';
import { type TestClaims, type TestServer, useServer } from './server.ts';

export type AdapterView = ReturnType<typeof renderAdapter>;
export type FileView = ReturnType<typeof renderFile>;
export type ScanView = ReturnType<typeof renderScan>;
export type Tenant = TestClaims & { tenantId: string; folder: string };

export interface AdapterAnswer {
  status: number;
  body: Record<string, unknown>;
}

/** What every adapter of the tests takes in. */
export const itemsTarget = { kind: 'items', processor: 'noop' };

/** Adapters, items and uploads over HTTP on a test file's database; nothing is scanned by itself. */
export function useAdapters(
  database: TestDatabase,
  options: Partial<AdapterHouseOptions> & { items?: Partial<ItemHouseOptions> } = {},
) {
  const root = mkdtempSync(path.join(tmpdir(), 'sluice-adapters-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const { items: itemOptions = {}, registry = new Registry(), ...rest } = options;
  const held = useKernel(database, { pipelines: ['items', 'uploads'].map(undriven) });
  let house: AdapterHouse | undefined;
  const open = (): AdapterHouse => {
    house ??= testAdapterHouse(
      database.db,
      {
        items: testItemHouse(database.db, { kernel: held.kernel, ...itemOptions }),
        uploads: testUploadHouse(database.db, { kernel: held.kernel }),
        kernel: held.kernel,
      },
      { adapterFolder: root, registry, ...rest },
    );
    return house;
  };
  const routes: RouteModule = (app, deps) => {
    for (const module of open().routes) module(app, deps);
  };
  const server = useServer(database, { routes: [routes] });
  const call = callerOf(server);
  return {
    root,
    registry,
    call,
    get house(): AdapterHouse {
      return open();
    },
    async tenant(): Promise<Tenant> {
      const tenantId = await newTenant(database);
      const folder = path.join(root, tenantId);
      mkdirSync(folder);
      return { tenantId, userId: 'keeper', role: 'admin', folder };
    },
    ...requestsOf(call),
  };
}

function requestsOf(call: ReturnType<typeof callerOf>) {
  const expectStatus = async (answer: Promise<AdapterAnswer>, allowed: number[]) => {
    const given = await answer;
    if (allowed.includes(given.status)) return given.body;
    throw new Error(`Answered ${given.status} instead of ${allowed}: ${JSON.stringify(given.body)}`);
  };
  const base = '/api/ingestion/adapters';
  return {
    put: async (claims: TestClaims, name: string, body: object) =>
      (await expectStatus(
        call(claims, `${base}/${name}`, { method: 'PUT', body: { target: itemsTarget, ...body } }),
        [200, 201],
      )) as unknown as AdapterView,
    get: async (claims: TestClaims, name: string) =>
      (await expectStatus(call(claims, `${base}/${name}`), [200])) as unknown as AdapterView,
    scan: async (claims: TestClaims, adapter: string) => {
      const answer = call(claims, '/api/ingestion/scan', { method: 'POST', body: { adapter } });
      const { data } = await expectStatus(answer, [200]);
      return (data as ScanView[])[0] as ScanView;
    },
    check: (claims: TestClaims, name: string) =>
      expectStatus(call(claims, `${base}/${name}/check`, { method: 'POST' }), [200]),
    files: async (claims: TestClaims, name: string, query = '') => {
      const { data } = await expectStatus(call(claims, `${base}/${name}/files?limit=500${query}`), [200]);
      return data as FileView[];
    },
    retry: (claims: TestClaims, name: string, fileId: string) =>
      call(claims, `${base}/${name}/files/${fileId}/retry`, { method: 'POST' }),
  };
}

function callerOf(server: TestServer) {
  return async (
    claims: TestClaims,
    route: string,
    { method = 'GET', body }: { method?: string; body?: object } = {},
  ): Promise<AdapterAnswer> => {
    const headers: Record<string, string> = await server.bearer(claims);
    if (body) headers['content-type'] = 'application/json';
    const sent = body ? { body: JSON.stringify(body) } : {};
    const answer = await fetch(`${server.url}${route}`, { method, headers, ...sent });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  };
}

/** Jobs are created here and no worker runs. */
function undriven(name: string): Pipeline {
  const never = () => Promise.reject(new Error('Nobody drives jobs here'));
  return {
    name,
    maxRetries: 5,
    advance: never,
    onError: () => ({ type: 'done' }),
    remaining: () => null,
  };
}

/** Jobs of the tenant that anybody can see, with how many rows each has. */
export async function visibleJobs(database: TestDatabase, tenantId: string): Promise<number[]> {
  const rows = await database.owner<{ rows: string }>(
    `select (select count(*) from job_items i where i.tenant_id = j.tenant_id and i.job_id = j.job_id) as rows
       from ingestion_jobs j
      where j.tenant_id = $1
        and j.stage is distinct from 'ingesting'
      order by j.job_id`,
    [tenantId],
  );
  return rows.map((row) => Number(row.rows));
}
