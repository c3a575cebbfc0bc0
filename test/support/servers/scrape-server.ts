import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Registry } from 'prom-client';
import { afterAll } from 'vitest';
import type { KnowledgeHouse } from '../../../src/ingest/knowledge/open.ts';
import type { ScrapeHouse, ScrapeHouseOptions } from '../../../src/ingest/scrapes/open.ts';
import { createReferenceReader } from '../../../src/ingest/scrapes/references/reader.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import { jobRoutes } from '../../../src/kernel/jobs/routes.ts';
import { newTenant, type TestDatabase } from '../worlds/database.ts';
import { useKernel } from '../worlds/kernel.ts';
import { testKnowledgeHouse } from '../worlds/knowledge-house.ts';
import { testScrapeHouse } from '../worlds/scrape-house.ts';
import { type ApiReply, apiCaller } from './api-caller.ts';
import { wordEmbedder } from './knowledge-server.ts';
import { type TestClaims, useServer } from './server.ts';

export interface HandoffView {
  handoff_id: string;
  reference_id: string;
  payload_hash: string;
  status: string;
  reason_code: string;
  reason_text: string | null;
  attempts: number;
  job_id: string | null;
  scrape_run_id: string;
}

export interface SyncCounts {
  scrape_run_id: string;
  references_persisted: number;
  handoff_queued_count: number;
  handoff_completed_count: number;
  handoff_failed_count: number;
  handoff_skipped_count: number;
}

export function referenceNamed(name: string, text = `What ${name} says`, more: object = {}) {
  return { external_id: name, url: `https://example.com/${name}`, title: name, content: text, ...more };
}

export function sumOf(counts: SyncCounts): number {
  return (
    counts.handoff_queued_count +
    counts.handoff_completed_count +
    counts.handoff_failed_count +
    counts.handoff_skipped_count
  );
}

/** Scrapes and knowledge over HTTP on a test file's database, as the product wires them; jobs run when told to. */
export function useScrapes(
  database: TestDatabase,
  options: Partial<ScrapeHouseOptions> & { maxQueued?: number } = {},
) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-scrapes-'));
  const words = wordEmbedder();
  const { maxQueued = 100_000, registry = new Registry(), ...rest } = options;
  let houses: { knowledge: KnowledgeHouse; scrapes: ScrapeHouse } | undefined;
  afterAll(async () => {
    await houses?.knowledge.close?.();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const open = () => {
    if (houses === undefined) throw new Error('The houses are there only once beforeAll has run');
    return houses;
  };
  const held = useKernel(database, {
    pipelines: [],
    houses: (kernel) => {
      const knowledge = testKnowledgeHouse(database.db, {
        kernel,
        files: createFiles({ filesBackend: 'local', dataDir }),
        customEmbedders: [words.definition],
        references: createReferenceReader(database.db),
      });
      houses = { knowledge, scrapes: testScrapeHouse(database.db, { kernel, registry, ...rest }) };
      return Object.values(houses);
    },
    leaseMs: 30_000,
    heartbeatMs: 100,
    maxQueued,
  });
  const routes: RouteModule = (app, deps) => {
    jobRoutes(held.kernel)(app, deps);
    const { knowledge, scrapes } = open();
    for (const module of [...knowledge.routes, ...scrapes.routes]) module(app, deps);
  };
  const server = useServer(database, { routes: [routes], config: { maxBodyBytes: 1024 * 1024 } });
  const call = apiCaller(server);
  return {
    held,
    server,
    call,
    words,
    registry,
    drive: (tenantId: string, budgetMs = 60_000) => held.kernel.cycle({ budgetMs, tenantId }),
    get scrapes(): ScrapeHouse {
      return open().scrapes;
    },
    /** A tenant with a knowledge base and a source that is pushed to. */
    async tenant(source = 'news', kbId = 'kb'): Promise<TestClaims & { tenantId: string }> {
      const claims = { tenantId: await newTenant(database), userId: 'scraper', role: 'service' as const };
      const kb = { kb_id: kbId, name: kbId, embedder: words.embedder };
      await expectStatus(call(claims, '/api/knowledge', { method: 'POST', body: kb }), 201);
      const body = { mode: 'push', kb_id: kbId };
      await expectStatus(call(claims, `/api/scraping/sources/${source}`, { method: 'PUT', body }), 201);
      return claims;
    },
    ...requestsOf(call),
  };
}

function requestsOf(call: ReturnType<typeof apiCaller<Record<string, unknown>>>) {
  return {
    sync: (claims: TestClaims, references: object[] | undefined, source = 'news', headers = {}) =>
      call(claims, `/api/scraping/${source}/sync`, {
        method: 'POST',
        headers,
        ...(references ? { body: { references } } : {}),
      }),
    async push(claims: TestClaims, references: object[], source = 'news'): Promise<SyncCounts> {
      const route = `/api/scraping/${source}/sync`;
      const answer = await expectStatus(call(claims, route, { method: 'POST', body: { references } }), 200);
      return answer.body as unknown as SyncCounts;
    },
    async handoffs(claims: TestClaims, query = '', source = 'news'): Promise<HandoffView[]> {
      const route = `/api/scraping/${source}/handoffs?limit=500${query}`;
      return (await expectStatus(call(claims, route), 200)).body.data as HandoffView[];
    },
    async search(claims: TestClaims, query: string, kbId = 'kb'): Promise<{ text: string; uri: string }[]> {
      const route = `/api/knowledge/${kbId}/search`;
      const answer = await expectStatus(
        call(claims, route, { method: 'POST', body: { query, limit: 5 } }),
        200,
      );
      const results = answer.body.results as { text: string; document: { uri: string } }[];
      return results.map(({ text, document }) => ({ text, uri: document.uri }));
    },
  };
}

async function expectStatus(answer: Promise<ApiReply>, status: number): Promise<ApiReply> {
  const given = await answer;
  if (given.status === status) return given;
  throw new Error(`Answered ${given.status} instead of ${status}: ${JSON.stringify(given.body)}`);
}
