import { isDeepStrictEqual } from 'node:util';
import { isVectorOf } from '../support/fakes/embedding-server.ts';
import {
  expectIndex,
  type IndexRows,
  indexRowsQuery,
  noLeftovers,
} from '../support/worlds/knowledge-ledger.ts';
import { baseChunker, type SentBase } from './knowledge-stage.ts';
import type { ProductStage } from './product-stage.ts';

type KnowledgeEvidence = Pick<ProductStage, 'database' | 'knowledge' | 'ask'>;

/** Every document with the chunks that the chunker makes of it, each embedded and linked once, and found. */
export async function examineKnowledge(stage: KnowledgeEvidence): Promise<string[]> {
  const { database, knowledge } = stage;
  if (knowledge === null) return [];
  const sent = new Set(knowledge.bases.map(({ jobId }) => jobId));
  const runs = await database.owner<FoundRun>(
    `select job_id as "jobId", status, counters, cleanup_open as "isOpen"
       from ingestion_jobs
      where pipeline = 'knowledge' and payload ->> 'referenceId' is null`,
  );
  const breaches = runs
    .filter(({ jobId }) => !sent.has(jobId))
    .map(({ jobId }) => `the run ${jobId} is there, and no answer named it`);
  for (const base of knowledge.bases) {
    const run = runs.find(({ jobId }) => jobId === base.jobId);
    breaches.push(...(await examineBase(stage, base, run)));
  }
  return breaches;
}

interface FoundRun {
  jobId: string;
  status: string;
  counters: Record<string, number>;
  isOpen: boolean;
}

async function examineBase(
  stage: KnowledgeEvidence,
  base: SentBase,
  run: FoundRun | undefined,
): Promise<string[]> {
  const { tenantId, kbId, documents: given } = base;
  const { counters, ...expected } = await expectIndex(given, baseChunker);
  const [rows] = await stage.database.owner<IndexRows>(indexRowsQuery, [tenantId, kbId]);
  const found = rows ?? { documents: [], links: [], chunks: [], leftovers: {} };
  const breaches: string[] = [];
  const compare = (what: string, one: unknown, other: unknown) => {
    if (!isDeepStrictEqual(one, other))
      breaches.push(`${kbId}: ${what} are ${short(one)} instead of ${short(other)}`);
  };
  compare(
    'status and counters',
    { ...run },
    { jobId: base.jobId, status: 'success', counters, isOpen: false },
  );
  compare('documents', found.documents, expected.documents);
  compare('links', found.links, expected.links);
  compare(
    'chunks',
    found.chunks.map(({ vector: _vector, ...chunk }) => chunk),
    expected.chunks,
  );
  compare('leftovers', found.leftovers, noLeftovers);
  const misplaced = found.chunks.filter(({ text, vector }) => !isVectorOf(text, Buffer.from(vector, 'hex')));
  breaches.push(...misplaced.map(({ text }) => `${kbId}: "${text}" has another text's vector`));
  const marked = expected.chunks.find(({ text }) => text.includes(base.marker))?.text ?? '';
  return [...breaches, ...(await examineView(stage, base, marked))];
}

/** The API shows the same. A search by meaning finds the text itself: no other text has its vector. */
async function examineView(
  { ask }: KnowledgeEvidence,
  { tenantId, kbId, marker }: SentBase,
  marked: string,
): Promise<string[]> {
  const { body } = await ask(tenantId, 'GET', `/api/ingestion/jobs/${kbId}/status`, [200]);
  const breaches = body.status === 'completed' ? [] : [`${kbId} is shown as ${short(body)}`];
  for (const [mode, query] of [
    ['text', marker],
    ['vector', marked],
  ]) {
    const wish = { query, mode, limit: 1 };
    const answer = await ask(tenantId, 'POST', `/api/knowledge/${kbId}/search`, [200], wish);
    const [first] = (answer.body.results ?? []) as { text: string }[];
    if (first?.text !== marked) breaches.push(`${kbId}: ${short(wish)} finds ${short(first ?? null)}`);
  }
  return breaches;
}

export interface KnowledgeSummary {
  bases: number;
  chunks: number;
  pauses: number;
  /** Texts that were embedded more than once: a worker had gone before their commit. */
  askedAgain: number;
}

export function summariseKnowledge({ knowledge }: Pick<ProductStage, 'knowledge'>): KnowledgeSummary {
  const asked = new Map<string, number>();
  for (const { model, texts } of knowledge?.embedder.calls ?? []) {
    for (const text of texts) asked.set(`${model} ${text}`, (asked.get(`${model} ${text}`) ?? 0) + 1);
  }
  return {
    bases: knowledge?.bases.length ?? 0,
    chunks: asked.size,
    pauses: knowledge?.pauses ?? 0,
    askedAgain: [...asked.values()].filter((times) => times > 1).length,
  };
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text;
}
