import { Button, Menu } from '@mantine/core';
import { useState } from 'react';
import { ApiProblem, api, type Reply, urlOf } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Job } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Icon, type IconName } from '../../parts/icons.tsx';
import { durationText } from '../../parts/moments.ts';
import { notifyDone, notifyProblem } from '../../parts/notify.ts';
import { bytes, count, plural } from '../../parts/number.ts';
import { useGo } from '../../parts/to.tsx';
import { type Control, controlJob, controls, controlVerb, isLegal } from '../jobs/job-control.ts';
import { useFailures } from './failures-panel.tsx';
import { canRestart, countOf, type ItemJob, itemJobName } from './item-job.ts';
import { openStatuses } from './item-status.ts';
import { useReprocess } from './reprocess.ts';

const looks: Record<Control, { word: string; icon: IconName }> = {
  pause: { word: 'Pause', icon: 'pause' },
  resume: { word: 'Resume', icon: 'play' },
  cancel: { word: 'Cancel', icon: 'stop' },
};

const touches = ['items', 'pending', 'jobs', 'overview', 'stats'] as const;

/** What the job's state and the role allow, the most likely first. */
export function ItemActions({ job }: { job: ItemJob }) {
  const canControl = useCan('job.control');
  const canReprocess = useCan('item.control');
  const reprocess = useReprocess(() => {});
  const canReset = canReprocess && job.failedItems > 0 && canRestart(job);
  const failures = useFailures(job);
  // Trying again is the main action only where it can help; otherwise rows have to be corrected first.
  const canHelp = failures.data?.data.some(({ canRetry }) => canRetry) === true;
  return (
    <>
      {canReset ? (
        <Button
          variant={canHelp ? 'filled' : 'default'}
          leftSection={<Icon name="retry" size={13} />}
          loading={reprocess.isRunning}
          onClick={() => reprocess.run({ jobId: job.jobId, statuses: ['ERROR', 'NOT_FOUND'] })}
        >
          Reprocess {count(job.failedItems)} failed
        </Button>
      ) : null}
      {canControl ? (
        <Controls job={job} />
      ) : (
        <span className="dim small">Your role can read jobs but not control them.</span>
      )}
      <ExportMenu job={job} />
      {canReprocess ? <DeleteJob job={job} /> : null}
    </>
  );
}

/** Only for a job that has ended. */
function DeleteJob({ job }: { job: ItemJob }) {
  const go = useGo();
  const remove = useAction<unknown>({
    run: () => api.delete('/api/jobs/{job_id}', { path: { job_id: job.jobId } }),
    done: () => `Deleted ${itemJobName(job)}.`,
    touches,
    afterwards: () => go('/items'),
  });
  if (!['success', 'canceled', 'dead_letter'].includes(job.status) || job.cleanupOpen) return null;
  const ask = async () => {
    const question = {
      title: `Delete ${itemJobName(job)}?`,
      consequence: `${plural(job.totalItems, 'row')}, their results and files will be removed for good.`,
      action: 'Delete job',
      isDanger: true,
    };
    if (await confirm(question)) remove.run();
  };
  return (
    <Button variant="outline" color="red" loading={remove.isRunning} onClick={() => void ask()}>
      Delete
    </Button>
  );
}

function Controls({ job }: { job: ItemJob }) {
  const control = useAction<Job, Control>({
    run: (kind) => controlJob(kind, job.jobId),
    done: (_, kind) => `${controlVerb(kind)}: ${itemJobName(job)}.`,
    touches,
  });
  const act = async (kind: Control) => {
    const open = countOf(job.counts, openStatuses);
    const question = {
      title: `Cancel ${itemJobName(job)}?`,
      consequence: `${plural(open, 'open row')} will be skipped; ${plural(
        job.processedItems,
        'row',
      )} that ended stay unchanged. A canceled job cannot be resumed.`,
      action: 'Cancel job',
      isDanger: true,
    };
    if (kind !== 'cancel' || (await confirm(question))) control.run(kind);
  };
  return (
    <>
      <Kickoff job={job} />
      {controls
        .filter((kind) => isLegal(kind, job.status))
        .map((kind) => (
          <Button
            key={kind}
            variant={kind === 'cancel' ? 'outline' : 'default'}
            color={kind === 'cancel' ? 'red' : 'gray'}
            leftSection={<Icon name={looks[kind].icon} size={13} />}
            loading={control.isRunning}
            onClick={() => void act(kind)}
          >
            {looks[kind].word}
          </Button>
        ))}
    </>
  );
}

