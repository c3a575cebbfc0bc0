import { rm, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { zipOf } from '../generators/zip-archive.ts';
import {
  type EmbeddingServer,
  embeddingDimensions,
  startEmbeddingServer,
} from '../support/fakes/embedding-server.ts';
import { type GitServer, startGitServer } from '../support/fakes/git-server.ts';
import { serveSite } from '../support/fakes/local-site.ts';
import { useS3Server } from '../support/fakes/s3-server.ts';
import { recountWords } from '../support/probes/word-counts.ts';
import { type Running, useCommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// A bucket, an archive on the web and a repository, read by processes that are killed in the middle.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const database = useDatabase();
const s3 = useS3Server();
const sluice = useCommandLine();
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

async function startServer(): Promise<void> {
  server = sluice.start(['serve'], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
    LOG_LEVEL: 'warn',
    LEASE_MS: '2000',
    KNOWLEDGE_SLICE_MS: '100',
  });
  const hasStarted = async () => {
    if (server.child.exitCode !== null) throw new Error(`The server ended: ${server.stderr()}`);
    return server.stdout().includes('sluice --help');
  };
  await eventually(hasStarted, 'the server is running', 60_000);
}

interface Stage {
  tenantId: string;
  kbId: string;
  git: GitServer;
  /** What the web server has; null: nothing. */
  archive: { bytes: Buffer | null };
}

async function call({ tenantId }: Pick<Stage, 'tenantId'>, method: string, route: string, body?: object) {
  const url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  const response = await fetch(`${url}${route}`, {
    method,
    headers: {
      authorization: `Bearer ${await mintToken(testTokens, claims)}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${route} answered ${response.status}: ${text}`);
  return text === '' ? null : JSON.parse(text);
}

const filesEach = 40;
const names = Array.from({ length: filesEach }, (_, at) => `f${10 + at}.md`);
const textOf = (source: string, name: string) =>
  `# ${source} ${name}\n\nThe words of ${source} in ${name} are ${source}${name.replace('.', '')}.`;

async function commit({ git }: Pick<Stage, 'git'>, files: Record<string, string | null>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    if (content === null) git.git('rm', '-q', name);
    else await writeFile(`${git.folder}/${name}`, content);
  }
  git.git('add', '-A');
  git.git('commit', '-qm', 'change');
  git.git('push', '-q', 'origin', 'HEAD');
}

const archiveOf = (files: Record<string, string>) =>
  zipOf(Object.entries(files).map(([name, content]) => ({ name, content })));

const put = (name: string, content: string) =>
  s3.client().put(`docs/${name}`, Readable.from([Buffer.from(content)]));

async function arrange(): Promise<Stage> {
  const tenantId = await newTenant(database);
  const git = await startGitServer();
  const archive: Stage['archive'] = { bytes: null };
  const site = await serveSite('127.0.0.1', (_request, response) => {
    if (archive.bytes === null) response.writeHead(404).end();
    else response.end(archive.bytes);
  });
  await commit({ git }, Object.fromEntries(names.map((name) => [name, textOf('git', name)])));
  archive.bytes = archiveOf(Object.fromEntries(names.map((name) => [name, textOf('zip', name)])));
  for (const name of names) await put(name, textOf('s3', name));
  const { endpoint, bucket, accessKeyId, secretAccessKey } = s3.access;
  for (const [name, value] of Object.entries({ id: accessKeyId, key: secretAccessKey })) {
    await call({ tenantId }, 'PUT', `/api/secrets/${name}`, { value, hosts: [new URL(endpoint).host] });
  }
  const kb = await call({ tenantId }, 'POST', '/api/knowledge', {
    name: 'All',
    embedder: {
      provider: 'openai',
      base_url: embedder.url,
      model: 'words',
      dimensions: embeddingDimensions,
    },
    sources: [
      { type: 'git', url: git.url },
      { type: 'zip', url: `http://127.0.0.1:${site.port}/all.zip` },
      {
        type: 's3',
        endpoint,
        bucket,
        prefix: 'docs/',
        path_style: true,
        access_key_id_secret: 'id',
        secret_access_key_secret: 'key',
      },
    ],
  });
  return { tenantId, kbId: kb.kb_id, git, archive };
}

/** Kills the process at the next call of the embedder after each of these numbers of documents. */
async function runWithKills(stage: Stage, after: readonly number[]): Promise<{ kills: number; run: Run }> {
  let kills = 0;
  embedder.onCall = async () => {
    const before = kills;
    const at = after[before];
    // Several calls may be under way: only one of them ends the process.
    if (at === undefined || (await documentsSeen(stage)) < at || kills !== before) return null;
    kills += 1;
    server.child.kill('SIGKILL');
    await server.ended;
    return null;
  };
  await call(stage, 'POST', `/api/ingestion/jobs/${stage.kbId}/start`, {});
  for (;;) {
    const exited = server.child.signalCode !== null;
    if (exited) await startServer();
    const run = await statusOf(stage);
    if (run !== null && ['completed', 'failed'].includes(run.status)) {
      embedder.onCall = () => null;
      return { kills, run };
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function documentsSeen({ tenantId }: Stage): Promise<number> {
  const [row] = await database.owner<{ seen: number }>(
    `select coalesce((counters ->> 'docs_seen')::integer, 0) as seen
       from ingestion_jobs where tenant_id = $1 and finished_at is null`,
    [tenantId],
  );
  return row?.seen ?? 0;
}

interface Run {
  status: string;
  last_error: string | null;
  counters: Record<string, number>;
  incomplete_sources: { reason: string }[];
}

/** Null while the process is down. */
async function statusOf(stage: Stage): Promise<Run | null> {
  try {
    return await call(stage, 'GET', `/api/ingestion/jobs/${stage.kbId}/status`);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** By source and name: how often each text is in the index. */
async function indexed({ tenantId, kbId }: Stage): Promise<Map<string, string>> {
  const rows = await database.owner<{ uri: string; text: string }>(
    `select d.uri, string_agg(e.text, '|' order by l.ordinal) as text
       from knowledge_documents d
       join knowledge_links l using (tenant_id, kb_id, document_id, revision)
       join embeddings_index e using (tenant_id, kb_id, generation, chunk_id)
      where d.tenant_id = $1 and d.kb_id = $2 and d.state = 'indexed'
      group by d.document_id, d.uri`,
    [tenantId, kbId],
  );
  expect(new Set(rows.map(({ uri }) => uri)).size).toBe(rows.length);
  return new Map(rows.map(({ uri, text }) => [uri, text]));
}

test('sources survive kill -9, and lose what is gone and nothing else', async () => {
  const stage = await arrange();
  const first = await runWithKills(stage, [1, filesEach + 1, 2 * filesEach + 1]);
  expect(first.kills).toBe(3);
  expect(first.run).toMatchObject({
    status: 'completed',
    incomplete_sources: [],
    counters: { docs_seen: 3 * filesEach, docs_gone: 0, docs_error: 0, chunks_error: 0 },
  });
  const expected = new Map(
    ['git', 'zip', 's3'].flatMap((source) =>
      names.map((name): [string, string] => [`${source}:${name}`, textOf(source, name)]),
    ),
  );
  expect(await indexed(stage)).toEqual(expected);

  // One file is gone from each, one has changed, and one is new before all others.
  const changed = (source: string) => `# ${source}\n\nOther words of ${source} altogether.`;
  await commit(stage, { 'f10.md': null, 'f20.md': changed('git'), 'a.md': textOf('git', 'a.md') });
  const others = Object.fromEntries(names.slice(1).map((name) => [name, textOf('zip', name)]));
  stage.archive.bytes = archiveOf({
    ...others,
    'f20.md': changed('zip'),
    'a.md': textOf('zip', 'a.md'),
  });
  await s3.client().delete('docs/f10.md');
  await put('f20.md', changed('s3'));
  await put('a.md', textOf('s3', 'a.md'));
  for (const source of ['git', 'zip', 's3']) {
    expected.delete(`${source}:f10.md`);
    expected.set(`${source}:f20.md`, changed(source));
    expected.set(`${source}:a.md`, textOf(source, 'a.md'));
  }
  const second = await runWithKills(stage, [0]);
  expect(second.kills).toBe(1);
  expect(second.run).toMatchObject({ status: 'completed', counters: { docs_gone: 3 } });
  expect(await indexed(stage)).toEqual(expected);

  // None of them can be read: then nothing is proven to be gone.
  stage.archive.bytes = null;
  await rm(stage.git.git('remote', 'get-url', 'origin'), { recursive: true });
  for (const name of [...names, 'a.md']) await s3.client().delete(`docs/${name}`);
  const third = await runWithKills(stage, []);
  expect(third.run).toMatchObject({ status: 'completed', counters: { docs_gone: 0 } });
  expect(third.run.incomplete_sources).toHaveLength(3);
  expect(await indexed(stage)).toEqual(expected);
  const counts = await recountWords(database, stage);
  expect(counts).toMatchObject({ wrong: [], wrongTotals: [] });
  expect(counts.words).toBeGreaterThan(3 * filesEach);
});
