import { api, type Reply } from '../../api/client.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { count, plural } from '../../parts/number.ts';
import type { EndedStatus } from './item-status.ts';

type Answer = Reply<'/api/jobs/{job_id}/reprocess', 'post'>;

export interface Reprocess {
  jobId: string;
  /** Those, or all of the statuses. */
  itemIds?: string[];
  statuses: readonly EndedStatus[];
  /** Only rows that failed for this reason. */
  errorCode?: string | undefined;
  resetAttempts?: boolean;
}

export function postReprocess({
  jobId,
  itemIds,
  statuses,
  errorCode,
  resetAttempts = false,
}: Reprocess): Promise<Answer> {
  const what = itemIds === undefined ? { scope: 'job' as const } : { scope: 'items' as const, itemIds };
  return api.post('/api/jobs/{job_id}/reprocess', {
    path: { job_id: jobId },
    body: {
      ...what,
      statuses: [...statuses],
      ...(errorCode === undefined ? {} : { errorCode }),
      resetAttempts,
    },
  });
}

/** What happened, and what could not. */
export function reprocessSentence({ reset, exhausted }: Pick<Answer, 'reset' | 'exhausted'>): string {
  if (exhausted === 0) {
    return reset === 0 ? 'No row could be reprocessed.' : `${plural(reset, 'row')} will be processed again.`;
  }
  const left = `${plural(exhausted, 'row')} ${exhausted === 1 ? 'has' : 'have'} no attempts left`;
  return reset === 0 ? `${left}.` : `${plural(reset, 'row')} will be processed again; ${left}.`;
}

/** Reprocesses rows; rows without attempts left can then be retried with new attempts. */
export function useReprocess(afterwards: () => void) {
  const action = useAction<Answer, Reprocess>({
    run: postReprocess,
    done: reprocessSentence,
    touches: ['items', 'pending', 'jobs', 'overview', 'stats'],
    afterwards: ({ exhausted }, asked) => {
      afterwards();
      if (exhausted > 0 && asked.resetAttempts !== true) void offerNewAttempts(asked, exhausted);
    },
  });
  const offerNewAttempts = async (asked: Reprocess, exhausted: number) => {
    const isOne = exhausted === 1;
    const wanted = await confirm({
      title: `${plural(exhausted, 'row')} ${isOne ? 'has' : 'have'} no attempts left`,
      consequence: `${isOne ? 'It was' : 'They were'} tried as often as allowed. With new attempts ${
        isOne ? 'it starts' : 'they start'
      } from the first one again, which calls the provider again.`,
      action: `Reprocess ${count(exhausted)} with new attempts`,
    });
    if (wanted) action.run({ ...asked, resetAttempts: true });
  };
  return action;
}
