import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type EmbeddingServer,
  embeddingDimensions,
  startEmbeddingServer,
} from '../support/fakes/embedding-server.ts';
import { callOrThrow } from '../support/servers/api-caller.ts';
import { documentForm } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { longestBlockMs, useBlockingProbe } from './blocking.ts';
import { hostileDocuments } from './hostile-documents.ts';

vi.setConfig({ testTimeout: 300_000 });

const runLimitMs = 240_000;
const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, {
  ...blocking.env,
  // Where the embeddings come from.
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
});
let embedder: EmbeddingServer;
let claims: TestClaims;
const call = callOrThrow(server, () => claims);

beforeAll(async () => {
  embedder = await startEmbeddingServer();
  claims = { tenantId: await newTenant(database), role: 'admin' };
});
afterAll(() => embedder?.close());

describe('the main thread', () => {
  test('is measured: a block of 100 ms is reported', async () => {
    const [longest] = await blocking.during('the probe itself', async () => {
      blocking.block();
      await eventually(async () => blocking.read().length > 0, 'the block was reported', 30_000);
    });
    expect(longest).toBeGreaterThan(90);
  });

  test.each(Object.entries(hostileDocuments))('is not blocked by %s', async (name, make) => {
    const content = make();
    const blocks = await blocking.during(name, async () => {
      const run = await index(
        { [name]: content },
        {
          chunker: { strategy: 'markdown', max_tokens: 2_000 },
          embedder: {
            provider: 'openai',
            base_url: embedder.url,
            model: 'words',
            dimensions: embeddingDimensions,
          },
        },
      );
      expect(run).toMatchObject({ status: 'completed', counters: { docs_seen: 1, chunks_error: 0 } });
    });
    expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestBlockMs);
  });

  test('is not blocked while the built-in model embeds', async () => {
    const text = hostileDocuments['one-line.txt']?.().subarray(0, 64 * 1024) ?? Buffer.alloc(0);
    const blocks = await blocking.during('the built-in model', async () => {
      const run = await index({ 'book.txt': text }, {});
      expect(run).toMatchObject({ status: 'completed', counters: { docs_error: 0, chunks_error: 0 } });
    });
    expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestBlockMs);
  });
});

async function index(files: Record<string, Buffer>, settings: object): Promise<Record<string, unknown>> {
  const { kb_id: kbId } = await call('/api/knowledge', { name: 'Hostile', ...settings });
  await call(`/api/knowledge/${kbId}/documents`, documentForm(files));
  await call(`/api/ingestion/jobs/${kbId}/start`, {});
  let run: Record<string, unknown> = {};
  const hasEnded = async () => {
    run = await call(`/api/ingestion/jobs/${kbId}/status`);
    return run.status !== 'running';
  };
  await eventually(hasEnded, 'the run is over', runLimitMs);
  return run;
}
