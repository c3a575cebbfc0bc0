import { readdir } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { sweepOrphans } from '../../src/kernel/files/service.ts';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import {
  type EmbeddingServer,
  embeddingDimensions,
  startEmbeddingServer,
} from '../support/fakes/embedding-server.ts';
import { useS3Server } from '../support/fakes/s3-server.ts';
import { type Running, useCommandLine } from '../support/servers/command-line.ts';
import { documentForm } from '../support/servers/knowledge-server.ts';
import { testTokens } from '../support/servers/server.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// The product as processes of its own, with all its files in a bucket.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const database = useDatabase();
const s3 = useS3Server();
const sluice = useCommandLine();
const s3Prefix = 'installation-1/';
let server: Running;
let embedder: EmbeddingServer;

beforeAll(async () => {
  embedder = await startEmbeddingServer();
  await startServer();
});

afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.ended;
  await embedder?.close();
});

function environment(): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
    LOG_LEVEL: 'warn',
    UPLOAD_SLICE_MS: '50',
    FILES_BACKEND: 's3',
    S3_ENDPOINT: s3.access.endpoint,
    S3_BUCKET: s3.access.bucket,
    S3_PREFIX: s3Prefix,
    S3_ACCESS_KEY_ID: s3.access.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.access.secretAccessKey,
  };
}

async function startServer(): Promise<void> {
  server = sluice.start(['serve'], environment());
  const hasStarted = async () => {
    if (server.child.exitCode !== null) throw new Error(`The server ended: ${server.stderr()}`);
    return server.stdout().includes('sluice --help');
  };
  await eventually(hasStarted, 'the server is running', 60_000);
}

function serverUrl(): string {
  return /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
}

async function bearer(tenantId: string): Promise<{ authorization: string }> {
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  return { authorization: `Bearer ${await mintToken(testTokens, claims)}` };
}

