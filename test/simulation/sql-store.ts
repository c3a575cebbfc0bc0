import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { Registry } from 'prom-client';
import { Quotas } from '../../src/kernel/jobs/dispatch/quotas.ts';
import {
  cancel,
  dispatch,
  type JobsDeps,
  pause,
  requeue,
  resume,
} from '../../src/kernel/jobs/dispatch/service.ts';
import {
  type ClaimRequest,
  claimMany,
  claimOneStatement,
  lockIfHeld,
  type RenewedLease,
  releaseMany,
  renewStatement,
  saveStatement,
  settleMany,
  struckStatement,
} from '../../src/kernel/jobs/lease/lease-store.ts';
import {
  type Beat,
  beatStatement,
  deregisterWorker,
  markLostWorkers,
  registerWorker,
  rescueLeases,
} from '../../src/kernel/jobs/lease/worker-store.ts';
import { JobMetrics } from '../../src/kernel/jobs/metrics.ts';
import { PipelineRegistry } from '../../src/kernel/jobs/pipeline-registry.ts';
import type { ClaimedJob, Job, JobStatus, Lease } from '../../src/kernel/jobs/types.ts';
import { WakeUp } from '../../src/kernel/jobs/wake-up.ts';
import { isSluiceError } from '../../src/lib/errors.ts';
import type { Tx } from '../../src/lib/postgres/db.ts';
import { sql } from '../../src/lib/postgres/sql.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { probePipeline, probeTable } from '../support/worlds/probe-pipeline.ts';
import {
  type Claim,
  type Claimed,
  type ControlMove,
  type GuardedBy,
  type JobKey,
  type JobStore,
  leaseMs,
  type Made,
  type Refused,
  type Renewed,
  type Rescued,
  type Settle,
  type Settled,
  type Snapshot,
  type SubjectJob,
  type TenantLimits,
} from './job-store.ts';
import { Names } from './names.ts';
import { readSnapshot } from './sql-snapshot.ts';
import { startOfTimeMs } from './virtual-clock.ts';

const everyStruck = { pipelines: ['probe', 'plain'], tenantLimit: 1_000_000 };

/** The kernel's own stores and services on a real PostgreSQL whose clock the test turns. */
export class SqlStore implements JobStore {
  readonly #deps: JobsDeps;
  /** As the owner, and one connection that plays all guard connections. */
  readonly #owner: pg.Client;
  readonly #jobs = new Names('job');
  readonly #workers = new Names('worker');
  readonly #workspaces = new Names('workspace');
  readonly #locks = new Map<string, string>();

  private constructor(deps: JobsDeps, owner: pg.Client) {
    this.#deps = deps;
    this.#owner = owner;
  }

  /** The database needs `virtualClock`; the store empties it, so that one database serves store after store. */
  static async open(database: TestDatabase): Promise<SqlStore> {
    const { db, ownerUrl } = database;
    const owner = new pg.Client({ connectionString: ownerUrl });
    await owner.connect();
    await owner.query(`${probeTable}; delete from events; delete from workers; delete from tenants;
      delete from ingestion_jobs; delete from tenant_queue_marks;
      update virtual_clock set at = to_timestamp(${startOfTimeMs / 1000})`);
    const plain = { ...probePipeline({}, 'plain'), cleanUp: undefined };
    const registry = new PipelineRegistry([probePipeline(), plain]);
    const quotas = new Quotas({ db, maxQueued: 1_000_000 });
    const metrics = new JobMetrics(new Registry());
    return new SqlStore({ db, registry, quotas, metrics, wake: new WakeUp(db) }, owner);
  }

  async close(): Promise<void> {
    await this.#owner.end();
  }

