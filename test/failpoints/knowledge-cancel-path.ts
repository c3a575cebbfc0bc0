import type { EmbeddingServer } from '../support/fakes/embedding-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import type { IndexRows } from '../support/worlds/knowledge-ledger.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';
import {
  addFiles,
  checkFiles,
  checkFound,
  isOver,
  kbId,
  makeBase,
  readIndex,
  startRun,
} from './knowledge-path.ts';

export interface CancelAnswers {
  status: string;
}

/** What the first run left, and the run that is canceled. */
interface Before {
  index: IndexRows;
  firstJobId: string;
  jobId: string;
}

const waitMs = 30_000;
/** A call with this text never gets a response: the run stops here in the middle of the document. */
const heldWord = 'standstill';
const added = [
  '# Notes',
  ...Array.from(
    { length: 20 },
    (_, n) => `## Note ${n}\n\nNote number ${n} has something to say of its own.`,
  ),
  `## The last one\n\nThis is where the run comes to a ${heldWord} and goes no further than that.`,
].join('\n\n');
const changed = '# Keys\n\nEverything about the locks was written anew, from the cellar to the roof.';

/** A run that has changed, added and begun documents of a knowledge base is canceled, until nothing of it is left. */
export function cancelPath(
  database: TestDatabase,
  servers: FailpointServers,
  embedder: () => EmbeddingServer,
): CrashPath<CancelAnswers> {
  const known = new Map<string, Before>();
  return {
    async prepare(tenantId, server) {
      holdCalls(embedder());
      known.set(tenantId, await prepareRuns(servers, server, { tenantId, embedder: embedder() }));
    },
    take: (server, tenantId) => takeCancel(servers, server, { tenantId, ...getBefore(known, tenantId) }),
    async check(server, tenantId, { status }) {
      const { index, firstJobId, jobId } = getBefore(known, tenantId);
      const { breaches } = await checkFiles(database, servers);
      return [
        ...differences({ ...(await readIndex(servers, tenantId)) }, { ...index }),
        ...differences(await readJobs(servers, tenantId), {
          jobs: [
            { jobId: firstJobId, status: 'success', isClear: false, leased: false, isOpen: false },
            { jobId, status: 'canceled', isClear: true, leased: false, isOpen: false },
          ],
          rowsOfCanceled: 0,
        }),
        ...differences({ status }, { status: 'not_started' }),
        ...breaches,
        ...(await checkFound(server, tenantId, 'The locks of the cellar are older')),
      ];
    },
  };
}

function getBefore(known: Map<string, Before>, tenantId: string): Before {
  const before = known.get(tenantId);
  if (!before) throw new Error(`Nothing was prepared for ${tenantId}`);
  return before;
}

function holdCalls(embedder: EmbeddingServer): void {
  embedder.onCall = async ({ texts, signal }) => {
    if (!texts.some((text) => text.includes(heldWord))) return null;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return 503;
  };
}

/** Up to the moment when the second run has one changed document, and a part of a new one. */
async function prepareRuns(
  servers: FailpointServers,
  server: FailpointServer,
  { tenantId, embedder }: { tenantId: string; embedder: EmbeddingServer },
): Promise<Before> {
  await makeBase(server, { tenantId, url: embedder.url });
  await addFiles(server, { tenantId, key: 'the-files' });
  const first = await startRun(server, { tenantId, key: 'the-run' });
  const firstJobId = first?.jobId ?? '';
  await eventually(() => isOver(servers, firstJobId), 'the first run is over', waitMs);
  const index = await readIndex(servers, tenantId);
  await addFiles(server, { tenantId, named: { 'a.md': changed, 'c.md': added }, key: 'the-change' });
  const second = await startRun(server, { tenantId, key: 'the-second-run' });
  const jobId = second?.jobId ?? '';
  await eventually(() => isHalfDone(servers, jobId), 'the second run stands still', waitMs);
  return { index, firstJobId, jobId };
}

async function isHalfDone(servers: FailpointServers, jobId: string): Promise<boolean> {
  const [found] = await servers.query<{ began: boolean; changed: number; begun: number }>(
    `select j.checkpoint ->> 'document' is not null as began,
            (select count(*) from knowledge_documents d
              where d.tenant_id = j.tenant_id and d.last_job = j.job_id and d.previous is not null)::integer as changed,
            (select count(*) from embeddings_index e
              where e.tenant_id = j.tenant_id and e.created_by_job = j.job_id)::integer as begun
       from ingestion_jobs j
      where j.job_id = $1`,
    [jobId],
  );
  return found?.began === true && found.changed === 1 && found.begun > 1;
}

async function takeCancel(
  servers: FailpointServers,
  server: FailpointServer,
  { tenantId, jobId }: { tenantId: string; jobId: string },
): Promise<Partial<CancelAnswers>> {
  const answer = await server.call(tenantId, `/api/ingestion/jobs/${jobId}/cancel`, { method: 'POST' });
  if (answer === null) return {};
  // Asked again, it is canceled already.
  if (answer.status !== 200 && answer.status !== 409)
    throw new Error(`The cancel was answered with ${answer.status}: ${answer.text}`);
  const isClean = async () => {
    const rows = await servers.query(
      `select from ingestion_jobs where job_id = $1 and status = 'canceled' and not cleanup_open`,
      [jobId],
    );
    return rows.length === 1;
  };
  await untilOverOrDead(server, { isOver: isClean, what: 'nothing of the canceled run is left' });
  const last = await server.call(tenantId, `/api/ingestion/jobs/${kbId}/status`, {});
  return last === null ? {} : { status: (JSON.parse(last.text) as { status: string }).status };
}

interface FoundJobs {
  jobs: { jobId: string; status: string; isClear: boolean; leased: boolean; isOpen: boolean }[];
  rowsOfCanceled: number;
}

async function readJobs(servers: FailpointServers, tenantId: string): Promise<FoundJobs> {
  const [found] = await servers.query<FoundJobs & Record<string, unknown>>(
    `with canceled as (select job_id from ingestion_jobs where tenant_id = $1 and status = 'canceled')
     select
       (select json_agg(json_build_object('jobId', job_id, 'status', status,
                 'isClear', checkpoint = '{}' and counters = '{}', 'leased', leased_by is not null,
                 'isOpen', cleanup_open) order by job_id)
          from ingestion_jobs where tenant_id = $1) as jobs,
       ((select count(*) from embeddings_index where tenant_id = $1 and created_by_job in (table canceled))
        + (select count(*) from knowledge_links where tenant_id = $1 and job_id in (table canceled))
        + (select count(*) from knowledge_documents where tenant_id = $1 and created_by_job in (table canceled))
        + (select count(*) from knowledge_generations where tenant_id = $1 and built_by_job in (table canceled))
       )::integer as "rowsOfCanceled"`,
    [tenantId],
  );
  if (!found) throw new Error('The look at the jobs gave no row');
  return found;
}
