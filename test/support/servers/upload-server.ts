import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import type { UploadHouse, UploadHouseOptions } from '../../../src/ingest/uploads/open.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import type { Files } from '../../../src/kernel/files/types.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import { jobRoutes } from '../../../src/kernel/jobs/routes.ts';
import { newTenant, type TestDatabase } from '../worlds/database.ts';
import { useHouse } from '../worlds/kernel.ts';
import { testUploadHouse } from '../worlds/upload-house.ts';
import { apiCaller } from './api-caller.ts';
import { type TestClaims, type TestServer, useServer } from './server.ts';

export type UploadAnswer = Record<string, unknown> & { upload_id: string; status: string };

export interface UploadFields {
  workspace_id?: string;
  platform?: string;
  source?: string;
  [field: string]: string | undefined;
}

export interface UploadDesk {
  claims: TestClaims;
  tenantId: string;
  workspaceId: string;
}

/** Uploads over HTTP on a test file's database; jobs run when the test says so. */
export function useUploads(database: TestDatabase, options: Partial<UploadHouseOptions> = {}) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-uploads-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
  const files: Files = options.files ?? createFiles({ filesBackend: 'local', dataDir });
  const { held, open } = useHouse(
    database,
    (kernel) => testUploadHouse(database.db, { kernel, ...options, files }),
    { leaseMs: 30_000 },
  );
  const routes: RouteModule = (app, deps) => {
    jobRoutes(held.kernel)(app, deps);
    for (const module of open().routes) module(app, deps);
  };
  const server = useServer(database, { routes: [routes] });

  const call = callerOf(server);
  /** A tenant with its first workspace. */
  const tenant = async (): Promise<{ tenantId: string; workspaceId: string }> => {
    const tenantId = await newTenant(database);
    const [row] = await database.owner<{ workspace_id: string }>(
      `insert into workspaces (tenant_id, workspace_id, name)
       values ($1, gen_random_uuid(), 'Main')
       on conflict (tenant_id, name) do update set name = excluded.name
       returning workspace_id`,
      [tenantId],
    );
    return { tenantId, workspaceId: row?.workspace_id ?? '' };
  };

  return {
    files,
    held,
    server,
    call,
    get house(): UploadHouse {
      return open();
    },
    tenant,
    post(
      claims: TestClaims,
      content: Buffer | string,
      fields: UploadFields,
      headers: Record<string, string> = {},
    ) {
      return call(claims, '/api/uploads', 'POST', uploadForm(content, fields), headers);
    },
    /** What the storage holds, also what is only half there. */
    storedFiles: (): string[] =>
      readdirSync(dataDir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name),
    /** A tenant with its first workspace, and an admin of it. */
    async desk(): Promise<UploadDesk> {
      const { tenantId, workspaceId } = await tenant();
      return { claims: { tenantId, role: 'admin' }, tenantId, workspaceId };
    },
    drive: (tenantId: string, budgetMs = 60_000) => held.kernel.cycle({ budgetMs, tenantId }),
    get: async (claims: TestClaims, uploadId: string) =>
      (await call(claims, `/api/uploads/${uploadId}`)).body,
    events: (tenantId: string) =>
      database.owner<{ type: string; subject: string; data: Record<string, unknown> }>(
        'select type, subject, data from events where tenant_id = $1 order by xid, event_id',
        [tenantId],
      ),
  };
}

function callerOf(server: TestServer) {
  const call = apiCaller<UploadAnswer>(server);
  return (
    claims: TestClaims,
    route: string,
    method = 'GET',
    body?: object | FormData,
    headers: Record<string, string> = {},
  ) => call(claims, route, { method, headers, ...(body ? { body } : {}) });
}

export function uploadForm(
  content: Buffer | string,
  fields: UploadFields,
  filename = 'report.csv',
): FormData {
  const form = new FormData();
  const all: UploadFields = { platform: 'meta', source: 'manual', ...fields };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(Buffer.from(content))]), filename);
  return form;
}