  async addTenant(tenantId: string, limits: TenantLimits = {}): Promise<void> {
    const values = [tenantId, limits];
    await this.#owner.query(
      'insert into tenants (tenant_id, name, plan, limits) values ($1, $1, $$free$$, $2)',
      values,
    );
  }

  async setLimits(tenantId: string, limits: TenantLimits): Promise<void> {
    await this.#owner.query('update tenants set limits = $2 where tenant_id = $1', [tenantId, limits]);
  }

  async turnClock(byMs: number): Promise<void> {
    await this.#owner.query("update virtual_clock set at = at + $1 * interval '1 millisecond'", [byMs]);
  }

  dispatch({ tenantId, pipeline, subjectId, workspaceId }: SubjectJob): Promise<Made | Refused> {
    const job = {
      pipeline,
      subjectId,
      workspaceId: workspaceId ? this.#workspaces.idOf(workspaceId) : null,
      maxRetries: 5,
      createdBy: 'tester',
    };
    return this.#make(() => dispatch(this.#deps, tenantId, job));
  }

  requeue({ tenantId, jobId }: JobKey): Promise<Made | Refused> {
    const key = { tenantId, jobId: this.#jobs.idOf(jobId) };
    return this.#make(() => requeue(this.#deps, key, { requestedBy: 'support' }));
  }

  async control(move: ControlMove, { tenantId, jobId }: JobKey): Promise<{ status: JobStatus } | Refused> {
    const call = { pause, resume, cancel }[move];
    const answer = await orRefusal(() => call(this.#deps, { tenantId, jobId: this.#jobs.idOf(jobId) }));
    return 'refused' in answer ? answer : { status: answer.status };
  }

  async claim({ workerId, jobId, prefer: _chosen, lingering: _kept, ...request }: Claim): Promise<Claimed[]> {
    const wish = {
      ...request,
      leaseMs,
      pipelines: [...request.pipelines],
      spared: (request.spared ?? []).map((name) => this.#jobs.idOf(name)),
      workerId: this.#workers.idOf(workerId),
    };
    const claimed = await this.#deps.db.kernel((tx) => this.#claimIn(tx, wish, jobId));
    return claimed.map(({ tenantId, leaseEpoch, was, status, retryCount, checkpoint, ...job }) => {
      const stepsDone = Number(checkpoint.n ?? 0);
      return {
        tenantId,
        jobId: this.#jobs.nameOf(job.jobId),
        leaseEpoch,
        leasedBy: workerId,
        was,
        status,
        retryCount,
        stepsDone,
      };
    });
  }

  async #claimIn(tx: Tx, { struck, ...wish }: ClaimRequest & { struck?: boolean }, jobId?: string) {
    const { workerId, tenantLimit } = wish;
    const one = (key: { tenantId: string; jobId: string }) =>
      tx.rows<ClaimedJob>(claimOneStatement({ workerId, leaseMs, tenantLimit, ...key }));
    if (jobId !== undefined) return one({ tenantId: wish.tenantId ?? '', jobId: this.#jobs.idOf(jobId) });
    if (!struck) return claimMany(tx, wish);
    const found = await tx.find<{ tenantId: string; jobId: string }>(struckStatement(wish));
    return found ? one(found) : [];
  }

  save(lease: Lease, step: number): Promise<boolean> {
    const real = this.#leaseOf(lease);
    return this.#deps.db.tenant(lease.tenantId, async (tx) => {
      if (!(await lockIfHeld(tx, real))) return false;
      await writeEffect(tx, real, step);
      await tx.run(saveStatement(real, { state: stateOf(step), leaseMs }));
      return true;
    });
  }

  settle({ outcome, step, ...lease }: Settle): Promise<Settled | null> {
    const real = this.#leaseOf(lease);
    return this.#deps.db.tenant(lease.tenantId, async (tx) => {
      if (!(await lockIfHeld(tx, real))) return null;
      if (step !== undefined) await writeEffect(tx, real, step);
      const state = step === undefined ? {} : stateOf(step);
      const [settled] = await settleMany(tx, [{ ...real, outcome, state }]);
      return settled ? { status: settled.status, cleanupOpen: settled.cleanupOpen } : null;
    });
  }

  release(workerId: string, leases: Lease[]): Promise<number> {
    const real = leases.map((lease) => this.#leaseOf(lease));
    return this.#deps.db.kernel((tx) => releaseMany(tx, this.#workers.idOf(workerId), real));
  }

  async renew(workerId: string, leases: Lease[]): Promise<Renewed[]> {
    const real = leases.map((lease) => this.#leaseOf(lease));
    const renewal = { workerId: this.#workers.idOf(workerId), leases: real, leaseMs };
    const renewed = await this.#deps.db.statement<RenewedLease>(
      { role: 'sluice_kernel' },
      renewStatement(renewal),
    );
    return renewed.map(({ jobId, leaseEpoch, status }) => {
      return { jobId: this.#jobs.nameOf(jobId), leaseEpoch, status };
    });
  }

  async lock(workerId: string): Promise<void> {
    if (this.#locks.has(workerId)) return;
    const lockKey = randomBytes(8).readBigInt64BE().toString();
    await this.#owner.query('select pg_advisory_lock($1)', [lockKey]);
    this.#locks.set(workerId, lockKey);
  }

  async unlock(workerId: string): Promise<void> {
    const lockKey = this.#locks.get(workerId);
    if (lockKey === undefined) return;
    await this.#owner.query('select pg_advisory_unlock($1)', [lockKey]);
    this.#locks.delete(workerId);
  }

  async register(workerId: string, guardedBy: GuardedBy): Promise<void> {
    const worker = {
      workerId: this.#workers.idOf(workerId),
      name: workerId,
      guardedBy,
      // A worker without its lock registers with a key that nobody holds.
      lockKey: this.#locks.get(workerId) ?? '0',
      concurrency: 1,
      version: 'test',
    };
    await this.#deps.db.kernel((tx) => registerWorker(tx, worker));
  }

  async beat(workerId: string): Promise<{ wasLost: boolean } | null> {
    const statement = beatStatement(this.#workers.idOf(workerId));
    const [row] = await this.#deps.db.statement<Beat>({ role: 'sluice_kernel' }, statement);
    // The worker's place in the fleet only says how often it polls.
    return row ? { wasLost: row.wasLost } : null;
  }

  async deregister(workerId: string): Promise<void> {
    await this.#deps.db.kernel((tx) => deregisterWorker(tx, this.#workers.idOf(workerId)));
  }

  rescue(rescue: { maxStrikes: number; silentMs: number; rejoinMs: number }): Promise<Rescued> {
    return this.#deps.db.kernel(async (tx) => {
      const lost = await markLostWorkers(tx);
      const jobs = await rescueLeases(tx, { ...rescue, limit: 500 });
      const named = jobs.map(({ jobId, status, cause, struck }) => {
        return { jobId: this.#jobs.nameOf(jobId), status, cause, struck };
      });
      return {
        lost: lost.map(({ workerId }) => this.#workers.nameOf(workerId)).sort(),
        jobs: named.sort((a, b) => (a.jobId < b.jobId ? -1 : 1)),
        hasStruck: (await tx.find(struckStatement(everyStruck))) !== null,
      };
    });
  }

  snapshot(): Promise<Snapshot> {
    const names = { jobs: this.#jobs, workers: this.#workers, workspaces: this.#workspaces };
    return readSnapshot(this.#owner, names);
  }

  #leaseOf({ tenantId, jobId, leaseEpoch, leasedBy }: Lease): Lease {
    const worker = leasedBy === null ? null : this.#workers.idOf(leasedBy);
    return { tenantId, jobId: this.#jobs.idOf(jobId), leaseEpoch, leasedBy: worker };
  }

  /** Ids of one millisecond are in no order, and of two retries the older id goes first. */
  async #make(call: () => Promise<Job>): Promise<Made | Refused> {
    const atMs = Date.now();
    const answer = await orRefusal(call);
    while (Date.now() === atMs) await setImmediate();
    return 'refused' in answer ? answer : { jobId: this.#jobs.nameOf(answer.jobId) };
  }
}

async function orRefusal(call: () => Promise<Job>): Promise<Job | Refused> {
  try {
    return await call();
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return { refused: error.code };
  }
}

function stateOf(step: number) {
  return { checkpoint: { n: step }, counters: { slices: step } };
}

async function writeEffect(tx: Tx, lease: Lease, step: number): Promise<void> {
  await tx.run(sql`
    insert into probe_effects (tenant_id, job_id, step, worker, epoch)
    values (${lease.tenantId}, ${lease.jobId}, ${step}, 'simulation', ${lease.leaseEpoch})`);
}
