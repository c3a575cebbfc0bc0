import { Button } from '@mantine/core';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Job } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { plural } from '../../parts/number.ts';
import { SelectBar } from '../../parts/select-bar.tsx';
import {
  type BulkResult,
  bulkSentence,
  type Control,
  controlJob,
  controls,
  controlVerb,
  forEachJob,
  isLegal,
} from './job-control.ts';

interface JobsSelectBarProps {
  jobs: readonly Job[];
  chosen: ReadonlySet<string>;
  onClear: () => void;
}

const words: Record<Control, string> = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel' };

/** What can be done with the chosen jobs; each button counts only those whose state allows it. */
export function JobsSelectBar({ jobs, chosen, onClear }: JobsSelectBarProps) {
  const canRequeue = useCan('dead_letter.requeue');
  const picked = jobs.filter(({ jobId }) => chosen.has(jobId));
  const control = useAction<BulkResult, { control: Control; ids: string[] }>({
    run: ({ control: kind, ids }) => forEachJob(ids, (jobId) => controlJob(kind, jobId)),
    done: (result, { control: kind }) => bulkSentence(controlVerb(kind), result),
    touches: ['jobs', 'overview', 'stats'],
    afterwards: onClear,
  });
  const requeue = useAction<BulkResult, string[]>({
    run: (ids) =>
      forEachJob(ids, (jobId) =>
        api.post('/api/dead-letters/{job_id}/requeue', { path: { job_id: jobId }, body: {} }),
      ),
    done: (result) => bulkSentence('Requeued', result),
    touches: ['jobs', 'dead-letters', 'overview', 'stats'],
    afterwards: onClear,
  });
  const act = async (kind: Control) => {
    const ids = picked.filter(({ status }) => isLegal(kind, status)).map(({ jobId }) => jobId);
    const asked = `${words[kind]} ${plural(ids.length, 'job')}`;
    if (
      kind === 'cancel' &&
      !(await confirm({ title: `${asked}?`, consequence: cancelConsequence, action: asked, isDanger: true }))
    ) {
      return;
    }
    control.run({ control: kind, ids });
  };
  const letters = picked.filter(({ status }) => status === 'dead_letter').map(({ jobId }) => jobId);
  return (
    <SelectBar count={picked.length} noun="job" onClear={onClear}>
      {picked.some(({ status }) => isSteerable(status, canRequeue)) ? null : (
        <span className="dim">Jobs that have ended cannot be controlled any more.</span>
      )}
      {controls.map((kind) => {
        const able = picked.filter(({ status }) => isLegal(kind, status)).length;
        return able === 0 ? null : (
          <Button
            key={kind}
            variant={kind === 'cancel' ? 'outline' : 'default'}
            color={kind === 'cancel' ? 'red' : 'gray'}
            loading={control.isRunning}
            onClick={() => void act(kind)}
          >
            {words[kind]} {plural(able, 'job')}
          </Button>
        );
      })}
      {letters.length === 0 || !canRequeue ? null : (
        <Button loading={requeue.isRunning} onClick={() => requeue.run(letters)}>
          Requeue {plural(letters.length, 'dead letter')}
        </Button>
      )}
    </SelectBar>
  );
}

function isSteerable(status: Job['status'], canRequeue: boolean): boolean {
  return controls.some((kind) => isLegal(kind, status)) || (status === 'dead_letter' && canRequeue);
}

const cancelConsequence =
  'They stop at once. Where the pipeline can, what they added so far is removed. ' +
  'A canceled job cannot be resumed.';
