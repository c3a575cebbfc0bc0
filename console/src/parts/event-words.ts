import type { Event } from '../api/types.ts';
import { durationText } from './moments.ts';
import { count, plural } from './number.ts';
import type { Tone } from './status.ts';

interface EventLook {
  tone: Tone;
  sentence: string;
}

type Figures = Record<string, unknown>;
type Wording = [tone: Tone, words: (data: Figures) => string];

const text = (data: Figures, name: string) => (typeof data[name] === 'string' ? (data[name] as string) : '');
const number = (data: Figures, name: string) => (typeof data[name] === 'number' ? (data[name] as number) : 0);

/** What happened, for a person. Everything else that an event says is in its payload. */
const wordings: Record<string, Wording> = {
  'job.queued': ['queued', (data) => `queued${by(data)}`],
  'job.requeued': [
    'queued',
    (data) => `queued again, after dead letter ${text(data, 'requeued_from').slice(0, 8)}${by(data)}`,
  ],
  'job.started': ['running', (data) => `started${attempt(data)}${worker(data)}`],
  'job.completed': ['done', (data) => `done in ${durationText(number(data, 'duration_seconds') * 1_000)}`],
  'job.failed': ['retry', (data) => `failed: ${reason(data)}`],
  'job.retry': ['retry', retryWords],
  'job.dead_lettered': ['failed', (data) => `failed for good: ${reason(data)}`],
  'job.paused': ['paused', () => 'paused'],
  'job.resumed': ['running', () => 'resumed'],
  'job.canceled': ['canceled', () => 'canceled'],
  'job.rescued': ['retry', (data) => `taken over: its worker ${rescueCause(data)}`],
  'item.processed': ['running', (data) => `processed ${sums(data.counts)}${openWords(data)}`],
  'item.retry': ['retry', (data) => `will try again: ${sums(data.by_class)}${openWords(data)}`],
  'item.reprocessed': ['queued', (data) => `put back for another try: ${sums(data.counts)}`],
  'upload.pending': ['queued', (data) => `received ${text(data, 'filename')}`],
  'upload.processing': ['running', () => 'reading the file'],
  'upload.staging_complete': ['you', () => 'read and checked'],
  'upload.promoting': ['running', () => 'promoting the rows'],
  'upload.completed': ['done', () => 'all rows promoted'],
  'upload.partial': ['partial', () => 'promoted, without the rejected rows'],
  'upload.failed': ['failed', (data) => `failed: ${reason(data)}`],
  'upload.refused': ['failed', (data) => `refused ${text(data, 'filename')}: ${reason(data)}`],
  'upload.undone': ['canceled', () => 'undone'],
  'upload.remapped': ['running', () => 'columns mapped again'],
  'upload.corrected': ['running', () => 'cells corrected by hand'],
  'upload.checked': ['running', () => 'checked again'],
  'ingestion.complete': ['done', (data) => `complete: ${sums(data.metrics)}`],
  'sync.triggered': ['running', (data) => `Airbyte started run ${String(data.run_id ?? '')}`],
};

/** Known types get a sentence, unknown ones their own words. */
export function eventLook(event: Pick<Event, 'type' | 'data'>): EventLook {
  const wording = wordings[event.type];
  if (wording !== undefined) return { tone: wording[0], sentence: wording[1](event.data).trim() };
  const [, ...rest] = event.type.split('.');
  return { tone: toneOfWord(rest.join(' ')), sentence: rest.join(' ').replaceAll('_', ' ') || event.type };
}

/** Where an event leads: the job, and what it is about. */
export function eventLinks({
  data,
  subject,
}: Pick<Event, 'data' | 'subject'>): { label: string; href: string }[] {
  const targets: [name: string, label: string, path: string][] = [
    ['job_id', 'Job', '/jobs'],
    ['upload_id', 'Upload', '/uploads'],
    ['connector_id', 'Connector', '/connectors'],
    ['kb_id', 'Knowledge base', '/knowledge'],
    ['source', 'Scrape source', '/scrapes'],
  ];
  const links = targets
    .filter(([name]) => typeof data[name] === 'string')
    .map(([name, label, path]) => ({ label, href: `${path}/${encodeURIComponent(text(data, name))}` }));
  return [...links, { label: 'All events about it', href: `/events?subject=${encodeURIComponent(subject)}` }];
}

function toneOfWord(word: string): Tone {
  if (/fail|error|dead|disabled/.test(word)) return 'failed';
  if (/complete|success|created|delivered/.test(word)) return 'done';
  if (/running|started/.test(word)) return 'running';
  return 'queued';
}

function retryWords(data: Figures): string {
  const delay = durationText(number(data, 'delay_seconds') * 1_000);
  return data.brought_forward === true
    ? `retry brought forward, due in ${delay}`
    : `will be retried in ${delay}`;
}

function reason(data: Figures): string {
  return text(data, 'error_message') || text(data, 'error_code') || 'without a reason';
}

function by(data: Figures): string {
  const who = text(data, 'created_by');
  return who === '' ? '' : ` by ${who}`;
}

function attempt(data: Figures): string {
  const retries = number(data, 'retry_count');
  return retries === 0 ? '' : `, attempt ${retries + 1}`;
}

function worker(data: Figures): string {
  const name = text(data, 'worker') || text(data, 'worker_id').slice(0, 8);
  return name === '' ? '' : ` on worker ${name}`;
}

function rescueCause(data: Figures): string {
  const cause = text(data, 'cause');
  return cause === '' ? 'died or stopped reporting' : cause.replaceAll('_', ' ');
}

function openWords(data: Figures): string {
  return typeof data.open === 'number' ? `; ${plural(data.open, 'row')} open` : '';
}

/** `{DONE: 12, ERROR: 1}` reads as "12 done, 1 error". */
function sums(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .filter((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] !== 0)
    .map(([name, amount]) => `${count(amount)} ${name.toLowerCase().replaceAll('_', ' ')}`)
    .join(', ');
}
