import pg from 'pg';
import pino from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  referenceNamed,
  type SyncCounts,
  useScrapes,
} from '../../../../test/support/servers/scrape-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { knowledgeDoor } from '../../../../test/support/worlds/scrape-house.ts';
import { newId } from '../../../lib/ids.ts';
import { ScrapeMetrics } from '../metrics.ts';
import { persistIn } from '../runs/persist.ts';
import { insertRun } from '../runs/run-store.ts';
import { handOverLeft } from '../upkeep.ts';
import type { HandOverDeps } from './hand-over.ts';

const database = useDatabase();
const scrapes = useScrapes(database);

type Claims = Awaited<ReturnType<typeof scrapes.tenant>>;

async function contentOf(claims: Claims): Promise<string[]> {
  const rows = await database.owner<{ content: string }>(
    'select content from scrape_references where tenant_id = $1 order by external_id',
    [claims.tenantId],
  );
  return rows.map(({ content }) => content);
}

/** Holds the job of the tenant's only reference, so that whoever wants to hand a new payload over has to wait. */
async function holdJob(claims: Claims): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query('begin');
  await client.query('select from ingestion_jobs where tenant_id = $1 for update', [claims.tenantId]);
  const release = () => client.end().catch(() => {});
  onTestFinished(release);
  return { release };
}

/** Ends the connection of whoever waits for the job, of each once: a busy machine takes a moment to notice. */
async function killWaiting(ended: Set<number>): Promise<void> {
  await eventually(async () => {
    const killed = await database.owner<{ pid: number }>(
      `select pid, pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%for share of j%'
          and pid <> all($1::integer[])`,
      [[...ended]],
    );
    for (const { pid } of killed) ended.add(pid);
    return killed.length > 0;
  }, 'somebody waits for the job');
}

async function pushSecond(claims: Claims, kills: number): Promise<SyncCounts> {
  await scrapes.push(claims, [referenceNamed('a', 'First.')]);
  const held = await holdJob(claims);
  const answer = scrapes.push(claims, [referenceNamed('a', 'Second.')]);
  const ended = new Set<number>();
  while (ended.size < kills) await killWaiting(ended);
  await held.release();
  return answer;
}

describe('handing over', () => {
  test('is tried again when the connection is lost', async () => {
    const claims = await scrapes.tenant();
    expect(await pushSecond(claims, 1)).toMatchObject({ handoff_queued_count: 1, handoff_failed_count: 0 });
    const [handoff] = await scrapes.handoffs(claims);
    expect(handoff).toMatchObject({
      status: 'queued',
      reason_code: 'ingestion_job_already_active',
      attempts: 2,
    });
    expect(await scrapes.registry.getSingleMetricAsString('sluice_handoff_retries_total')).toMatch(
      /_total [1-9]/,
    );
    await scrapes.drive(claims.tenantId);
    const ended = (await scrapes.handoffs(claims)).map(({ status }) => status);
    expect(ended).toEqual(['completed', 'completed']);
    expect((await scrapes.search(claims, 'second')).map(({ text }) => text)).toEqual(['Second.']);
  });

  test('fails when it was lost three times; the reference is persisted, and the next sync succeeds', async () => {
    const claims = await scrapes.tenant();
    expect(await pushSecond(claims, 3)).toMatchObject({
      references_persisted: 1,
      handoff_queued_count: 0,
      handoff_failed_count: 1,
    });
    const [handoff] = await scrapes.handoffs(claims, '&status=failed');
    expect(handoff).toMatchObject({ reason_code: 'retry_exhausted', attempts: 3, job_id: null });
    expect(handoff?.reason_text).toMatch(/database cannot be reached/i);
    expect(await contentOf(claims)).toEqual(['Second.']);
    expect(await scrapes.push(claims, [referenceNamed('a', 'Second.')])).toMatchObject({
      handoff_queued_count: 1,
    });
  });

  test('is given up after three attempts when the tenant has too many jobs waiting', async () => {
    const claims = await scrapes.tenant();
    await database.owner(`update tenants set limits = '{"queued_jobs": 0}' where tenant_id = $1`, [
      claims.tenantId,
    ]);
    const counts = await scrapes.push(claims, [referenceNamed('a'), referenceNamed('b')]);
    expect(counts).toMatchObject({
      references_persisted: 2,
      handoff_queued_count: 0,
      handoff_failed_count: 2,
    });
    const handoffs = await scrapes.handoffs(claims);
    expect(handoffs).toEqual(
      Array(2).fill(
        expect.objectContaining({ status: 'failed', reason_code: 'retry_exhausted', attempts: 3 }),
      ),
    );
    expect(await contentOf(claims)).toHaveLength(2);
  });

  test('fails at once when the knowledge base is gone, and says so', async () => {
    const claims = await scrapes.tenant();
    await scrapes.call(claims, '/api/knowledge/kb', { method: 'DELETE' });
    expect(await scrapes.push(claims, [referenceNamed('a')])).toMatchObject({
      references_persisted: 1,
      handoff_failed_count: 1,
    });
    const [handoff] = await scrapes.handoffs(claims);
    expect(handoff).toMatchObject({ status: 'failed', reason_code: 'not_transient', attempts: 1 });
    expect(handoff?.reason_text).toContain('no knowledge base kb');
    expect(await contentOf(claims)).toHaveLength(1);
  });

  test('fails with the reason of its job if the knowledge base is deleted first', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a')]);
    // Over HTTP it is refused as long as a job writes to it.
    expect((await scrapes.call(claims, '/api/knowledge/kb', { method: 'DELETE' })).status).toBe(409);
    await database.owner('delete from knowledge_bases where tenant_id = $1', [claims.tenantId]);
    await scrapes.drive(claims.tenantId);
    const [handoff] = await scrapes.handoffs(claims);
    expect(handoff).toMatchObject({ status: 'failed', reason_code: 'ingestion_job_failed' });
    expect(handoff?.reason_text).toMatch(/^kb_gone: /);
  });
});

