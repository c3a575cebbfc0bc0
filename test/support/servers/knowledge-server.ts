import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { defineEmbedder } from '../../../src/ingest/knowledge/embedders/define-embedder.ts';
import type { KnowledgeHouse, KnowledgeHouseOptions } from '../../../src/ingest/knowledge/open.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import { jobRoutes } from '../../../src/kernel/jobs/routes.ts';
import type { TestDatabase } from '../worlds/database.ts';
import { useHouse } from '../worlds/kernel.ts';
import { testKnowledgeHouse } from '../worlds/knowledge-house.ts';
import { apiCaller } from './api-caller.ts';
import { type TestClaims, useServer } from './server.ts';

export const wordDimensions = 256;

/** Words as places in a vector: no model, but texts with the same words are near each other. */
export function wordVector(text: string): number[] {
  const vector = new Array<number>(wordDimensions).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    let hash = 7;
    for (const letter of word) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
    vector[hash % wordDimensions] = (vector[hash % wordDimensions] ?? 0) + 1;
  }
  return vector;
}

/** Counts its calls; `onCall` may fail or wait. */
export function wordEmbedder({ name = 'words', model = 'words-1' } = {}) {
  const calls: string[][] = [];
  const hooks: { onCall?: (texts: readonly string[]) => void | Promise<void> } = {};
  const definition = defineEmbedder({
    name,
    model,
    dimensions: wordDimensions,
    embed: async (texts) => {
      await hooks.onCall?.(texts);
      calls.push([...texts]);
      return texts.map(wordVector);
    },
  });
  return { definition, calls, hooks, embedder: { provider: 'custom', name } };
}

/** Knowledge over HTTP on a test file's database; jobs run when the test says so. */
export function useKnowledge(database: TestDatabase, options: Partial<KnowledgeHouseOptions> = {}) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-knowledge-'));
  const files = options.files ?? createFiles({ filesBackend: 'local', dataDir });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
  const { held, open } = useHouse(
    database,
    (kernel) => testKnowledgeHouse(database.db, { kernel, ...options, files }),
    { leaseMs: 30_000, heartbeatMs: 100 },
  );
  const routes: RouteModule = (app, deps) => {
    jobRoutes(held.kernel)(app, deps);
    for (const module of open().routes) module(app, deps);
  };
  const server = useServer(database, { routes: [routes], config: { maxBodyBytes: 1024 * 1024 } });
  const call = apiCaller(server);
  const runRoute = (id: string) => `/api/ingestion/jobs/${encodeURIComponent(id)}`;
  return {
    held,
    server,
    call,
    files,
    get house(): KnowledgeHouse {
      return open();
    },
    create: (claims: TestClaims, body: object) => call(claims, '/api/knowledge', { method: 'POST', body }),
    upload: (claims: TestClaims, kbId: string, named: Record<string, string | Buffer>, headers = {}) =>
      call(claims, `/api/knowledge/${encodeURIComponent(kbId)}/documents`, {
        method: 'POST',
        body: documentForm(named),
        headers,
      }),
    start: (claims: TestClaims, id: string, body?: object) =>
      call(claims, `${runRoute(id)}/start`, { method: 'POST', ...(body ? { body } : {}) }),
    move: (claims: TestClaims, id: string, name: 'pause' | 'resume' | 'cancel') =>
      call(claims, `${runRoute(id)}/${name}`, { method: 'POST' }),
    status: async (claims: TestClaims, id: string) => (await call(claims, `${runRoute(id)}/status`)).body,
    search: (claims: TestClaims, kbId: string, body: object) =>
      call(claims, `/api/knowledge/${encodeURIComponent(kbId)}/search`, { method: 'POST', body }),
    drive: (tenantId: string, budgetMs = 60_000) => held.kernel.cycle({ budgetMs, tenantId }),
    /** What the storage holds, also what is only half there. */
    storedFiles: (): string[] =>
      readdirSync(dataDir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name),
  };
}

export function documentForm(named: Record<string, string | Buffer>): FormData {
  const form = new FormData();
  for (const [name, content] of Object.entries(named)) {
    form.append('file', new Blob([new Uint8Array(Buffer.from(content))]), name);
  }
  return form;
}
