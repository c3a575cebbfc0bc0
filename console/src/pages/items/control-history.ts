import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Event } from '../../api/types.ts';
import type { Series } from '../../parts/line-chart.tsx';
import type { Point } from '../../parts/scale.ts';
import type { Controllers, ItemJob } from './item-job.ts';

const pageSize = 500;
const mostPages = 20;

/** What the workers have reported about the job; each request continues where the last one ended. */
export function useControlEvents(job: ItemJob) {
  const client = useQueryClient();
  const queryKey = ['items', 'control', job.jobId];
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const events = [...(client.getQueryData<Event[]>(queryKey) ?? [])];
      for (let page = 0; page < mostPages; page += 1) {
        const after = events.at(-1)?.id;
        const answer = await api.get('/api/events', {
          query: { subject: job.jobId, type: 'item.processed', limit: pageSize, after },
          signal,
        });
        events.push(...answer.data);
        if (!answer.has_more) break;
      }
      return events;
    },
    staleTime: 2_000,
  });
}

interface Told {
  at: number;
  controllers: Controllers;
}

/** The moments at which the controllers' state is known, in their order. */
export function toldBy(events: readonly Event[]): Told[] {
  return events.flatMap(({ time, data }) =>
    typeof data.controllers === 'object' && data.controllers !== null
      ? [{ at: Date.parse(time), controllers: data.controllers as Controllers }]
      : [],
  );
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function pointsOf(told: readonly Told[], read: (controllers: Controllers) => number | null): Point[] {
  return told.flatMap(({ at, controllers }) => {
    const value = read(controllers);
    return value === null ? [] : [{ at, value }];
  });
}

/** Items per claim. */
export function claimSeries(told: readonly Told[]): Series[] {
  const points = pointsOf(told, ({ claim }) => numberOf(claim?.items));
  return [{ label: 'Rows per claim', points, tone: 'running' }];
}

/** How long a claim takes, judged by its rows, against its target. */
export function sliceSeries(told: readonly Told[]): Series[] {
  const taken = pointsOf(told, ({ claim }) => {
    const [items, each] = [numberOf(claim?.items), numberOf(claim?.avgItemMs)];
    return items === null || each === null ? null : items * each;
  });
  const target = pointsOf(told, ({ claim }) => numberOf(claim?.targetMs));
  return [
    { label: 'A claim takes', points: taken, tone: 'running' },
    { label: 'Target, at most', points: target, tone: 'queued', isTarget: true },
  ];
}

export interface ProviderHistory {
  provider: string;
  concurrency: Series[];
  delay: Series[];
}

/** For each provider: how many calls run at once, and how far apart they start. */
export function providerSeries(told: readonly Told[]): ProviderHistory[] {
  const names = new Set(
    told.flatMap(({ controllers }) => (controllers.providers ?? []).map(({ provider }) => String(provider))),
  );
  return [...names].map((provider) => {
    const read = (name: string) => (controllers: Controllers) =>
      numberOf(controllers.providers?.find((one) => one.provider === provider)?.[name]);
    return {
      provider,
      concurrency: [{ label: 'Calls at once', points: pointsOf(told, read('concurrency')), tone: 'running' }],
      delay: [{ label: 'Between two calls', points: pointsOf(told, read('delayMs')), tone: 'retry' }],
    };
  });
}

export interface IngestHistory {
  sizes: Series[];
  latencies: Series[];
}

/** How the file came in, batch by batch; null for a job without this history. */
export function ingestSeries(job: Pick<ItemJob, 'controllers' | 'createdAt'>): IngestHistory | null {
  const { ingest } = job.controllers;
  const history = Array.isArray(ingest?.history) ? (ingest.history as unknown[]) : [];
  const points = history.filter(
    (point): point is [number, number, number] =>
      Array.isArray(point) && point.length === 3 && point.every((value) => typeof value === 'number'),
  );
  if (points.length === 0) return null;
  // The job was created when its file started to arrive.
  const startMs = Date.parse(job.createdAt);
  const series = (read: (point: [number, number, number]) => number) =>
    points.map((point) => ({ at: startMs + point[0], value: read(point) }));
  const target = numberOf(ingest?.targetMs);
  return {
    sizes: [{ label: 'Rows per batch', points: series(([, rows]) => rows), tone: 'running' }],
    latencies: [
      { label: 'An insert took', points: series(([, , latencyMs]) => latencyMs), tone: 'running' },
      ...(target === null
        ? []
        : [{ label: 'Target', points: series(() => target), tone: 'queued' as const, isTarget: true }]),
    ],
  };
}

/** Why the size of claims changed, newest first; a repeated reason is listed once. */
export function reasonsOf(told: readonly Told[]): { at: number; items: number; reason: string }[] {
  const reasons: { at: number; items: number; reason: string; kind: string }[] = [];
  for (const { at, controllers } of told) {
    const { claim } = controllers;
    const items = numberOf(claim?.items);
    if (claim === undefined || items === null) continue;
    // The numbers in a reason change all the time; the reason does not.
    const kind = claim.reason.replaceAll(/[\d.,]+/g, '#');
    const last = reasons.at(-1);
    if (last?.kind === kind && last.items === items) continue;
    reasons.push({ at, items, reason: claim.reason, kind });
  }
  return reasons.reverse().map(({ kind: _kind, ...reason }) => reason);
}
