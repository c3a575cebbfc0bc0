import { setTimeout as pause } from 'node:timers/promises';
import type { ChunkerSettings } from '../../src/ingest/knowledge/chunkers/chunker.ts';
import {
  type EmbeddingServer,
  embeddingDimensions,
  startEmbeddingServer,
} from '../support/fakes/embedding-server.ts';
import { documentForm } from '../support/servers/knowledge-server.ts';
import type { GivenDocument } from '../support/worlds/knowledge-ledger.ts';
import { type Answer, type ItemServer, untilAccepted } from './items-stage.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';

/** A knowledge base whose run was acknowledged. */
export interface SentBase {
  tenantId: string;
  kbId: string;
  jobId: string;
  documents: GivenDocument[];
  /** Words that stand in one of its documents and nowhere else. */
  marker: string;
}

/** Knowledge bases, and what was asked for them. */
export interface KnowledgeStage {
  readonly embedder: EmbeddingServer;
  /** The ledger outside the database. */
  readonly bases: SentBase[];
  /** How often a run was paused and resumed. */
  readonly pauses: number;
  sendBase(): Promise<void>;
  /** Resumes everything that was paused. */
  resumeAll(): Promise<void>;
  close(): Promise<void>;
}

export interface KnowledgeOptions {
  server: ItemServer;
  tenantIds: readonly string[];
  seed: number;
  onRefusal: (answer: Answer) => void;
}

export const baseChunker: ChunkerSettings = { strategy: 'markdown', maxTokens: 32 };
/** A call takes as long as a provider's would, so that faults find runs in the middle of them. */
const callMs = { least: 100, spread: 300 };
const filesPerBase = 3;
const sections = 40;

export async function openKnowledge(options: KnowledgeOptions): Promise<KnowledgeStage> {
  const { server, tenantIds, seed, onRefusal } = options;
  const random = seededRandom(seed);
  const embedder = await startEmbeddingServer();
  embedder.onCall = async () => {
    await pause(callMs.least + random.below(callMs.spread));
    return null;
  };
  const bases: SentBase[] = [];
  const paused: SentBase[] = [];
  let pauses = 0;
  const surely = async (send: () => Promise<Answer>, what: string, accepted: number[]) =>
    untilAccepted(send, { what, accepted, onRefusal });
  const move = ({ tenantId, jobId }: SentBase, name: 'pause' | 'resume') =>
    // Asked a second time, or of a run that is over, it is a conflict.
    surely(
      () => server.call(tenantId, 'POST', `/api/ingestion/jobs/${jobId}/${name}`),
      `${name} of ${jobId}`,
      [200, 409],
    );
  const resumeAll = async (): Promise<void> => {
    for (const base of paused.splice(0)) await move(base, 'resume');
  };
  return {
    embedder,
    bases,
    get pauses() {
      return pauses;
    },
    async sendBase() {
      await resumeAll();
      const number = bases.length;
      const tenantId = tenantIds[number % tenantIds.length] ?? '';
      const base = await sendBase({ server, surely, url: embedder.url }, planBase(number, tenantId, random));
      bases.push(base);
      if (number % 2 === 0) return;
      paused.push(base);
      if ((await move(base, 'pause')).status === 200) pauses += 1;
    },
    resumeAll,
    close: () => embedder.close(),
  };
}

type PlannedBase = Omit<SentBase, 'jobId'>;

/** Most texts are its own; one stands in all of its documents, and is embedded once. */
function planBase(number: number, tenantId: string, random: SeededRandom): PlannedBase {
  const marker = `marker${number}x${random.below(2 ** 30)}`;
  const common = `All documents of base ${number} end with the same words about ${wordsOf(random)}.`;
  const text = (name: string, count: number) =>
    [
      `# ${name} of base ${number}`,
      ...Array.from(
        { length: count },
        (_, n) => `## Part ${n}\n\nPart ${n} of ${name} is ${wordsOf(random)}.`,
      ),
      `## End\n\n${common}`,
    ].join('\n\n');
  const inline = `${text('handbook', sections)}\n\n## Mark\n\nOnly here stands ${marker}.`;
  const files = Array.from({ length: filesPerBase }, (_, n) => `file-${n}.md`);
  return {
    tenantId,
    kbId: `base-${number}`,
    marker,
    documents: [
      { uri: 'inline:content', name: null, content: inline },
      ...files.map((name) => ({ uri: `file:${name}`, name, content: text(name, 5 + random.below(20)) })),
    ],
  };
}

function wordsOf(random: SeededRandom): string {
  return Array.from({ length: 8 }, () => random.below(2 ** 30).toString(36)).join(' ');
}

interface Sender {
  server: ItemServer;
  url: string;
  surely(send: () => Promise<Answer>, what: string, accepted: number[]): Promise<Answer>;
}

/** Repeats each request with its key as often as necessary. */
async function sendBase({ server, url, surely }: Sender, planned: PlannedBase): Promise<SentBase> {
  const { tenantId, kbId, documents } = planned;
  const [inline, ...files] = documents;
  const body = {
    kb_id: kbId,
    name: kbId,
    chunker: { strategy: baseChunker.strategy, max_tokens: baseChunker.maxTokens },
    embedder: { provider: 'openai', base_url: url, model: kbId, dimensions: embeddingDimensions },
    sources: [{ type: 'markdown', content: inline?.content }],
  };
  const key = { idempotencyKey: kbId };
  await surely(() => server.call(tenantId, 'POST', '/api/knowledge', body, key), `making ${kbId}`, [201]);
  const form = () =>
    documentForm(Object.fromEntries(files.map(({ name, content }) => [name ?? '', content])));
  const route = `/api/knowledge/${kbId}/documents`;
  const sendFiles = () => server.postForm(tenantId, route, { body: form(), idempotencyKey: `${kbId}-files` });
  await surely(sendFiles, `the files of ${kbId}`, [201]);
  const start = () =>
    server.call(tenantId, 'POST', `/api/ingestion/jobs/${kbId}/start`, undefined, {
      idempotencyKey: `${kbId}-run`,
    });
  const { body: started } = await surely(start, `the run of ${kbId}`, [202]);
  return { ...planned, jobId: String(started.job_id) };
}