const kickoffMs = 10_000;

/** Processes the job inside a request: for servers without a worker. */
function Kickoff({ job }: { job: ItemJob }) {
  const kickoff = useAction<Reply<'/api/jobs/{job_id}/kickoff', 'post'>>({
    run: () =>
      api.post('/api/jobs/{job_id}/kickoff', {
        path: { job_id: job.jobId },
        query: { durationMs: kickoffMs },
      }),
    done: ({ processed, remaining, elapsedMs }) =>
      `${plural(processed, 'row')} processed in ${durationText(elapsedMs)}; ${count(remaining ?? 0)} left.`,
    touches,
  });
  if (!['queued', 'running'].includes(job.status)) return null;
  return (
    <Button
      variant="default"
      title="The server itself processes this job for ten seconds, in addition to the workers"
      loading={kickoff.isRunning}
      onClick={() => kickoff.run()}
    >
      Process now
    </Button>
  );
}

/** Downloads the grid as a file and shows how much has arrived. */
function ExportMenu({ job }: { job: ItemJob }) {
  const [received, setReceived] = useState<number | null>(null);
  const save = async (format: ExportFormat, isFull = false) => {
    setReceived(0);
    try {
      const file = await download(job, { format, isFull, onProgress: setReceived });
      notifyDone(
        `Exported ${plural(job.totalItems, 'row')} as ${format.toUpperCase()} (${bytes(file.size)}).`,
      );
    } catch (error) {
      notifyProblem(error);
    } finally {
      setReceived(null);
    }
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<Icon name="download" size={13} />}
          disabled={received !== null}
          aria-live="polite"
        >
          {received === null ? 'Export' : `Exporting, ${bytes(received)}`}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void save('csv')}>{plural(job.totalItems, 'row')} as CSV</Menu.Item>
        <Menu.Item onClick={() => void save('xlsx')}>{plural(job.totalItems, 'row')} as XLSX</Menu.Item>
        <Menu.Item onClick={() => void save('parquet')}>{plural(job.totalItems, 'row')} as Parquet</Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => void save('csv', true)}>With input and reasons, as CSV</Menu.Item>
        <Menu.Item onClick={() => void save('xlsx', true)}>With input and reasons, as XLSX</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

type ExportFormat = 'csv' | 'xlsx' | 'parquet';

async function download(
  { jobId, fileName }: ItemJob,
  {
    format,
    isFull,
    onProgress,
  }: { format: ExportFormat; isFull: boolean; onProgress: (received: number) => void },
): Promise<Blob> {
  const more = isFull ? { input: 'true', reasons: 'true' } : {};
  const url = urlOf('/api/jobs/{job_id}/export', { path: { job_id: jobId }, query: { format, ...more } });
  const response = await fetch(url, { method: 'POST' });
  if (!response.ok || response.body === null) {
    throw new ApiProblem(
      response.status,
      (await response.json().catch(() => ({}))) as Record<string, unknown>,
    );
  }
  const parts: BlobPart[] = [];
  let received = 0;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    received += part.value.length;
    onProgress(received);
  }
  const file = new Blob(parts, { type: response.headers.get('content-type') ?? '' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = `${(fileName ?? `job-${jobId}`).replace(/\.\w+$/, '')}-processed.${format}`;
  link.click();
  // The browser has it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return file;
}
