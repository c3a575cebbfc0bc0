import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';
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
    const { counter, histogram } = metricsOf(registry);
    this.jobsQueued = counter('sluice_jobs_queued_total', 'Jobs dispatched, by pipeline', ['pipeline']);
    this.jobDuration = histogram('sluice_job_duration_seconds', 'From the first slice to the end of a job', {
      labelNames: ['pipeline', 'outcome'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200],
    });
    this.jobOutcomes = counter('sluice_job_outcomes_total', 'Slices by how they ended', [
      'pipeline',
      'outcome',
    ]);
    this.retries = counter('sluice_retries_total', 'Retries by class of error', ['class']);
    this.slicesDropped = counter('sluice_slices_dropped_total', 'Slices whose work was dropped, by reason', [
      'reason',
    ]);
    this.zombieWritesRefused = counter(
      'sluice_zombie_writes_refused_total',
      'Late writes of workers that had lost their lease',
    );
    this.rescues = counter(
      'sluice_rescues_total',
      'Leases taken back from dead or silent workers, by what showed it',
      ['cause'],
    );
    this.claimSeconds = histogram('sluice_claim_seconds', 'How long a claim took', {
      buckets: [0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1],
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
