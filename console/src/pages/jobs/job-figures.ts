import type { Job } from '../../api/types.ts';
import type { CountPart } from '../../parts/count-parts.ts';
import type { Tone } from '../../parts/status.ts';

export interface JobFigures {
  total: number;
  /** For one, and for many. */
  nouns: readonly [string, string];
  parts: CountPart[];
  /** How much has ended; null where the total is unknown. */
  progress: { done: number; total: number | null } | null;
}

type Counters = Record<string, number>;
type PartSpec = readonly [counter: string, label: string, tone: Tone];

/** What a job has counted so far, as a sum that adds up; null where it counts nothing (yet). */
export function figuresOf(
  job: Pick<Job, 'pipeline' | 'counters' | 'stage' | 'status'> & { counts?: unknown; totalItems?: unknown },
): JobFigures | null {
  const counters = liveCounts(job) ?? job.counters;
  if (Object.keys(counters).length === 0) return null;
  switch (job.pipeline) {
    case 'items':
      return itemFigures(counters);
    case 'uploads':
      return uploadFigures(counters, job);
    case 'knowledge':
      return knowledgeFigures(counters);
    case 'scrapes':
      return scrapeFigures(counters);
    case 'sync':
      return {
        total: counters.records_synced ?? 0,
        nouns: ['record synced', 'records synced'],
        parts: [],
        progress: null,
      };
    default:
      return null;
  }
}

/** An items job keeps its counts beside its rows; its counters are written only when it ends. */
function liveCounts({ counts, totalItems }: { counts?: unknown; totalItems?: unknown }): Counters | null {
  if (typeof counts !== 'object' || counts === null || typeof totalItems !== 'number') return null;
  const { PENDING, PROCESSING, DONE, ERROR, NOT_FOUND, SKIPPED } = counts as Counters;
  const [pending, processing, done] = [PENDING ?? 0, PROCESSING ?? 0, DONE ?? 0];
  const [error, notFound, skipped] = [ERROR ?? 0, NOT_FOUND ?? 0, SKIPPED ?? 0];
  return { total: totalItems, pending, processing, done, error, notFound, skipped };
}

function itemFigures(counters: Counters): JobFigures {
  const parts = partsOf(counters, [
    ['done', 'done', 'done'],
    ['notFound', 'not found', 'queued'],
    ['error', 'errors', 'failed'],
    ['skipped', 'skipped', 'canceled'],
    ['processing', 'processing', 'running'],
    ['pending', 'pending', 'queued'],
  ]);
  const total = counters.total ?? 0;
  const open = (counters.pending ?? 0) + (counters.processing ?? 0);
  return { total, nouns: ['row', 'rows'], parts, progress: { done: total - open, total } };
}

/** The rows of the file are known only when it has been read to its end. */
function uploadFigures(counters: Counters, job: Pick<Job, 'stage' | 'status'>): JobFigures {
  const total = counters.total_rows ?? 0;
  const isRead = job.status === 'success' || (job.stage !== null && job.stage !== 'parse');
  const parts = partsOf(counters, [
    ['valid_rows', 'accepted', 'done'],
    ['invalid_rows', 'rejected', 'failed'],
  ]);
  return {
    total,
    nouns: ['row read', 'rows read'],
    parts,
    progress: { done: total, total: isRead ? total : null },
  };
}

function knowledgeFigures(counters: Counters): JobFigures {
  const total = counters.docs_seen ?? 0;
  const other = partsOf(counters, [
    ['docs_unchanged', 'unchanged', 'queued'],
    ['docs_empty', 'empty', 'queued'],
    ['docs_error', 'with errors', 'failed'],
  ]);
  const indexed = total - other.reduce((sum, part) => sum + part.value, 0);
  const parts: CountPart[] = [{ label: 'indexed', value: Math.max(0, indexed), tone: 'done' }, ...other];
  return { total, nouns: ['document', 'documents'], parts, progress: { done: total, total: null } };
}

function scrapeFigures(counters: Counters): JobFigures {
  const total = counters.persisted ?? 0;
  const known = partsOf(counters, [
    ['created', 'new', 'done'],
    ['changed', 'changed', 'running'],
  ]);
  const rest = total - known.reduce((sum, part) => sum + part.value, 0);
  const parts: CountPart[] = [...known, { label: 'unchanged', value: Math.max(0, rest), tone: 'queued' }];
  return { total, nouns: ['reference', 'references'], parts, progress: { done: total, total: null } };
}

function partsOf(counters: Counters, specs: readonly PartSpec[]): CountPart[] {
  return specs.map(([counter, label, tone]) => ({ label, value: counters[counter] ?? 0, tone }));
}

const told = [
  'total',
  'done',
  'error',
  'notFound',
  'skipped',
  'processing',
  'pending',
  'total_rows',
  'valid_rows',
].concat(
  ['invalid_rows', 'records_synced', 'docs_seen', 'docs_unchanged', 'docs_empty', 'docs_error', 'persisted'],
  ['created', 'changed'],
);

/** Counters that are not part of the sum: bytes, chunks, tokens. */
export function otherCounters(job: Pick<Job, 'counters'>): [name: string, value: number][] {
  return Object.entries(job.counters).filter(([name, value]) => value !== 0 && !told.includes(name));
}

/** A counter's name in words. */
export function counterWords(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
}