describe('a knowledge base that is deleted', () => {
  const deleteKb = (claims: Claims) =>
    scrapes.call({ ...claims, role: 'admin' }, '/api/knowledge/kb', { method: 'DELETE' });

  test('a knowledge base that is deleted and created again is filled by the next sync', async () => {
    const claims = await scrapes.tenant();
    const references = [referenceNamed('a', 'Herons wait for fish.'), referenceNamed('b', 'Otters do not.')];
    await scrapes.push(claims, references);
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.push(claims, references)).toMatchObject({ handoff_skipped_count: 2 });
    expect((await deleteKb(claims)).status).toBeLessThan(300);
    await scrapes.drive(claims.tenantId);
    const missing = await scrapes.push(claims, references);
    expect(missing).toMatchObject({ handoff_failed_count: 2, handoff_skipped_count: 0 });
    const [told] = await scrapes.handoffs(claims);
    expect(told?.reason_text).toContain('There is no knowledge base kb');
    const kb = { kb_id: 'kb', name: 'again', embedder: scrapes.words.embedder };
    expect((await scrapes.call(claims, '/api/knowledge', { method: 'POST', body: kb })).status).toBe(201);
    expect(await scrapes.push(claims, references)).toMatchObject({ handoff_queued_count: 2 });
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.search(claims, 'herons')).toHaveLength(2);
    expect(await scrapes.push(claims, references)).toMatchObject({ handoff_skipped_count: 2 });
  });

  test('a knowledge base that is deleted and created again before the next sync is filled too', async () => {
    const claims = await scrapes.tenant();
    const references = [referenceNamed('a', 'Herons wait for fish.')];
    await scrapes.push(claims, references);
    await scrapes.drive(claims.tenantId);
    await deleteKb(claims);
    await scrapes.drive(claims.tenantId);
    const kb = { kb_id: 'kb', name: 'again', embedder: scrapes.words.embedder };
    await scrapes.call(claims, '/api/knowledge', { method: 'POST', body: kb });
    expect(await scrapes.push(claims, references)).toMatchObject({ handoff_queued_count: 1 });
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.search(claims, 'herons')).toHaveLength(1);
  });
});

describe('a process that dies between persisting and handing over', () => {
  /** Persists as a sync does, and goes no further. */
  async function persistOnly(claims: Claims): Promise<void> {
    const { tenantId } = claims;
    const key = { tenantId, source: 'news', scrapeRunId: newId(), createdBy: 'scraper' };
    await database.db.tenant(tenantId, async (tx) => {
      await insertRun(tx, { ...key, mode: 'push', jobId: null });
      const reference = { externalId: 'a', url: 'https://example.com/a', title: 'a', content: 'What a says' };
      await persistIn(
        tx,
        { ...key, knowledge: knowledgeDoor },
        {
          references: [{ ...reference, mediaType: null, metadata: {}, memo: null }],
        },
      );
    });
    expect(await scrapes.handoffs(claims)).toEqual([
      expect.objectContaining({
        status: 'queued',
        reason_code: 'queued_from_scrape',
        attempts: 0,
        job_id: null,
      }),
    ]);
  }

  test('leaves hand-offs that upkeep brings to their jobs', async () => {
    const claims = await scrapes.tenant();
    await persistOnly(claims);
    const { kernel } = scrapes.held;
    const deps: HandOverDeps = {
      db: database.db,
      wake: kernel.wake,
      metrics: kernel.metrics,
      quotas: kernel.quotas,
      knowledge: knowledgeDoor,
      policy: { maxAttempts: 3, retryBaseMs: 0 },
      scrapes: new ScrapeMetrics(new Registry()),
      logger: pino({ level: 'silent' }),
    };
    expect(await handOverLeft(deps), 'a sync that lives is left alone').toBe(0);
    expect(await handOverLeft(deps, { olderThanMs: 0 })).toBeGreaterThan(0);
    await scrapes.drive(claims.tenantId);
    expect((await scrapes.handoffs(claims))[0]).toMatchObject({ status: 'completed', attempts: 1 });
  });

  test('leaves hand-offs that the next sync of the same references brings to their jobs', async () => {
    const claims = await scrapes.tenant();
    await persistOnly(claims);
    expect(await scrapes.push(claims, [referenceNamed('a')])).toMatchObject({ handoff_skipped_count: 1 });
    await scrapes.drive(claims.tenantId);
    expect((await scrapes.handoffs(claims))[0]).toMatchObject({ status: 'completed', attempts: 1 });
  });
});
