import type { Event } from '../../api/types.ts';
import { eventLook } from '../../parts/event-words.ts';
import { plural } from '../../parts/number.ts';
import type { Tone } from '../../parts/status.ts';

export interface TimelineLine {
  id: string;
  at: string;
  tone: Tone;
  sentence: string;
  /** The events of this line; several when reports of the same kind follow each other. */
  events: readonly Event[];
}

export interface Attempt {
  number: number;
  startedAt: string;
  endedAt: string | null;
  outcome: 'running' | 'done' | 'failed' | 'dead' | 'taken over';
  reason: string | null;
}

/** Reports that only say how far it is; a run of them is one line. */
const reports = ['item.processed', 'item.retry'];

/** The events of a job and of its subject in the order they happened, runs of progress reports folded together. */
export function timelineOf(events: readonly Event[]): TimelineLine[] {
  const unique = [...new Map(events.map((event) => [event.id, event])).values()];
  const ordered = unique.sort((a, b) => a.time.localeCompare(b.time) || comparePositions(a.id, b.id));
  const lines: TimelineLine[] = [];
  for (const event of ordered) {
    const last = lines.at(-1);
    const isSameReport = reports.includes(event.type) && last?.events[0]?.type === event.type;
    if (last !== undefined && isSameReport) lines[lines.length - 1] = folded([...last.events, event]);
    else lines.push(folded([event]));
  }
  return lines;
}

function folded(events: readonly Event[]): TimelineLine {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined)
    throw new Error('A line of the timeline has at least one event.');
  const { tone } = eventLook(last);
  const summed = {
    ...last,
    data: { ...last.data, counts: addUp(events, 'counts'), by_class: addUp(events, 'by_class') },
  };
  const sentence = events.length === 1 ? eventLook(last).sentence : eventLook(summed).sentence;
  const suffix = events.length === 1 ? '' : ` (${plural(events.length, 'report')})`;
  return { id: first.id, at: first.time, tone, sentence: `${sentence}${suffix}`, events };
}

function addUp(events: readonly Event[], name: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { data } of events) {
    for (const [key, value] of Object.entries((data[name] ?? {}) as Record<string, unknown>)) {
      if (typeof value === 'number') sums[key] = (sums[key] ?? 0) + value;
    }
  }
  return sums;
}

/** Ids are `<era>-<number>`; as text 9-1 would come after 10-1. */
export function comparePositions(a: string, b: string): number {
  const [ax = '0', an = '0'] = a.split('-');
  const [bx = '0', bn = '0'] = b.split('-');
  const difference = ax === bx ? BigInt(an) - BigInt(bn) : BigInt(ax) - BigInt(bx);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

const endings: Record<string, Attempt['outcome']> = {
  'job.completed': 'done',
  'job.failed': 'failed',
  'job.dead_lettered': 'dead',
  'job.rescued': 'taken over',
};

/** Each start with the end that followed it. */
export function attemptsOf(events: readonly Event[]): Attempt[] {
  const attempts: Attempt[] = [];
  for (const { events: folded } of timelineOf(events.filter(({ type }) => type.startsWith('job.')))) {
    const event = folded[0];
    if (event === undefined) continue;
    if (event.type === 'job.started') {
      attempts.push({
        number: attempts.length + 1,
        startedAt: event.time,
        endedAt: null,
        outcome: 'running',
        reason: null,
      });
    }
    const outcome = endings[event.type];
    const open = attempts.at(-1);
    if (outcome === undefined || open === undefined || open.endedAt !== null) continue;
    const reason = typeof event.data.error_message === 'string' ? event.data.error_message : null;
    attempts[attempts.length - 1] = { ...open, endedAt: event.time, outcome, reason };
  }
  return attempts;
}
