import { isDeepStrictEqual } from 'node:util';
import type { ChunkerSettings } from '../../src/ingest/knowledge/chunkers/chunker.ts';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { sweepOrphans } from '../../src/kernel/files/service.ts';
import { type EmbeddingServer, embeddingDimensions, isVectorOf } from '../support/fakes/embedding-server.ts';
import { documentForm } from '../support/servers/knowledge-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import {
  type ExpectedIndex,
  expectIndex,
  type GivenDocument,
  type IndexRows,
  indexRowsQuery,
  noLeftovers,
} from '../support/worlds/knowledge-ledger.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { CallAnswer, FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface RunAnswers {
  kbId: string;
  fileIds: string;
  jobId: string;
}

/** One slice at a time, so that runs have the same points; a cancel is noticed soon. */
export const knowledgeEnv = { SLUICE_WORKER_CONCURRENCY: '1', HEARTBEAT_MS: '100' };

export const kbId = 'handbook';
const chunker: ChunkerSettings = { strategy: 'markdown', maxTokens: 16 };
const shared = 'Both of these documents say in the very same words where the spare key is kept.';

/** So long that it is committed in several groups: the process dies between two of them, too. */
const handbook = [
  '# Handbook',
  shared,
  ...Array.from(
    { length: 24 },
    (_, n) => `## Rule ${n}\n\nRule number ${n} of the house is about the thing called ${wordOf(n)}.`,
  ),
].join('\n\n');
const files = {
  'a.md': `# Keys\n\n${shared}\n\n## Locks\n\nThe locks of the cellar are older than those of the roof.`,
  'b.txt': 'Plain text has no headings at all.\n\nIt says that the marmalade is behind the flour.',
};
const firstDocuments: GivenDocument[] = [
  { uri: 'inline:content', name: null, content: handbook },
  ...Object.entries(files).map(([name, content]) => ({ uri: `file:${name}`, name, content })),
];

function wordOf(n: number): string {
  return ['amber', 'birch', 'cedar', 'delta'][n % 4] + String(n * 7919);
}

export interface KnowledgePath<Answers> extends CrashPath<Answers> {
  /** Files without a row that deaths have left, and that were swept. */
  readonly orphans: number;
  /** Texts that were embedded twice because the process died before their commit. */
  readonly askedAgain: number;
}

/** From the request that makes a knowledge base to the end of its first run. */
export function knowledgePath(
  database: TestDatabase,
  servers: FailpointServers,
  embedder: () => EmbeddingServer,
): KnowledgePath<RunAnswers> {
  const counts = { orphans: 0, askedAgain: 0 };
  const watch = watchCalls(servers, embedder);
  return {
    get orphans() {
      return counts.orphans;
    },
    get askedAgain() {
      return counts.askedAgain;
    },
    async prepare() {},
    take(server, tenantId) {
      watch.begin(server, tenantId);
      return takeRun(servers, server, { tenantId, url: embedder().url });
    },
    async check(server, tenantId, { jobId }) {
      const expected = await expectIndex(firstDocuments, chunker);
      const asked = watch.examine(tenantId, expected);
      counts.askedAgain += asked.again;
      const stored = await checkFiles(database, servers);
      counts.orphans += stored.orphans;
      return [
        ...asked.breaches,
        ...stored.breaches,
        ...differences(await readRun(servers, tenantId), {
          jobs: [{ jobId, status: 'success', leased: false, counters: expected.counters }],
          told: 1,
          files: Object.keys(files),
        }),
        ...(await checkIndex(servers, tenantId, expected)),
        ...(await checkFound(server, tenantId, 'the marmalade is behind the flour')),
      ];
    },
  };
}

async function takeRun(
  servers: FailpointServers,
  server: FailpointServer,
  { tenantId, url }: { tenantId: string; url: string },
): Promise<Partial<RunAnswers>> {
  const made = await makeBase(server, { tenantId, url });
  if (made === null) return {};
  const added = await addFiles(server, { tenantId, named: files, key: 'the-files' });
  if (added === null) return made;
  const started = await startRun(server, { tenantId, key: 'the-run' });
  if (started === null) return { ...made, ...added };
  await untilOverOrDead(server, { isOver: () => isOver(servers, started.jobId), what: 'the run is over' });
  return { ...made, ...added, ...started };
}

