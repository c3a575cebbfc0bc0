import pino from 'pino';
import { Registry } from 'prom-client';
import type { HandOverDeps } from '../../src/ingest/scrapes/handoffs/hand-over.ts';
import { payloadHashOf } from '../../src/ingest/scrapes/handoffs/payload.ts';
import { ScrapeMetrics } from '../../src/ingest/scrapes/metrics.ts';
import { failAbandonedRuns } from '../../src/ingest/scrapes/runs/run-store.ts';
import { handOverLeft } from '../../src/ingest/scrapes/upkeep.ts';
import { Quotas } from '../../src/kernel/jobs/dispatch/quotas.ts';
import { JobMetrics } from '../../src/kernel/jobs/metrics.ts';
import { WakeUp } from '../../src/kernel/jobs/wake-up.ts';
import { type EmbeddingServer, embeddingDimensions } from '../support/fakes/embedding-server.ts';
import type { WebSite } from '../support/fakes/site.ts';
import { type SyncCounts, sumOf } from '../support/servers/scrape-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { noLeftovers } from '../support/worlds/knowledge-ledger.ts';
import { knowledgeDoor } from '../support/worlds/scrape-house.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';
import { checkFound, kbId, post, readIndex } from './knowledge-path.ts';

interface ScrapeWorld {
  database: TestDatabase;
  servers: FailpointServers;
  embedder: () => EmbeddingServer;
}

/** The responses to both syncs. */
export interface PushAnswers {
  second: string;
  third: string;
}

/** One slice at a time, so that runs have the same points. */
export const scrapeEnv = { SLUICE_WORKER_CONCURRENCY: '1' };

const source = 'harbour';
const ferry = (content: string) => referenceOf('ferry', content);
const ferries = [
  ferry('The ferry leaves at nine from the northern quay.'),
  ferry('The ferry leaves at noon from the southern quay.'),
  ferry('The ferry stays in its harbour until the storm is over.'),
] as const;
const lighthouse = referenceOf('lighthouse', 'The keeper of the lighthouse counts the ships of the evening.');

function referenceOf(name: string, content: string) {
  return { external_id: name, url: `https://example.com/${name}`, title: name, content };
}

function hashOf({ url, title, content }: ReturnType<typeof referenceOf>): string {
  return payloadHashOf({ url, title, content, metadata: {} });
}

/**
 * Two references are there and ingested; one of them changes, and changes again while that is being ingested, so that
 * the last payload gets its job from the database.
 */
export function pushPath(world: ScrapeWorld): CrashPath<PushAnswers> {
  return {
    async prepare(tenantId, server) {
      await prepareSource(world, server, { tenantId, body: { mode: 'push' } });
      await sync(server, tenantId, { key: 'first', references: [ferries[0], lighthouse] });
      await untilHandedOver(world, server, tenantId);
    },
    take: (server, tenantId) => takePushes(world, server, tenantId),
    async check(server, tenantId, answers) {
      const counts = Object.values(answers).map((text) => JSON.parse(text) as SyncCounts);
      await endAbandoned(world.database);
      return [
        ...differences(
          { persisted: counts.map((one) => one.references_persisted), sums: counts.map(sumOf) },
          { persisted: [2, 1], sums: [2, 1] },
        ),
        ...differences(await readScrape(world.servers, tenantId), {
          references: [`ferry ${hashOf(ferries[2])}`, `lighthouse ${hashOf(lighthouse)}`],
          handoffs: [...ferries, lighthouse].map(
            (one) => `${one.external_id} ${hashOf(one)} completed by a job of its own`,
          ),
          jobs: { knowledge: 4 },
          completedRuns: 3,
          leftovers: nothingLeft,
        }),
        ...(await checkTexts(world.servers, tenantId, [ferries[2].content, lighthouse.content])),
        ...(await checkFound(server, tenantId, 'until the storm is over')),
      ];
    },
  };
}

