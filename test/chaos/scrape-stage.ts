import { setTimeout as pause } from 'node:timers/promises';
import { payloadHashOf } from '../../src/ingest/scrapes/handoffs/payload.ts';
import {
  type EmbeddingServer,
  embeddingDimensions,
  startEmbeddingServer,
} from '../support/fakes/embedding-server.ts';
import { type SyncCounts, sumOf } from '../support/servers/scrape-server.ts';
import { type Answer, type ItemServer, untilAccepted } from './items-stage.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';

/** A scrape source, and what was pushed to it and acknowledged: the ledger outside the database. */
export interface PushedSource {
  tenantId: string;
  kbId: string;
  source: string;
  /** The newest text of each reference, by its external id. */
  newest: Map<string, string>;
  /** `external id, payload hash` of everything that was ever pushed. */
  payloads: Set<string>;
}

export interface ScrapeStage {
  readonly sources: PushedSource[];
  /** How many syncs were acknowledged, and for how many references the response reported a failed hand-over. */
  readonly pushes: number;
  readonly failures: number;
  /** Responses whose counts did not add up. */
  readonly breaches: string[];
  /** Changes some references of the next source, some of them back to what they said before. */
  sendPush(): Promise<void>;
  /** Repeats everything until no response says that a reference could not be handed over. */
  pushUntilHandedOver(): Promise<void>;
  close(): Promise<void>;
}

export interface ScrapeOptions {
  server: ItemServer;
  tenantIds: readonly string[];
  seed: number;
  onRefusal: (answer: Answer) => void;
}

const referencesPerSource = 8;
const changesPerPush = 4;
const maxSettlings = 20;
/** Long enough that the next change comes while the last one is being ingested, and faults hit that state. */
const callMs = { least: 200, spread: 400 };

export async function openScrapes(options: ScrapeOptions): Promise<ScrapeStage> {
  const random = seededRandom(options.seed);
  const embedder = await startEmbeddingServer();
  embedder.onCall = async () => {
    await pause(callMs.least + random.below(callMs.spread));
    return null;
  };
  const sources: PushedSource[] = [];
  for (const tenantId of options.tenantIds) sources.push(await makeSource(options, { tenantId, embedder }));
  const breaches: string[] = [];
  const counts = { pushes: 0, failures: 0 };
  const push = async (source: PushedSource, names: readonly string[]): Promise<number> => {
    counts.pushes += 1;
    const answer = await sendReferences(options, source, { names, key: `push-${counts.pushes}` });
    counts.failures += answer.handoff_failed_count;
    if (sumOf(answer) !== names.length || answer.references_persisted !== names.length)
      breaches.push(`${names.length} references were pushed, and the answer was ${JSON.stringify(answer)}`);
    return answer.handoff_failed_count;
  };
  return {
    sources,
    breaches,
    get pushes() {
      return counts.pushes;
    },
    get failures() {
      return counts.failures;
    },
    async sendPush() {
      const source = sources[counts.pushes % sources.length] as PushedSource;
      await push(source, changeSome(source, random, counts.pushes));
    },
    async pushUntilHandedOver() {
      for (const source of sources) {
        for (let tries = 1; (await push(source, [...source.newest.keys()])) > 0; tries += 1) {
          if (tries === maxSettlings) throw new Error(`${source.kbId} could not be handed over any more`);
        }
      }
    },
    close: () => embedder.close(),
  };
}

async function makeSource(
  { server, onRefusal }: ScrapeOptions,
  { tenantId, embedder }: { tenantId: string; embedder: EmbeddingServer },
): Promise<PushedSource> {
  const made: PushedSource = {
    ...{ tenantId, kbId: 'wire', source: 'wire' },
    newest: new Map(),
    payloads: new Set(),
  };
  const { kbId, source } = made;
  const body = {
    ...{ kb_id: kbId, name: kbId },
    embedder: {
      provider: 'openai',
      base_url: embedder.url,
      model: tenantId,
      dimensions: embeddingDimensions,
    },
  };
  const base = () => server.call(tenantId, 'POST', '/api/knowledge', body, { idempotencyKey: kbId });
  await untilAccepted(base, { what: `making ${kbId}`, accepted: [201], onRefusal });
  const put = () =>
    server.call(tenantId, 'PUT', `/api/scraping/sources/${source}`, { mode: 'push', kb_id: kbId });
  await untilAccepted(put, { what: `the source ${source}`, accepted: [200, 201], onRefusal });
  return made;
}

/** Returns which; every third change restores the initial text. */
function changeSome(source: PushedSource, random: SeededRandom, number: number): string[] {
  const all = Array.from({ length: referencesPerSource }, (_, n) => `report-${n}`);
  const names = source.newest.size === 0 ? all : random.shuffle(all).slice(0, changesPerPush);
  for (const [at, name] of names.entries()) {
    const isFirst = source.newest.size < referencesPerSource || (number + at) % 3 === 0;
    const news = isFirst ? 'nothing is new' : `there is news${number}x${random.below(2 ** 30)}`;
    const content = `From the place of ${name} it is said that ${news} today.`;
    source.newest.set(name, content);
    source.payloads.add(payloadOf(name, content));
  }
  return names;
}

export function payloadOf(name: string, content: string): string {
  const { url, title } = referenceOf(name, content);
  return `${name} ${payloadHashOf({ url, title, content, metadata: {} })}`;
}

function referenceOf(name: string, content: string) {
  return { external_id: name, url: `https://example.com/${name}`, title: name, content };
}

async function sendReferences(
  { server, onRefusal }: ScrapeOptions,
  { tenantId, source, newest }: PushedSource,
  { names, key }: { names: readonly string[]; key: string },
): Promise<SyncCounts> {
  const references = names.map((name) => referenceOf(name, newest.get(name) ?? ''));
  const send = () =>
    server.call(tenantId, 'POST', `/api/scraping/${source}/sync`, { references }, { idempotencyKey: key });
  const { body } = await untilAccepted(send, { what: `the sync ${key}`, accepted: [200], onRefusal });
  return body as unknown as SyncCounts;
}
