import { z } from 'zod';
import type { Tx } from '../../lib/postgres/db.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';
import { timestamp } from '../http/replies.ts';
import { listWorkers } from '../jobs/lease/worker-store.ts';
import { listTasks } from '../upkeep/store.ts';
import { connectorStats, countDeadLetters, countJobs, countRetries, findStuckJobs } from './store.ts';
import type { Scope } from './types.ts';

interface View<Arguments extends unknown[]> {
  url: string;
  summary: string;
  row: z.ZodType;
  read: (tx: Tx, ...rest: Arguments) => Promise<unknown[]>;
}

export type Statistic = View<[Scope]>;
/** `seesHosts`: whether the caller may know the machines that serve all tenants. */
export type ProcessStatistic = View<[{ seesHosts: boolean }]>;

const count = z.int();
const maybe = timestamp.nullable();

const jobsByStatus: Statistic = {
  url: '/api/stats/jobs',
  summary: 'Jobs by pipeline and status',
  row: z.object({ pipeline: z.string(), status: z.string(), count, oldest_at: timestamp }),
  read: async (tx, scope) => (await countJobs(tx, scope)).map(toSnakeCase),
};

const stuckJobs: Statistic = {
  url: '/api/stats/stuck-jobs',
  summary: 'Jobs that have made no progress for two hours',
  row: z.object({
    job_id: z.uuid(),
    pipeline: z.string(),
    subject_id: z.string(),
    connector_id: z.string().nullable(),
    started_at: timestamp,
    since: timestamp,
  }),
  read: async (tx, scope) =>
    (await findStuckJobs(tx, { ...scope, limit: 500 })).map(({ tenantId: _, ...job }) => toSnakeCase(job)),
};

const deadLetters: Statistic = {
  url: '/api/stats/dead-letters',
  summary: 'Dead letters by error code',
  row: z.object({
    error_code: z.string().nullable(),
    count,
    requeued: count,
    oldest_at: maybe,
    newest_at: maybe,
  }),
  read: async (tx, scope) => (await countDeadLetters(tx, scope)).map(toSnakeCase),
};

const connectors: Statistic = {
  url: '/api/stats/connectors',
  summary: 'Success rate, average duration and retries of each connector',
  row: z.object({
    connector_id: z.string(),
    jobs: count,
    success_rate: z.number().nullable(),
    average_duration_seconds: z.number().nullable(),
    retries_by_class: z.record(z.string(), count),
  }),
  async read(tx, scope) {
    const retries = await countRetries(tx, scope);
    return (await connectorStats(tx, scope)).map((row) => {
      const ended = row.succeeded + row.failed;
      const own = retries.filter(({ connectorId }) => connectorId === row.connectorId);
      return {
        connector_id: row.connectorId,
        jobs: row.jobs,
        success_rate: ended === 0 ? null : row.succeeded / ended,
        average_duration_seconds: row.averageSeconds,
        retries_by_class: Object.fromEntries(own.map((retry) => [retry.errorClass, retry.count])),
      };
    });
  },
};

export const statistics: Statistic[] = [jobsByStatus, stuckJobs, deadLetters, connectors];

const workers: ProcessStatistic = {
  url: '/api/stats/workers',
  summary: 'Processes that advance jobs',
  row: z.object({
    worker_id: z.uuid(),
    name: z.string(),
    guarded_by: z.enum(['lock', 'expiry']),
    concurrency: count,
    version: z.string(),
    started_at: timestamp,
    heartbeat_at: timestamp,
    is_alive: z.boolean(),
    leases: count,
  }),
  read: async (tx, { seesHosts }) =>
    (await listWorkers(tx)).map(({ lostAt, ...worker }) => ({
      ...toSnakeCase(worker),
      name: seesHosts ? worker.name : `worker ${worker.workerId.slice(-8)}`,
      is_alive: lostAt === null,
    })),
};

const upkeep: ProcessStatistic = {
  url: '/api/stats/upkeep',
  summary: 'Upkeep tasks with their last run and result',
  row: z.object({
    task: z.string(),
    next_run_at: timestamp,
    last_started_at: maybe,
    last_finished_at: maybe,
    last_result: z.record(z.string(), z.number()).nullable(),
    last_error: z.string().nullable(),
  }),
  read: async (tx, { seesHosts }) =>
    (await listTasks(tx)).map((task) =>
      toSnakeCase(seesHosts ? task : { ...task, lastResult: null, lastError: null }),
    ),
};

export const processStatistics: ProcessStatistic[] = [workers, upkeep];
