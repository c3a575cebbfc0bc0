import { mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import { sweepOrphans } from '../../../src/kernel/files/service.ts';
import { picture } from '../../generators/images.ts';
import { useItemServer } from '../servers/item-server.ts';
import type { TestDatabase } from './database.ts';

export interface SentFile {
  name: string;
  bytes: Buffer;
  type?: string;
}

export interface ImageItem {
  id: string;
  rowNo: number;
  status: string;
  errorCode: string | null;
  lastError: string | null;
  attempts: number;
  input: { name: string; size: number; sha256: string; fileId: string; order: number };
  result: Record<string, unknown> | null;
}

export const png = (seed: number) => picture({ seed, width: 240, height: 120 }).png().toBuffer();
export const jpeg = (seed: number) => picture({ seed, width: 240, height: 120 }).jpeg().toBuffer();

/** The house of items with files of its own, driven by hand, and what is left of it in tables and on disk. */
export function useImageJobs(database: TestDatabase) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-images-'));
  const files = createFiles({ filesBackend: 'local', dataDir });
  const { held, server } = useItemServer(database, { files });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
  const ask = async (tenantId: string, place: string, init: RequestInit = {}) => {
    const headers = { ...(await server.bearer({ tenantId })), ...(init.headers as Record<string, string>) };
    return fetch(`${server.url}${place}`, { ...init, headers });
  };
  return {
    files,
    server,
    ask,
    post: (tenantId: string, sent: readonly SentFile[], wish: Wish = {}) =>
      post(ask, tenantId, { sent, wish }),
    async itemsOf(tenantId: string, jobId: string): Promise<ImageItem[]> {
      const answer = await ask(tenantId, `/api/jobs/${jobId}/items?pageSize=500&input=true`);
      return ((await answer.json()) as { data: ImageItem[] }).data;
    },
    async jobOf(tenantId: string, jobId: string): Promise<Record<string, unknown>> {
      return (await (await ask(tenantId, `/api/jobs/${jobId}`)).json()) as Record<string, unknown>;
    },
    drive: (tenantId: string) => held.kernel.cycle({ budgetMs: 20_000, tenantId }),
    async storedFiles(): Promise<string[]> {
      const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    },
    async rowsOf(tenantId: string): Promise<Record<string, string> | undefined> {
      const [counts] = await database.owner<Record<string, string>>(countQuery, [tenantId]);
      return counts;
    },
    /** Deletes files without a row; everything counts as old enough. */
    sweep: () => sweepOrphans({ db: database.db, files }, { olderThanMs: -60_000 }),
  };
}

const countQuery = `
  select (select count(*) from ingestion_jobs where tenant_id = $1) as jobs,
         (select count(*) from job_items where tenant_id = $1) as items,
         (select count(*) from files where tenant_id = $1) as files,
         (select count(*) from item_images where tenant_id = $1) as images`;

export const noRows = { jobs: '0', items: '0', files: '0', images: '0' };

interface Wish {
  processor?: string;
  options?: object;
  key?: string;
}

async function post(
  ask: (tenantId: string, place: string, init: RequestInit) => Promise<Response>,
  tenantId: string,
  { sent, wish: { processor, options, key } }: { sent: readonly SentFile[]; wish: Wish },
) {
  const form = new FormData();
  if (processor !== undefined) form.set('processor', processor);
  if (options !== undefined) form.set('options', JSON.stringify(options));
  for (const { name, bytes, type = '' } of sent) {
    form.append('file', new Blob([new Uint8Array(bytes)], { type }), name);
  }
  const headers: Record<string, string> = key ? { 'idempotency-key': key } : {};
  const answer = await ask(tenantId, '/api/jobs', { method: 'POST', headers, body: form });
  const body = (await answer.json()) as { jobId: string; code?: string; detail?: string };
  return { status: answer.status, body };
}
