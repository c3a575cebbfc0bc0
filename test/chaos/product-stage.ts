import { setTimeout as pause } from 'node:timers/promises';
import type { CommandLine } from '../support/servers/command-line.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import type { ProductQuota } from './chaos-quota.ts';
import { moodyReply, type UploadedJob } from './items-chaos.ts';
import { type PlannedJob, planExtraJob, planJobs } from './items-ledger.ts';
import { type RuledProvider, startRuledProvider } from './items-provider.ts';
import {
  type Answer,
  type ItemServer,
  type ItemWorker,
  installationEnv,
  startServer,
  startWorker,
  untilCreated,
  uploadSurely,
} from './items-stage.ts';
import { type KnowledgeStage, openKnowledge } from './knowledge-stage.ts';
import { openScrapes, type ScrapeStage } from './scrape-stage.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import { planReport, reportsAtOnce, type SentReport, workspaceCount } from './upload-ledger.ts';

/** A server and workers of the product over HTTP, and everything that it has acknowledged. */
export interface ProductStage {
  readonly quota: ProductQuota;
  readonly database: Pick<TestDatabase, 'owner' | 'ownerUrl'>;
  readonly server: ItemServer;
  /** The worker in each place; a dead one is replaced. */
  readonly workers: ItemWorker[];
  /** Every process that was ever started. */
  readonly everyWorker: ItemWorker[];
  readonly provider: RuledProvider;
  readonly isMended: boolean;
  /** The ledgers outside the database. */
  readonly uploaded: UploadedJob[];
  readonly reports: SentReport[];
  readonly knowledge: KnowledgeStage | null;
  readonly scrapes: ScrapeStage | null;
  readonly places: readonly { tenantId: string; workspaceId: string }[];
  readonly breaches: string[];
  /** Requests that were refused at first, with the message; the client tries again. */
  readonly refusals: Answer[];
  /** Sends what is due when this share of the faults has happened. */
  sendUpTo(share: number): Promise<void>;
  /** One more, because a fault found no worker processing it. */
  sendExtra(of: 'items' | 'uploads' | 'knowledge' | 'scrapes'): Promise<void>;
  replaceDead(): void;
  /** Repeats while the response is that the database is away; any other unexpected response is a breach. */
  ask(tenantId: string, method: string, path: string, foreseen: number[], body?: object): Promise<Answer>;
  close(): Promise<void>;
}

export interface ProductOptions {
  sluice: CommandLine;
  database: Pick<TestDatabase, 'owner' | 'ownerUrl'>;
  quota: ProductQuota;
  leaseMs: number;
  seed: number;
  /** How the process in a place reaches the database; place -1 is the server. */
  envOf: (place: number) => Record<string, string>;
}

/** Small slices, so that an upload or a run is taken from worker to worker. */
const sliceEnv = { UPLOAD_SLICE_MS: '150', KNOWLEDGE_SLICE_MS: '150', SLUICE_AUTO_MIGRATE: 'false' };

export async function openProduct(options: ProductOptions): Promise<ProductStage> {
  const { sluice, database, quota, seed } = options;
  const moods = seededRandom(seed + 1);
  const provider = await startRuledProvider((call) => moodyReply(call, { isMended: false, moods }));
  const env = (place: number) => ({
    ...installationEnv(database, options),
    ...sliceEnv,
    ...options.envOf(place),
  });
  const places = await makePlaces(database);
  const server = await startServer(sluice, env(-1));
  const everyWorker: ItemWorker[] = [];
  const start = (place: number): ItemWorker => {
    const worker = startWorker(sluice, env(place));
    everyWorker.push(worker);
    return worker;
  };
  const workers = Array.from({ length: quota.workers }, (_, place) => start(place));
  const breaches: string[] = [];
  const ledgers = { uploaded: [] as UploadedJob[], reports: [] as SentReport[], refusals: [] as Answer[] };
  const onRefusal = (answer: Answer) => ledgers.refusals.push(answer);
  const tenantIds = places.map(({ tenantId }) => tenantId);
  const knowledge = quota.bases
    ? await openKnowledge({ server, tenantIds, seed: seed + 3, onRefusal })
    : null;
  const scrapes = quota.pushes ? await openScrapes({ server, tenantIds, seed: seed + 4, onRefusal }) : null;
  const sending = openSending({
    knowledge,
    scrapes,
    quota,
    server,
    places,
    provider,
    ...ledgers,
    random: seededRandom(seed + 2),
  });
  return {
    ...{ quota, database, server, workers, everyWorker, provider, knowledge, scrapes, places, breaches },
    ...ledgers,
    ...sending,
    isMended: false,
    replaceDead() {
      for (const [place, { isLiving }] of workers.entries()) if (!isLiving) workers[place] = start(place);
    },
    ask: (...wish) => askSurely(server, breaches, wish),
    async close() {
      for (const { running } of [...everyWorker, server]) {
        running.child.kill('SIGKILL');
        await running.ended;
      }
      await knowledge?.close();
      await scrapes?.close();
      await provider.close();
    },
  };
}