/** The model's name is the tenant: each call shows whose texts it has. */
export async function makeBase(
  server: FailpointServer,
  { tenantId, url }: { tenantId: string; url: string },
): Promise<{ kbId: string } | null> {
  const answer = await post(server, tenantId, {
    route: '/api/knowledge',
    key: 'the-base',
    body: {
      kb_id: kbId,
      name: 'Handbook',
      chunker: { strategy: chunker.strategy, max_tokens: chunker.maxTokens },
      embedder: { provider: 'openai', base_url: url, model: tenantId, dimensions: embeddingDimensions },
      sources: [{ type: 'markdown', content: handbook }],
    },
  });
  return answer && { kbId: (JSON.parse(answer.text) as { kb_id: string }).kb_id };
}

export async function addFiles(
  server: FailpointServer,
  { tenantId, named = files, key }: { tenantId: string; named?: Record<string, string>; key: string },
): Promise<{ fileIds: string } | null> {
  const answer = await server.call(tenantId, `/api/knowledge/${kbId}/documents`, {
    method: 'POST',
    headers: { 'idempotency-key': key },
    body: documentForm(named),
  });
  if (answer === null) return null;
  const { files: made } = JSON.parse(expectStatus(answer, 201)) as { files: { file_id: string }[] };
  return { fileIds: made.map(({ file_id }) => file_id).join() };
}

export async function startRun(
  server: FailpointServer,
  { tenantId, key }: { tenantId: string; key: string },
): Promise<{ jobId: string } | null> {
  const answer = await post(server, tenantId, {
    route: `/api/ingestion/jobs/${kbId}/start`,
    key,
    status: 202,
  });
  return answer && { jobId: (JSON.parse(answer.text) as { job_id: string }).job_id };
}

