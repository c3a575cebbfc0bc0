import { isDeepStrictEqual } from 'node:util';
import { type IndexRows, indexRowsQuery, noLeftovers } from '../support/worlds/knowledge-ledger.ts';
import type { ProductStage } from './product-stage.ts';
import { type PushedSource, payloadOf } from './scrape-stage.ts';

type ScrapeEvidence = Pick<ProductStage, 'database' | 'scrapes' | 'ask'>;

export interface ScrapeSummary {
  pushes: number;
  handoffs: number;
  jobs: number;
  /** References that a response reported as not handed over, and that were pushed again. */
  failures: number;
}

/** Every reference once with its newest text, every payload handed over and ended, and the newest of them found. */
export async function examineScrapes(
  stage: ScrapeEvidence,
): Promise<{ breaches: string[]; scrapes: ScrapeSummary }> {
  const summary = { pushes: 0, handoffs: 0, jobs: 0, failures: 0 };
  const { scrapes } = stage;
  if (scrapes === null) return { breaches: [], scrapes: summary };
  summary.pushes = scrapes.pushes;
  summary.failures = scrapes.failures;
  const breaches = [...scrapes.breaches];
  for (const source of scrapes.sources) {
    const [found] = await stage.database.owner<FoundSource>(sourceQuery, [source.tenantId, source.source]);
    if (!found) throw new Error('The look at a source gave no row');
    summary.handoffs += found.handoffs.length;
    summary.jobs += found.jobs;
    breaches.push(...examineRows(source, found, scrapes.failures), ...(await examineTexts(stage, source)));
  }
  return { breaches, scrapes: summary };
}

interface FoundSource {
  references: string[];
  handoffs: { payload: string; status: string; reason: string; isLatest: boolean; job: string | null }[];
  jobs: number;
  leftovers: Record<string, number>;
}

const nothingLeft = { jobsThatFailed: 0, moreJobsThanTurns: 0 };

const sourceQuery = `
  select
    (select coalesce(json_agg(concat_ws(' ', external_id, payload_hash)), '[]')
       from scrape_references where tenant_id = $1 and source = $2) as references,
    (select coalesce(json_agg(json_build_object(
              'payload', concat_ws(' ', r.external_id, h.payload_hash), 'status', h.status, 'reason', h.reason_code,
              'isLatest', h.turn = (select max(o.turn) from ingestion_handoffs o
                                     where o.tenant_id = $1 and o.reference_id = h.reference_id),
              'job', (select j.status from ingestion_jobs j
                       where j.tenant_id = $1 and j.job_id = h.job_id and j.subject_id = h.reference_id::text))), '[]')
       from ingestion_handoffs h
       join scrape_references r using (tenant_id, reference_id)
      where h.tenant_id = $1 and h.source = $2) as handoffs,
    (select count(*)::integer from ingestion_jobs
      where tenant_id = $1 and pipeline = 'knowledge' and payload ->> 'referenceId' is not null) as jobs,
    json_build_object(
      'jobsThatFailed', (
        select count(*) from ingestion_jobs
         where tenant_id = $1 and pipeline = 'knowledge' and payload ->> 'referenceId' is not null
           and status <> 'success'),
      -- Each time that a payload is opened makes one job at most.
      'moreJobsThanTurns', (
        select count(*) from scrape_references r
         where r.tenant_id = $1
           and (select count(*) from ingestion_jobs j
                 where j.tenant_id = $1 and j.pipeline = 'knowledge' and j.subject_id = r.reference_id::text)
             > (select max(h.turn) from ingestion_handoffs h
                 where h.tenant_id = $1 and h.reference_id = r.reference_id))) as leftovers`;

function examineRows(source: PushedSource, found: FoundSource, failures: number): string[] {
  const { tenantId, newest, payloads } = source;
  const breaches: string[] = [];
  const compare = (what: string, one: unknown, other: unknown) => {
    if (!isDeepStrictEqual(one, other))
      breaches.push(`${tenantId}: ${what} are ${short(one)} instead of ${short(other)}`);
  };
  const references = [...newest].map(([name, content]) => payloadOf(name, content));
  compare('references', found.references.sort(), references.sort());
  compare('hand-offs', found.handoffs.map(({ payload }) => payload).sort(), [...payloads].sort());
  compare(
    'latest hand-offs',
    found.handoffs.filter(({ isLatest }) => isLatest).map(({ payload }) => payload),
    found.handoffs.filter(({ payload }) => references.includes(payload)).map(({ payload }) => payload),
  );
  compare('leftovers', found.leftovers, nothingLeft);
  // One that was replaced before it could be handed over may stay as failed; its client was told so.
  const isRight = ({ status, reason, isLatest, job }: FoundSource['handoffs'][number]) =>
    (status === 'completed' && job === 'success') ||
    (!isLatest && failures > 0 && status === 'failed' && reason === 'retry_exhausted');
  const wrong = found.handoffs.filter((handoff) => !isRight(handoff));
  return [...breaches, ...wrong.map((handoff) => `${tenantId}: a hand-off is ${short(handoff)}`)];
}

/** The index has the newest texts and no others, and search finds them. */
async function examineTexts(
  { database, ask }: ScrapeEvidence,
  { tenantId, kbId, newest }: PushedSource,
): Promise<string[]> {
  const [rows] = await database.owner<IndexRows>(indexRowsQuery, [tenantId, kbId]);
  const texts = rows?.chunks.map(({ text }) => text).sort();
  const breaches: string[] = [];
  if (!isDeepStrictEqual(texts, [...newest.values()].sort()))
    breaches.push(`${tenantId}: the index says ${short(texts)} instead of ${short([...newest.values()])}`);
  if (!isDeepStrictEqual(rows?.leftovers, noLeftovers))
    breaches.push(`${tenantId}: leftovers of the index are ${short(rows?.leftovers)}`);
  for (const query of newest.values()) {
    // By meaning a text finds itself: no other one has its vector.
    const wish = { query, mode: 'vector', limit: 1 };
    const answer = await ask(tenantId, 'POST', `/api/knowledge/${kbId}/search`, [200], wish);
    const [first] = (answer.body.results ?? []) as { text: string }[];
    if (first?.text !== query) breaches.push(`${tenantId}: "${query}" finds ${short(first ?? null)}`);
  }
  return breaches;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text;
}
