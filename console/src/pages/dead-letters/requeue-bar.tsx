import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Reply } from '../../api/client.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Icon } from '../../parts/icons.tsx';
import { count, plural } from '../../parts/number.ts';
import { SelectBar } from '../../parts/select-bar.tsx';
import { letterCountsQuery } from './code-chips.tsx';
import { type Requeued, requeueSentence } from './requeue-words.ts';

/** The API's own limit for one call. */
const maxAtOnce = 1_000;
const touches = ['dead-letters', 'jobs', 'overview', 'stats'] as const;

const consequence =
  'Each becomes a new job and runs as soon as a worker is free. Dead letters that were already requeued are left out.';

interface RequeueAllProps {
  filters: { error_code: string | undefined; pipeline: string | undefined };
  shown: number;
  hasMore: boolean;
}

/** "Requeue all 37 dead letters matching", asked once, with the number before and after. */
export function RequeueAll({ filters, shown, hasMore }: RequeueAllProps) {
  const matching = useMatching(filters, { shown, hasMore });
  const all = useAction<Reply<'/api/dead-letters/requeue', 'post'>>({
    run: () => api.post('/api/dead-letters/requeue', { body: { ...filters, limit: maxAtOnce } }),
    done: ({ requeued, skipped }) =>
      requeueSentence({ requeued: requeued.length, skipped: codesOf(skipped) }),
    touches,
  });
  const requeue = async () => {
    const more = matching.isMoreThanLimit
      ? ` At most ${count(maxAtOnce)} are requeued at a time; repeat for the rest.`
      : '';
    const isAgreed = await confirm({
      title: `Requeue ${matching.label}?`,
      consequence: `${consequence}${more}`,
      action: `Requeue ${matching.label}`,
    });
    if (isAgreed) all.run();
  };
  if (matching.total === 0) return <span>All of these were already requeued.</span>;
  return (
    <Button
      variant="default"
      leftSection={<Icon name="retry" size={13} />}
      loading={all.isRunning}
      onClick={() => void requeue()}
    >
      Requeue {matching.label}
    </Button>
  );
}

/** "Requeue 3 dead letters": those that were chosen. */
export function RequeueBar({ chosen, onClear }: { chosen: ReadonlySet<string>; onClear: () => void }) {
  const some = useAction<Requeued, string[]>({
    run: requeueEach,
    done: requeueSentence,
    touches,
    afterwards: onClear,
  });
  return (
    <SelectBar count={chosen.size} noun="dead letter" onClear={onClear}>
      <Button loading={some.isRunning} onClick={() => some.run([...chosen])}>
        Requeue {plural(chosen.size, 'dead letter')}
      </Button>
    </SelectBar>
  );
}

/**
 * How many would be requeued. The list includes dead letters that were already requeued. Only the counts by code
 * separate them, and those have no pipeline, so a list of one pipeline has an upper bound and no exact number.
 */
function useMatching(
  { error_code, pipeline }: RequeueAllProps['filters'],
  { shown, hasMore }: { shown: number; hasMore: boolean },
) {
  const codes = useQuery(letterCountsQuery).data?.data;
  const counted = (codes ?? [])
    .filter((row) => error_code === undefined || row.error_code === error_code)
    .reduce((sum, row) => sum + row.count - row.requeued, 0);
  if (codes !== undefined && pipeline === undefined) {
    return {
      total: counted,
      label: `all ${plural(counted, 'dead letter')} matching`,
      isMoreThanLimit: counted > maxAtOnce,
    };
  }
  const label = hasMore ? 'all matching dead letters' : `up to ${plural(shown, 'dead letter')} matching`;
  return { total: shown, label, isMoreThanLimit: hasMore };
}

async function requeueEach(jobIds: string[]): Promise<Requeued> {
  const result: Requeued = { requeued: 0, skipped: [] };
  for (const jobId of jobIds) {
    try {
      await api.post('/api/dead-letters/{job_id}/requeue', { path: { job_id: jobId }, body: {} });
      result.requeued += 1;
    } catch (error) {
      result.skipped.push(codeOf(error));
    }
  }
  return result;
}

function codeOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code);
  throw error;
}

function codesOf(skipped: readonly { code: string }[]): string[] {
  return skipped.map(({ code }) => code);
}