interface Sending
  extends Pick<ProductStage, 'quota' | 'server' | 'places' | 'provider' | 'knowledge' | 'scrapes'> {
  uploaded: UploadedJob[];
  reports: SentReport[];
  refusals: Answer[];
  random: SeededRandom;
}

function openSending(to: Sending): Pick<ProductStage, 'sendUpTo' | 'sendExtra'> {
  const { quota, random, uploaded, reports, knowledge, scrapes } = to;
  const files = quota.items === null ? [] : planJobs(quota.items, random, to.provider.url);
  // One after the other: of two reports of a workspace it must be known which is the newer one.
  let line: Promise<void> = Promise.resolve();
  const inLine = (work: () => Promise<void>): Promise<void> => {
    line = line.then(work);
    return line;
  };
  const extra = {
    items: () => sendFile(to, planExtraJob(uploaded.length, random, to.provider.url)),
    uploads: () => sendReports(to),
    knowledge: async () => knowledge?.sendBase(),
    scrapes: async () => scrapes?.sendPush(),
  };
  return {
    sendUpTo: (share) =>
      inLine(async () => {
        while (uploaded.length < Math.min(files.length, Math.ceil(share * files.length)))
          await sendFile(to, files[uploaded.length] as PlannedJob);
        while (reports.length < Math.ceil(share * quota.reports)) await sendReports(to);
        const due = Math.ceil(share * (quota.bases ?? 0));
        while (knowledge && knowledge.bases.length < due) await knowledge.sendBase();
        while (scrapes && scrapes.pushes < Math.ceil(share * (quota.pushes ?? 0))) await scrapes.sendPush();
        if (share >= 1) await Promise.all([knowledge?.resumeAll(), scrapes?.pushUntilHandedOver()]);
      }),
    sendExtra: (of) => inLine(extra[of]),
  };
}

async function sendFile(to: Sending, job: PlannedJob): Promise<void> {
  const tenantId = to.places[to.uploaded.length % to.places.length]?.tenantId ?? '';
  const onRefusal = (answer: Answer) => to.refusals.push(answer);
  const jobId = await uploadSurely(() => to.server, tenantId, job, onRefusal);
  to.uploaded.push({ ...job, tenantId, jobId });
}

/** Several of them without a pause, so that they run at the same time. */
async function sendReports(to: Sending): Promise<void> {
  do await sendReport(to);
  while (to.reports.length % reportsAtOnce !== 0);
}

async function sendReport(to: Sending): Promise<void> {
  const planned = planReport(to.reports.length, to.quota.reportRows, to.random);
  const { tenantId, workspaceId } = to.places[planned.place] ?? { tenantId: '', workspaceId: '' };
  const { bytes, platform, filename } = planned.make(planned.size);
  const send = () =>
    to.server.postForm(tenantId, '/api/uploads', {
      body: uploadForm(bytes, { workspace_id: workspaceId, platform }, filename),
      idempotencyKey: planned.name,
    });
  const { upload_id: uploadId } = await untilCreated(send, `the upload of ${planned.name}`, (answer) =>
    to.refusals.push(answer),
  );
  to.reports.push({ ...planned, uploadId: String(uploadId) });
}

async function makePlaces(database: ProductOptions['database']): Promise<ProductStage['places']> {
  const places: { tenantId: string; workspaceId: string }[] = [];
  for (let number = 0; number < workspaceCount; number += 1) {
    const tenantId = `uploader-${number}`;
    await database.owner('insert into tenants (tenant_id, name) values ($1, $1)', [tenantId]);
    const [row] = await database.owner<{ id: string }>(
      `insert into workspaces (tenant_id, workspace_id, name)
       values ($1, gen_random_uuid(), 'Reports')
       returning workspace_id as id`,
      [tenantId],
    );
    places.push({ tenantId, workspaceId: row?.id ?? '' });
  }
  return places;
}

const maxAsks = 40;

async function askSurely(
  server: ItemServer,
  breaches: string[],
  [tenantId, method, path, foreseen, body]: Parameters<ProductStage['ask']>,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await server.call(tenantId, method, path, body);
    if (foreseen.includes(answer.status)) return answer;
    if (answer.status !== 503) breaches.push(`${method} ${path}: ${JSON.stringify(answer)}`);
    if (answer.status !== 503 || attempt === maxAsks) return answer;
    await pause(100);
  }
}
