import { Counter, Histogram, type Registry } from 'prom-client';
import type { ClaimedJob, Outcome } from './types.ts';

/** The kernel's counters. Gauges that are read from the database (queue depth, dead letters) are in stats. */
export class JobMetrics {
  readonly jobsQueued;
  readonly jobDuration;
  readonly jobOutcomes;
  readonly retries;
  readonly slicesDropped;
  readonly zombieWritesRefused;
  readonly rescues;
  readonly claimSeconds;

  constructor(registry: Registry) {
    const registers = [registry];
    this.jobsQueued = new Counter({
      name: 'sluice_jobs_queued_total',
      help: 'Jobs dispatched, by pipeline',
      labelNames: ['pipeline'],
      registers,
    });
    this.jobDuration = new Histogram({
      name: 'sluice_job_duration_seconds',
      help: 'From the first slice to the end of a job',
      labelNames: ['pipeline', 'outcome'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200],
      registers,
    });
    this.jobOutcomes = new Counter({
      name: 'sluice_job_outcomes_total',
      help: 'Slices by how they ended',
      labelNames: ['pipeline', 'outcome'],
      registers,
    });
    this.retries = new Counter({
      name: 'sluice_retries_total',
      help: 'Retries by class of error',
      labelNames: ['class'],
      registers,
    });
    this.slicesDropped = new Counter({
      name: 'sluice_slices_dropped_total',
      help: 'Slices whose work was dropped, by reason',
      labelNames: ['reason'],
      registers,
    });
    this.zombieWritesRefused = new Counter({
      name: 'sluice_zombie_writes_refused_total',
      help: 'Late writes of workers that had lost their lease',
      registers,
    });
    this.rescues = new Counter({
      name: 'sluice_rescues_total',
      help: 'Leases taken back from dead or silent workers, by what showed it',
      labelNames: ['cause'],
      registers,
    });
    this.claimSeconds = new Histogram({
      name: 'sluice_claim_seconds',
      help: 'How long a claim took',
      buckets: [0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1],
      registers,
    });
  }

  settled(job: ClaimedJob, outcome: Outcome): void {
    this.jobOutcomes.inc({ pipeline: job.pipeline, outcome: outcome.type });
    if (outcome.type === 'retry') this.retries.inc({ class: outcome.failure.class });
    if ((outcome.type === 'done' || outcome.type === 'dead') && job.startedAt) {
      const seconds = (Date.now() - job.startedAt.getTime()) / 1000;
      this.jobDuration.observe({ pipeline: job.pipeline, outcome: outcome.type }, Math.max(0, seconds));
    }
  }
}