async function call(tenantId: string, route: string, body?: object): Promise<Record<string, unknown>> {
  const isForm = body instanceof FormData;
  const answer = await fetch(`${serverUrl()}${route}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(await bearer(tenantId)),
      ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${route} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function tenantWithPlace(): Promise<{ tenantId: string; workspaceId: string }> {
  const tenantId = await newTenant(database);
  const made = await call(tenantId, '/api/workspaces', { name: 'Reports' });
  return { tenantId, workspaceId: String(made.workspace_id) };
}

const header =
  'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Impressions,Link clicks,Amount spent (USD)';

function report(rows: number): string {
  const lines = Array.from({ length: rows }, (_, n) => {
    const day = new Date(Date.UTC(2024, 0, 1 + Math.floor(n / 100))).toISOString().slice(0, 10);
    const ad = `Ad ${n % 100},${120_210_000 + (n % 100)}`;
    return `Spring,120210000000000001,Set 1,120210000000000011,${ad},${day},${n},1,0.5`;
  });
  return `${header}\n${lines.join('\n')}\n`;
}

async function sendReport(place: { tenantId: string; workspaceId: string }, rows: number): Promise<string> {
  const form = uploadForm(report(rows), { workspace_id: place.workspaceId });
  return String((await call(place.tenantId, '/api/uploads', form)).upload_id);
}

async function uploadOf(tenantId: string, uploadId: string): Promise<Record<string, unknown>> {
  return call(tenantId, `/api/uploads/${uploadId}`);
}

async function untilCompleted(tenantId: string, uploadId: string): Promise<Record<string, unknown>> {
  const isOver = async () =>
    ['completed', 'partial', 'failed'].includes(String((await uploadOf(tenantId, uploadId)).status));
  await eventually(isOver, 'the upload is over', 90_000);
  return uploadOf(tenantId, uploadId);
}

async function makeBase(tenantId: string): Promise<string> {
  const made = await call(tenantId, '/api/knowledge', {
    name: 'Handbook',
    embedder: {
      provider: 'openai',
      base_url: embedder.url,
      model: 'words',
      dimensions: embeddingDimensions,
    },
  });
  return String(made.kb_id);
}

const marmalade = 'The marmalade is behind the flour.';

async function indexDocument(tenantId: string, kbId: string): Promise<void> {
  await call(tenantId, `/api/ingestion/jobs/${kbId}/start`, {});
}

async function untilIndexed(tenantId: string, kbId: string): Promise<Record<string, unknown>> {
  const status = () => call(tenantId, `/api/ingestion/jobs/${kbId}/status`);
  await eventually(
    async () => ['completed', 'failed'].includes(String((await status()).status)),
    'the run is over',
    90_000,
  );
  return status();
}

/** Of the storage, and what is still said of it in the table. */
async function stored(): Promise<{ kept: string[]; named: string[] }> {
  const rows = await database.owner<{ name: string }>(
    "select $1 || storage_key as name from files where storage = 's3' order by 1",
    [s3Prefix],
  );
  const kept = (await s3.listEverything()).filter((name) => !name.startsWith(`${s3Prefix}probe/`));
  return { kept, named: rows.map(({ name }) => name).sort() };
}

/** So that the bucket surely goes away in the middle of a report, however slow this process is. */
async function slowStaging(seconds: number): Promise<void> {
  await database.owner(`
    create or replace function slow_staging() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(${seconds});
      return null;
    end $$;
    create or replace trigger slow_staging after insert on staging_rows
      for each statement execute function slow_staging()`);
}

async function listLocalFiles(): Promise<string[]> {
  return readdir(path.join(sluice.cwd, '.sluice', 'files'), { recursive: true }).catch(() => []);
}

describe('an installation with its files in a bucket', () => {
  test('processes a report and a document without a file on its own disk', async () => {
    const place = await tenantWithPlace();
    const { tenantId } = place;
    const uploadId = await sendReport(place, 3_000);
    expect(await untilCompleted(tenantId, uploadId)).toMatchObject({
      status: 'completed',
      total_rows: 3_000,
      promoted_rows: 3_000,
    });
    const kbId = await makeBase(tenantId);
    await call(tenantId, `/api/knowledge/${kbId}/documents`, documentForm({ 'kitchen.txt': marmalade }));
    await indexDocument(tenantId, kbId);
    expect(await untilIndexed(tenantId, kbId)).toMatchObject({ status: 'completed' });
    const found = await call(tenantId, `/api/knowledge/${kbId}/search`, { query: marmalade, mode: 'text' });
    expect(found.results).toMatchObject([{ text: expect.stringContaining(marmalade) }]);
    const { kept, named } = await stored();
    expect(kept).toEqual(named);
    expect(kept).toHaveLength(2);
    expect(await listLocalFiles()).toEqual([]);
  });

  test('waits in the middle of a report while its bucket is unavailable, and continues when it is back', async () => {
    const place = await tenantWithPlace();
    const { tenantId } = place;
    const kbId = await makeBase(tenantId);
    await call(tenantId, `/api/knowledge/${kbId}/documents`, documentForm({ 'kitchen.txt': marmalade }));
    await slowStaging(0.5);
    const uploadId = await sendReport(place, 30_000);
    const staged = async () => {
      const [row] = await database.owner<{ count: number }>(
        'select count(*)::int as count from staging_rows where upload_id = $1',
        [uploadId],
      );
      return row?.count ?? 0;
    };
    await eventually(async () => (await staged()) > 0, 'the first rows are staged', 60_000);
    await s3.kill();
    await slowStaging(0);
    try {
      await indexDocument(tenantId, kbId);
      const waiting = async () => {
        const jobs = await database.owner<{ pipeline: string; retry_count: number }>(
          `select pipeline, retry_count from ingestion_jobs
            where tenant_id = $1 and status not in ('success', 'dead_letter') and lease_expires_at is null`,
          [tenantId],
        );
        const complaints = server.stderr().split('files_unavailable').length - 1;
        return jobs.length === 2 && complaints >= 2 && jobs.every(({ retry_count }) => retry_count === 0);
      };
      await eventually(waiting, 'both jobs wait for their files', 60_000);
      expect((await uploadOf(tenantId, uploadId)).status).toBe('processing');
      expect((await fetch(`${serverUrl()}/health/ready`)).status).toBe(503);
      await expect(sendReport(place, 1)).rejects.toThrow(/503.*files_unavailable/);
    } finally {
      await s3.start();
    }
    expect(await untilCompleted(tenantId, uploadId)).toMatchObject({
      status: 'completed',
      total_rows: 30_000,
      promoted_rows: 30_000,
    });
    expect(await untilIndexed(tenantId, kbId)).toMatchObject({
      status: 'completed',
      counters: { docs_seen: 1, chunks_error: 0 },
    });
    await eventually(
      async () => (await fetch(`${serverUrl()}/health/ready`)).ok,
      'the server is ready again',
    );
    const { kept, named } = await stored();
    expect(kept).toEqual(named);
  });

  test('leaves nothing that the sweep does not find when it is killed during an upload', async () => {
    const place = await tenantWithPlace();
    const before = await s3.listEverything();
    const sending = await beginUpload(place, 20 * 1024 * 1024);
    const isBegun = async () => (await s3.listEverything()).some((name) => name.startsWith('upload:'));
    await eventually(isBegun, 'a part has arrived', 60_000);
    server.child.kill('SIGKILL');
    await server.ended;
    sending.destroy();
    expect(await s3.listEverything()).not.toEqual(before);
    const files = createFiles({
      filesBackend: 's3',
      dataDir: '/nonexistent',
      s3Endpoint: s3.access.endpoint,
      s3Bucket: s3.access.bucket,
      s3Prefix,
      s3AccessKeyId: s3.access.accessKeyId,
      s3SecretAccessKey: s3.access.secretAccessKey,
      s3PathStyle: true,
    });
    try {
      // The product deletes only what is older than an hour or a day; nothing else runs here.
      const report = await sweepOrphans({ db: database.db, files }, { olderThanMs: -3_600_000 });
      expect(report.removed).toBeGreaterThan(0);
    } finally {
      await files.close();
    }
    const { kept, named } = await stored();
    expect(kept).toEqual(named);
    await startServer();
  });
});

/** Sends so many bytes of a report and then nothing more. */
async function beginUpload(
  { tenantId, workspaceId }: { tenantId: string; workspaceId: string },
  sizeBytes: number,
): Promise<ClientRequest> {
  const boundary = 'a-boundary';
  const sending = request(`${serverUrl()}/api/uploads`, {
    method: 'POST',
    headers: {
      ...(await bearer(tenantId)),
      'content-type': `multipart/form-data; boundary=${boundary}`,
    },
  });
  sending.on('error', () => {});
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  sending.write(field('platform', 'meta') + field('source', 'manual') + field('workspace_id', workspaceId));
  const file = 'content-disposition: form-data; name="file"; filename="report.csv"';
  sending.write(`--${boundary}\r\n${file}\r\ncontent-type: text/csv\r\n\r\n`);
  const line = Buffer.from(`${'x'.repeat(1023)}\n`);
  for (let sent = 0; sent < sizeBytes; sent += line.length) sending.write(line);
  return sending;
}

describe('sluice doctor', () => {
  async function storageFinding(env: Record<string, string>) {
    const { stdout } = await sluice.run(['doctor', '--json'], { ...environment(), ...env });
    const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
    return findings.find(({ check }) => check === 'storage') ?? findings[0];
  }

  test('checks the bucket, and reports what is wrong and what to do', async () => {
    expect(await storageFinding({})).toMatchObject({
      state: 'ok',
      message: expect.stringContaining(`${s3.access.bucket}/${s3Prefix}`),
    });
    expect(await storageFinding({ S3_BUCKET: 'no-such-bucket' })).toMatchObject({
      state: 'failed',
      message: 'The bucket no-such-bucket does not exist',
      remedy: expect.stringContaining('create the bucket'),
    });
    expect(await storageFinding({ S3_BUCKET: '' })).toMatchObject({
      check: 'configuration',
      state: 'failed',
      message: expect.stringContaining('S3_BUCKET'),
    });
  });
});
