import { z } from 'zod';
import type { Database } from '../../lib/postgres/db.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';
import { problems, timestamp } from '../http/replies.ts';
import { principalOf, type RouteModule } from '../http/route.ts';
import { ownerFilter } from '../tenancy/types.ts';
import {
  type ActiveCount,
  countActive,
  countEnded,
  countOpenDeadLetters,
  countWorkersAlive,
  type EndedPoint,
} from './overview-store.ts';
import type { Attention, AttentionSource, Period, Scope } from './types.ts';

const stepSeconds = 900;
const steps = 96;
const maxFailures = 20;
const count = z.int();

const overviewReply = z
  .object({
    as_of: timestamp,
    needs_you: z
      .array(
        z.object({
          kind: z.string().describe('dead_letters, uploads_in_review, uploads_failed, connectors_failing, …'),
          code: z.string().nullable().describe('The error code that they share'),
          count,
          oldest_at: timestamp.nullable(),
          subject_id: z.string().nullable().describe('The thing itself, when it is only one'),
        }),
      )
      .describe('What waits for a person'),
    now: z.object({
      jobs: z
        .array(z.object({ pipeline: z.string(), status: z.string(), count }))
        .describe('Jobs that have not ended'),
      queued: count,
      running: count,
      paused: count,
      waiting_for_retry: count,
      waiting_since: timestamp
        .nullable()
        .describe('Since when the first job has been waiting although it could start'),
      workers_alive: count,
    }),
    last_day: z.object({
      since: timestamp,
      step_seconds: count,
      succeeded: count,
      failed: count.describe('Dead letters: a job that will be retried has not failed'),
      canceled: count,
      rows: z.number().describe('Rows, records, chunks or references of jobs that ended'),
      points: z.array(z.object({ at: timestamp, succeeded: count, failed: count, rows: z.number() })),
      failures: z.array(z.object({ pipeline: z.string(), error_code: z.string().nullable(), count })),
    }),
  })
  .meta({ id: 'Overview' });

export interface OverviewDeps {
  attention: AttentionSource[];
  /** For each pipeline the counter of its jobs that counts what it took in. */
  rowCounters: Record<string, string>;
}

/** One response for the console's first page, made of what indexes can count. */
export function overviewRoutes(deps: OverviewDeps): RouteModule {
  return (app, { db }) => {
    app.route({
      method: 'GET',
      url: '/api/stats/overview',
      config: { action: 'stats.read' },
      schema: {
        tags: ['stats'],
        summary: 'What needs you, what is in progress, and the last 24 hours (a member: only their own)',
        response: { 200: overviewReply, ...problems() },
      },
      handler: async (request) => {
        const principal = principalOf(request);
        const scope = { tenantId: principal.tenantId, ownerId: ownerFilter(principal) };
        return readOverview(db, { ...deps, scope, asOf: new Date() });
      },
    });
  };
}

async function readOverview(db: Database, options: OverviewDeps & { scope: Scope; asOf: Date }) {
  const { scope, asOf, rowCounters } = options;
  const period = periodUntil(asOf);
  const workersAlive = await db.readAcross(countWorkersAlive);
  return db.read(scope.tenantId, async (tx) => {
    const attention = (await countOpenDeadLetters(tx, scope)).map((row): Attention => {
      return { kind: 'dead_letters', code: row.errorCode, ...row, subjectId: null };
    });
    for (const source of options.attention) attention.push(...(await source(tx, scope, period)));
    return {
      as_of: asOf.toISOString(),
      needs_you: attention.filter((one) => one.count > 0).map(toSnakeCase),
      now: { ...renderNow(await countActive(tx, scope)), workers_alive: workersAlive },
      last_day: renderEnded(await countEnded(tx, scope, { ...period, rowCounters }), period),
    };
  });
}

/** Whole steps of the clock, of which the last is in progress: so a point keeps its place from call to call. */
function periodUntil(asOf: Date): Period {
  const stepMs = stepSeconds * 1000;
  const lastStepMs = Math.floor(asOf.getTime() / stepMs) * stepMs;
  return { since: new Date(lastStepMs - (steps - 1) * stepMs), stepSeconds };
}

function renderNow(rows: ActiveCount[]) {
  const of = (status: string) => sum(rows.filter((row) => row.status === status).map((row) => row.count));
  const waiting = rows.map((row) => row.waitingSince?.getTime()).filter((time) => time !== undefined);
  return {
    jobs: rows.map(({ pipeline, status, count: n }) => ({ pipeline, status, count: n })),
    queued: of('queued'),
    running: of('running'),
    paused: of('paused'),
    waiting_for_retry: of('failed'),
    waiting_since: waiting.length > 0 ? new Date(Math.min(...waiting)).toISOString() : null,
  };
}

function renderEnded(rows: EndedPoint[], { since }: Period) {
  const of = (some: EndedPoint[], status: string) =>
    sum(some.filter((row) => row.status === status).map((row) => row.count));
  const points = Array.from({ length: steps }, (_, index) => {
    const at = since.getTime() + index * stepSeconds * 1000;
    const here = rows.filter((row) => row.at.getTime() === at);
    return {
      at: new Date(at).toISOString(),
      succeeded: of(here, 'success'),
      failed: of(here, 'dead_letter'),
      rows: sum(here.map((row) => row.rows)),
    };
  });
  return {
    since: since.toISOString(),
    step_seconds: stepSeconds,
    succeeded: of(rows, 'success'),
    failed: of(rows, 'dead_letter'),
    canceled: of(rows, 'canceled'),
    rows: sum(rows.map((row) => row.rows)),
    points,
    failures: failuresOf(rows),
  };
}

function failuresOf(rows: EndedPoint[]) {
  const found = new Map<string, { pipeline: string; error_code: string | null; count: number }>();
  for (const { pipeline, status, errorCode, count: n } of rows) {
    if (status !== 'dead_letter') continue;
    const key = JSON.stringify([pipeline, errorCode]);
    const known = found.get(key) ?? { pipeline, error_code: errorCode, count: 0 };
    found.set(key, { ...known, count: known.count + n });
  }
  return [...found.values()].sort((a, b) => b.count - a.count).slice(0, maxFailures);
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
