import { StatusChip } from '../../parts/status-chip.tsx';
import { type ItemJob, outcomeOf } from './item-job.ts';

/** Done, partly done and failed are three things, although the job has ended in each. */
export function OutcomeChip({ job }: { job: ItemJob }) {
  const outcome = outcomeOf(job);
  return outcome === job.status ? (
    <StatusChip status={outcome} of="job" />
  ) : (
    <StatusChip status={outcome} word={outcome === 'failed' ? 'all rows failed' : 'partly done'} />
  );
}