async function prepareSource(
  { embedder }: ScrapeWorld,
  server: FailpointServer,
  { tenantId, body }: { tenantId: string; body: object },
): Promise<void> {
  await post(server, tenantId, {
    route: '/api/knowledge',
    key: 'the-base',
    body: {
      kb_id: kbId,
      name: 'Harbour',
      embedder: {
        provider: 'openai',
        base_url: embedder().url,
        model: tenantId,
        dimensions: embeddingDimensions,
      },
    },
  });
  const answer = await server.call(tenantId, `/api/scraping/sources/${source}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, kb_id: kbId }),
  });
  if (answer?.status !== 201) throw new Error(`The source was not made: ${JSON.stringify(answer)}`);
}

async function takePushes(
  world: ScrapeWorld,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<PushAnswers>> {
  const held = holdCall(world.embedder(), { tenantId, word: 'noon' });
  try {
    const push = (key: string, references: object[]) => sync(server, tenantId, { key, references });
    const second = await push('second', [ferries[1], lighthouse]);
    if (second === null) return {};
    await untilOverOrDead(server, {
      isOver: async () => held.isReached() || (await hasEnded(world, tenantId, hashOf(ferries[1]))),
      what: 'the second payload is being ingested',
    });
    const third = await push('third', [ferries[2]]);
    held.letGo();
    if (third === null) return { second };
    await untilHandedOver(world, server, tenantId);
    return { second, third };
  } finally {
    held.letGo();
  }
}

/** The call for this word stays open until it is let go, or the process that made it is dead. */
function holdCall(
  embedder: EmbeddingServer,
  { tenantId, word }: { tenantId: string; word: string },
): { isReached(): boolean; letGo(): void } {
  let isReached = false;
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  embedder.onCall = async ({ model, texts, signal }) => {
    if (model !== tenantId || !texts.some((text) => text.includes(word))) return null;
    isReached = true;
    const gone = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await Promise.race([released, gone]);
    return null;
  };
  return { isReached: () => isReached, letGo };
}

async function sync(
  server: FailpointServer,
  tenantId: string,
  { key, references }: { key: string; references?: object[] },
): Promise<string | null> {
  const answer = await post(server, tenantId, {
    route: `/api/scraping/${source}/sync`,
    key,
    ...(references ? { body: { references }, status: 200 } : { status: 202 }),
  });
  return answer?.text ?? null;
}

async function hasEnded({ servers }: ScrapeWorld, tenantId: string, hash: string): Promise<boolean> {
  const rows = await servers.query(
    `select from ingestion_handoffs
      where tenant_id = $1 and payload_hash = $2 and status in ('completed', 'failed')`,
    [tenantId, hash],
  );
  return rows.length > 0;
}

/** Released jobs have ended, and living workers hold the rest. */
async function untilHandedOver(
  { servers }: ScrapeWorld,
  server: FailpointServer,
  tenantId: string,
): Promise<void> {
  const isOver = async () => {
    const open = await servers.query(
      `select from ingestion_handoffs where tenant_id = $1 and status in ('queued', 'running')
        union all
       select from ingestion_jobs where tenant_id = $1 and status not in ('success', 'dead_letter')`,
      [tenantId],
    );
    return open.length === 0;
  };
  await untilOverOrDead(server, { isOver, what: 'every hand-off has ended' });
}

export interface CrawlAnswers {
  scrapeRunId: string;
}

export const harbourPages = {
  '/': { title: 'Harbour', text: 'The harbour has three quays and a crane.', links: ['/crane'] },
  '/crane': { title: 'Crane', text: 'The crane lifts boats out of the water in autumn.' },
};

/** A site is crawled, and its pages are ingested. */
export function crawlPath(world: ScrapeWorld, site: WebSite): CrashPath<CrawlAnswers> {
  const taken = new Set<string>();
  const body = { mode: 'crawl', url: site.url, sitemap: false };
  const paths = Object.keys(harbourPages);
  return {
    prepare: (tenantId, server) => prepareSource(world, server, { tenantId, body }),
    async take(server, tenantId) {
      const answer = await sync(server, tenantId, { key: 'the-crawl' });
      if (answer === null) return {};
      const { scrape_run_id: scrapeRunId } = JSON.parse(answer) as SyncCounts;
      await untilOverOrDead(server, {
        isOver: () => isRunOver(world, scrapeRunId),
        what: 'the crawl is over',
      });
      // What a crawl's process has persisted and not handed over is upkeep's, two minutes later.
      if (taken.has(tenantId)) await handOverLeft(handOverDeps(world.database), { olderThanMs: 0 });
      taken.add(tenantId);
      await untilHandedOver(world, server, tenantId);
      return { scrapeRunId };
    },
    async check(server, tenantId, { scrapeRunId }) {
      const { references, handoffs, ...rest } = await readScrape(world.servers, tenantId);
      const urls = (found: string[]) => found.map((one) => one.replace(site.url, '').split(' ')[0]);
      const endings = handoffs.map((one) => one.split(' ').slice(2).join(' '));
      return [
        ...differences(
          { references: urls(references), handoffs: urls(handoffs), endings, ...rest },
          {
            references: paths,
            handoffs: paths,
            endings: paths.map(() => 'completed by a job of its own'),
            jobs: { knowledge: paths.length, scrapes: 1 },
            completedRuns: 1,
            leftovers: nothingLeft,
          },
        ),
        ...(await checkRun(server, tenantId, scrapeRunId)),
        ...(await checkFound(server, tenantId, 'lifts boats out of the water')),
      ];
    },
  };
}

async function isRunOver({ servers }: ScrapeWorld, scrapeRunId: string): Promise<boolean> {
  const rows = await servers.query(
    `select from scrape_runs where scrape_run_id = $1 and status <> 'running'`,
    [scrapeRunId],
  );
  return rows.length > 0;
}

async function checkRun(server: FailpointServer, tenantId: string, scrapeRunId: string): Promise<string[]> {
  const route = `/api/scraping/${source}/runs/${scrapeRunId}`;
  const answer = await server.call(tenantId, route, {});
  const run = JSON.parse(answer?.text ?? '{}') as SyncCounts & { status: string; handoffs: object };
  return differences(
    { status: run.status, persisted: run.references_persisted, sum: sumOf(run), handoffs: run.handoffs },
    {
      status: 'completed',
      persisted: 2,
      sum: 2,
      handoffs: { queued: 0, running: 0, completed: 2, failed: 0 },
    },
  );
}

/** As upkeep has it. */
function handOverDeps({ db }: TestDatabase): HandOverDeps {
  return {
    db,
    wake: new WakeUp(db),
    metrics: new JobMetrics(new Registry()),
    quotas: new Quotas({ db, maxQueued: 100_000 }),
    knowledge: knowledgeDoor,
    policy: { maxAttempts: 3, retryBaseMs: 0 },
    scrapes: new ScrapeMetrics(new Registry()),
    logger: pino({ level: 'silent' }),
  };
}

/** What upkeep does a quarter of an hour later; nothing else runs here. */
async function endAbandoned({ db }: TestDatabase): Promise<void> {
  await db.kernel((tx) => failAbandonedRuns(tx, { olderThanMs: 0, limit: 100 }));
}

interface FoundScrape {
  references: string[];
  handoffs: string[];
  jobs: Record<string, number>;
  completedRuns: number;
  leftovers: Record<string, number>;
}

const nothingLeft = {
  openRuns: 0,
  strangeFailures: 0,
  jobsOfNoHandoff: 0,
  leases: 0,
  frontier: 0,
  referencesOfNoRun: 0,
};

const scrapeQuery = `
  select
    (select coalesce(json_agg(concat_ws(' ', external_id, payload_hash) order by external_id), '[]')
       from scrape_references where tenant_id = $1) as references,
    (select coalesce(json_agg(concat_ws(' ', r.external_id, h.payload_hash, h.status,
              case when j.status = 'success' and j.sharing = 1 then 'by a job of its own' end)
              order by r.external_id, h.turn), '[]')
       from ingestion_handoffs h
       join scrape_references r using (tenant_id, reference_id)
       left join lateral (
         select j.status, (select count(*) from ingestion_handoffs o
                            where o.tenant_id = $1 and o.job_id = j.job_id) as sharing
           from ingestion_jobs j
          where j.tenant_id = $1 and j.job_id = h.job_id and j.subject_id = h.reference_id::text) j on true
      where h.tenant_id = $1) as handoffs,
    (select coalesce(json_object_agg(pipeline, count order by pipeline), '{}')
       from (select pipeline, count(*)::integer from ingestion_jobs where tenant_id = $1 group by pipeline) p) as jobs,
    (select count(*)::integer from scrape_runs where tenant_id = $1 and status = 'completed') as "completedRuns",
    json_build_object(
      'openRuns', (select count(*) from scrape_runs where tenant_id = $1 and status = 'running'),
      'strangeFailures', (
        select count(*) from scrape_runs
         where tenant_id = $1 and status = 'failed' and error_code <> 'scrape_run_abandoned'),
      'jobsOfNoHandoff', (
        select count(*) from ingestion_jobs j
         where j.tenant_id = $1 and j.pipeline = 'knowledge'
           and not exists (select from ingestion_handoffs h
                            where h.tenant_id = j.tenant_id and h.job_id = j.job_id)),
      'leases', (select count(*) from ingestion_jobs where tenant_id = $1 and leased_by is not null),
      'frontier', (select count(*) from crawl_frontier where tenant_id = $1),
      'referencesOfNoRun', (
        select count(*) from scrape_references r
         where r.tenant_id = $1
           and not exists (select from scrape_runs u
                            where u.tenant_id = r.tenant_id and u.scrape_run_id = r.scrape_run_id))) as leftovers`;

async function readScrape(servers: FailpointServers, tenantId: string): Promise<FoundScrape> {
  const [found] = await servers.query<FoundScrape & Record<string, unknown>>(scrapeQuery, [tenantId]);
  if (!found) throw new Error('The look at the scrape gave no row');
  return found;
}

/** What search goes through has the newest texts, and nothing of those that they replaced. */
async function checkTexts(servers: FailpointServers, tenantId: string, texts: string[]): Promise<string[]> {
  const { chunks, documents, leftovers } = await readIndex(servers, tenantId);
  return differences(
    { texts: chunks.map(({ text }) => text).sort(), documents: documents.length, leftovers },
    { texts: texts.toSorted(), documents: texts.length, leftovers: noLeftovers },
  );
}
