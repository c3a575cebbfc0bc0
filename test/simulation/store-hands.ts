import type { Outcome } from '../../src/kernel/jobs/types.ts';
import {
  type Claim,
  type Claimed,
  type JobKey,
  type JobState,
  type JobStore,
  leaseMs,
  pipelineNames,
  type SubjectJob,
} from './job-store.ts';

export const rescueRules = { maxStrikes: 3, silentMs: leaseMs, rejoinMs: 5_000 };
export const failure = { code: 'probe_failed', message: 'It was told to fail', class: 'probe' };
export const retryIn = (delayMs: number, notBefore = false): Outcome => ({
  type: 'retry',
  delayMs,
  notBefore,
  failure,
});

/** Short names for what the tests do to a store. */
export class Hands {
  readonly store: JobStore;

  constructor(store: JobStore) {
    this.store = store;
  }

  async make(subjectId: string, given: Partial<SubjectJob> = {}): Promise<JobKey> {
    const job = { tenantId: 'tenant-a', pipeline: 'probe', subjectId, ...given } as const;
    const answer = await this.store.dispatch(job);
    if ('refused' in answer) throw new Error(`The dispatch of ${subjectId} was refused: ${answer.refused}`);
    // Jobs that come due in the same moment have no order.
    await this.store.turnClock(1);
    return { tenantId: job.tenantId, jobId: answer.jobId };
  }

  async worker(workerId: string, guardedBy: 'lock' | 'expiry' = 'lock'): Promise<void> {
    if (guardedBy === 'lock') await this.store.lock(workerId);
    await this.store.register(workerId, guardedBy);
  }

  claim(workerId: string, request: Partial<Claim> = {}): Promise<Claimed[]> {
    const wish = { workerId, pipelines: pipelineNames, limit: 1, tenantLimit: 1_000, ...request };
    return Promise.resolve(this.store.claim(wish));
  }

  async claimOne(workerId: string, request: Partial<Claim> = {}): Promise<Claimed> {
    const [claimed] = await this.claim(workerId, request);
    if (!claimed) throw new Error('There was nothing to claim');
    return claimed;
  }

  async job({ jobId }: { jobId: string }): Promise<JobState> {
    const job = (await this.store.snapshot()).jobs.find((row) => row.jobId === jobId);
    if (!job) throw new Error(`There is no job ${jobId}`);
    return job;
  }

  async laneOf(claimed: Claimed): Promise<string> {
    const { tenantId, pipeline } = await this.job(claimed);
    return `${tenantId} ${pipeline}`;
  }

  /** A worker claims the job and dies with it; a rescuer notices. */
  async dieWith(workerId: string, request: Partial<Claim> = {}): Promise<Claimed> {
    await this.worker(workerId);
    const claimed = await this.claimOne(workerId, request);
    await this.store.unlock(workerId);
    await this.store.rescue(rescueRules);
    return claimed;
  }
}