export async function post(
  server: FailpointServer,
  tenantId: string,
  { route, key, body, status = 201 }: { route: string; key: string; body?: object; status?: number },
): Promise<CallAnswer | null> {
  const answer = await server.call(tenantId, route, {
    method: 'POST',
    headers: { 'idempotency-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (answer) expectStatus(answer, status);
  return answer;
}

function expectStatus({ status, text }: CallAnswer, wanted: number): string {
  if (status !== wanted) throw new Error(`The answer was ${status} instead of ${wanted}: ${text}`);
  return text;
}

export async function isOver(servers: FailpointServers, jobId: string): Promise<boolean> {
  const [job] = await servers.query<{ status: string }>(
    'select status from ingestion_jobs where job_id = $1',
    [jobId],
  );
  return job !== undefined && !['queued', 'running', 'failed'].includes(job.status);
}

/** Compares every call with the index at that moment: committed texts must not be embedded again. */
function watchCalls(servers: FailpointServers, embedder: () => EmbeddingServer) {
  const early: string[] = [];
  const lives = new Map<string, Set<FailpointServer>>();
  return {
    begin(server: FailpointServer, tenantId: string): void {
      lives.set(tenantId, (lives.get(tenantId) ?? new Set()).add(server));
      embedder().onCall = async ({ model, texts }) => {
        const rows = await servers.query<{ text: string }>(
          'select text from embeddings_index where tenant_id = $1 and text = any($2)',
          [model, texts],
        );
        early.push(...rows.map(({ text }) => `${model}: "${text}" was in the index and was asked for`));
        return null;
      };
    },
    examine(tenantId: string, { chunks }: ExpectedIndex): { again: number; breaches: string[] } {
      const asked = new Map<string, number>();
      for (const { model, texts } of embedder().calls) {
        if (model !== tenantId) continue;
        for (const text of texts) asked.set(text, (asked.get(text) ?? 0) + 1);
      }
      // A death may cost a text a second call, and nothing else may.
      const most = lives.get(tenantId)?.size ?? 1;
      const wrong = chunks.filter(({ text }) => {
        const times = asked.get(text) ?? 0;
        return times < 1 || times > most;
      });
      const strangers = [...asked.keys()].filter((text) => !chunks.some((chunk) => chunk.text === text));
      return {
        again: [...asked.values()].filter((times) => times > 1).length,
        breaches: [
          ...early.splice(0),
          ...wrong.map(
            ({ text }) => `"${text}" was asked for ${asked.get(text) ?? 0} times in ${most} lives`,
          ),
          ...strangers.map((text) => `"${text}" was asked for and is in no document`),
        ],
      };
    },
  };
}

interface FoundRun {
  jobs: { jobId: string; status: string; leased: boolean; counters: Record<string, number> }[];
  told: number;
  files: string[];
}

async function readRun(servers: FailpointServers, tenantId: string): Promise<FoundRun> {
  const [found] = await servers.query<FoundRun & Record<string, unknown>>(
    `select
       (select coalesce(json_agg(json_build_object('jobId', job_id, 'status', status,
                 'leased', leased_by is not null, 'counters', counters)), '[]')
          from ingestion_jobs where tenant_id = $1) as jobs,
       (select count(*)::integer from events where tenant_id = $1 and type = 'job.completed') as told,
       (select coalesce(json_agg(k.name order by k.name), '[]')
          from files f left join knowledge_files k using (tenant_id, file_id) where f.tenant_id = $1) as files`,
    [tenantId],
  );
  if (!found) throw new Error('The look at the run gave no row');
  return found;
}

export async function readIndex(servers: FailpointServers, tenantId: string): Promise<IndexRows> {
  const [rows] = await servers.query<IndexRows & Record<string, unknown>>(indexRowsQuery, [tenantId, kbId]);
  if (!rows) throw new Error('The look at the index gave no row');
  return rows;
}

async function checkIndex(
  servers: FailpointServers,
  tenantId: string,
  expected: ExpectedIndex,
): Promise<string[]> {
  const { chunks, ...rest } = await readIndex(servers, tenantId);
  const { documents, links } = expected;
  const texts = chunks.map(({ vector: _vector, ...chunk }) => chunk);
  const misplaced = chunks.filter(({ text, vector }) => !isVectorOf(text, Buffer.from(vector, 'hex')));
  return [
    ...differences(
      { ...rest, chunks: texts },
      { documents, links, chunks: expected.chunks, leftovers: noLeftovers },
    ),
    ...misplaced.map(({ text }) => `"${text}" has another text's vector`),
  ];
}

export async function checkFound(
  server: FailpointServer,
  tenantId: string,
  query: string,
): Promise<string[]> {
  // By words: by meaning would ask the embedder, whose ledger is for the runs.
  const answer = await server.call(tenantId, `/api/knowledge/${kbId}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, mode: 'text', limit: 1 }),
  });
  const { results = [] } = JSON.parse(answer?.text ?? '{}') as { results?: { text: string }[] };
  return results[0]?.text.includes(query) ? [] : [`a search for "${query}" finds ${JSON.stringify(results)}`];
}

/** After the sweep there are no bytes without a row, and no row without bytes. */
export async function checkFiles(
  database: TestDatabase,
  servers: FailpointServers,
): Promise<{ orphans: number; breaches: string[] }> {
  const storage = createFiles({ filesBackend: 'local', dataDir: servers.dataDir });
  // The product deletes only what is older than an hour; nothing else runs here.
  const { removed: orphans } = await sweepOrphans(
    { db: database.db, files: storage },
    { olderThanMs: -3_600_000 },
  );
  const stored: string[] = [];
  for await (const one of storage.listOlderThan(-3_600_000))
    stored.push(one.kind === 'stored' ? one.storageKey : 'tmp');
  const named = await servers.query<{ key: string }>('select storage_key as key from files');
  const isSame = isDeepStrictEqual(stored.sort(), named.map(({ key }) => key).sort());
  const breaches = isSame ? [] : [`${stored.length} files are stored and ${named.length} are named`];
  return { orphans, breaches };
}
