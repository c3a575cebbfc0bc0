import { randomBytes } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Quotas } from '../../../src/kernel/jobs/dispatch/quotas.ts';
import type { JobsDeps } from '../../../src/kernel/jobs/dispatch/service.ts';
import { LeaseKeeper } from '../../../src/kernel/jobs/lease/lease-keeper.ts';
import { deregisterWorker, registerWorker } from '../../../src/kernel/jobs/lease/worker-store.ts';
import { JobMetrics } from '../../../src/kernel/jobs/metrics.ts';
import { PipelineRegistry } from '../../../src/kernel/jobs/pipeline-registry.ts';
import { Settler } from '../../../src/kernel/jobs/run/settler.ts';
import { type SliceEnd, SliceRunner } from '../../../src/kernel/jobs/run/slice-runner.ts';
import type { ClaimedJob, Pipeline, Slice, SliceResult } from '../../../src/kernel/jobs/types.ts';
import { WakeUp } from '../../../src/kernel/jobs/wake-up.ts';
import { newId } from '../../../src/lib/ids.ts';
import { newTenant, type TestDatabase } from './database.ts';
import type { ModelJob } from './job-model.ts';
import { probePipeline, probeTable } from './probe-pipeline.ts';

/** A slice that the test ends at will; a zombie is a slice whose job continued elsewhere. */
export interface OpenSlice {
  job: ClaimedJob;
  workerId: string;
  slice: Slice;
  end: Promise<SliceEnd>;
  finish(result: SliceResult): void;
  fail(error: unknown): void;
}

export const leaseMs = 600_000;

const snapshot = `
  select j.job_id as "jobId", j.subject_id as subject, j.status, j.lease_epoch::integer as epoch,
         j.leased_by as "leasedBy", coalesce(j.lease_expires_at < clock_timestamp(), false) as expired,
         j.started_at is not null as started, j.finished_at is not null as finished,
         j.run_at <= clock_timestamp() as due, j.next_retry_at is not null as "retryWaiting",
         j.not_before is not null as "notBefore", j.retry_count as retries, j.struck_by as strikes,
         j.cleanup_open as "cleanupOpen", j.requeued_from as "requeuedFrom", j.error_code as "errorCode",
         (j.checkpoint ->> 'n')::integer as checkpoint,
         array(select e.step from probe_effects e where e.job_id = j.job_id order by e.step) as effects,
         array(select e.type
                 from events e
                where e.tenant_id = j.tenant_id and e.subject = j.job_id::text
                order by e.xid, e.event_id) as events
    from ingestion_jobs j
   where j.tenant_id = $1
   order by j.job_id`;

/** A new world for each test of a file; the last one is closed with the file. */
export function useWorld(database: TestDatabase, onOpen: (world: World) => void): void {
  const guard = new pg.Client({ connectionString: database.ownerUrl });
  let world: World | undefined;
  beforeAll(async () => {
    await database.owner(probeTable);
    await guard.connect();
  });
  beforeEach(async () => {
    await world?.close();
    world = await World.open(database, guard);
    onOpen(world);
  });
  afterAll(async () => {
    await world?.close();
    await guard.end();
  });
}

/** The real kernel on a real database, with slices and workers that the test controls. */
export class World {
  readonly slices: OpenSlice[] = [];
  readonly deps: JobsDeps;
  readonly tenantId: string;
  /** The workers' advisory locks are held here: one connection plays all guard connections. */
  readonly #guard: pg.Client;
  readonly #locks = new Map<string, string>();
  readonly #runners = new Map<string, SliceRunner>();
  #opened: Pick<OpenSlice, 'slice' | 'finish' | 'fail'> | null = null;

  private constructor(deps: JobsDeps, tenantId: string, guard: pg.Client) {
    this.deps = deps;
    this.tenantId = tenantId;
    this.#guard = guard;
  }

  static async open(database: TestDatabase, guard: pg.Client): Promise<World> {
    const { db } = database;
    const registry = new PipelineRegistry([probePipeline()]);
    const quotas = new Quotas({ db, maxQueued: 1_000_000 });
    const deps = { db, registry, quotas, wake: new WakeUp(db), metrics: new JobMetrics(new Registry()) };
    return new World(deps, await newTenant(database), guard);
  }

  /** Releases the sequence's leases and locks, so that the next one does not find them. */
  async close(): Promise<void> {
    for (const workerId of this.#locks.keys()) await this.unlock(workerId);
    await this.#guard.query('delete from ingestion_jobs where tenant_id = $1', [this.tenantId]);
    await this.#guard.query('delete from workers');
  }

  async rows(): Promise<ModelJob[]> {
    return (await this.#guard.query<ModelJob>(snapshot, [this.tenantId])).rows;
  }

  async meddle(statement: string, jobId: string): Promise<void> {
    await this.#guard.query(statement, [jobId]);
  }

  async enter(workerId = newId()): Promise<string> {
    const lockKey = randomBytes(8).readBigInt64BE().toString();
    await this.#guard.query('select pg_advisory_lock($1)', [lockKey]);
    this.#locks.set(workerId, lockKey);
    const worker = { workerId, name: 'model', lockKey, concurrency: 1, version: 'test' };
    await this.deps.db.kernel((tx) => registerWorker(tx, { ...worker, guardedBy: 'lock' }));
    return workerId;
  }

  async unlock(workerId: string): Promise<void> {
    const lockKey = this.#locks.get(workerId);
    if (lockKey === undefined) return;
    await this.#guard.query('select pg_advisory_unlock($1)', [lockKey]);
    this.#locks.delete(workerId);
  }

  async deregister(workerId: string): Promise<void> {
    await this.unlock(workerId);
    await this.deps.db.kernel((tx) => deregisterWorker(tx, workerId));
  }

  /** Starts a slice of a claimed job with the product's own runner; it stays open until the test ends it. */
  start(job: ClaimedJob, workerId: string): OpenSlice {
    const end = this.#runnerOf(workerId).run({ job, askedAtMs: performance.now() });
    if (!this.#opened) throw new Error('The runner did not start the slice');
    const open = { ...this.#opened, job, workerId, end };
    this.#opened = null;
    return open;
  }

  #runnerOf(workerId: string): SliceRunner {
    const known = this.#runners.get(workerId);
    if (known) return known;
    const { db, wake, metrics } = this.deps;
    const logger = pino({ level: 'silent' });
    const keeper = new LeaseKeeper({ db, logger, workerId, leaseMs, heartbeatMs: leaseMs });
    const hold: Pipeline['advance'] = (slice) =>
      new Promise((finish, fail) => {
        this.#opened = { slice, finish, fail };
      });
    const registry = new PipelineRegistry([{ ...probePipeline(), advance: hold, cleanUp: hold }]);
    const runner = new SliceRunner({
      db,
      keeper,
      settler: new Settler({ db, leaseMs }),
      registry,
      wake,
      logger,
      metrics,
      leaseMs,
      workerId,
    });
    this.#runners.set(workerId, runner);
    return runner;
  }
}
