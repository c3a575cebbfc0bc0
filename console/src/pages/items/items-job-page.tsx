import { Skeleton, Tabs } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useListState } from '../../list-state.ts';
import { CountBar } from '../../parts/counts.tsx';
import { Empty } from '../../parts/empty.tsx';
import { durationText } from '../../parts/moments.ts';
import { count, plural } from '../../parts/number.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Progress } from '../../parts/progress.tsx';
import { useNow } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { JobError } from '../jobs/job-error.tsx';
import { stateSentence } from '../jobs/job-sentence.ts';
import { ControlTab } from './control-tab.tsx';
import { FailuresPanel } from './failures-panel.tsx';
import { ItemActions } from './item-actions.tsx';
import { asItemJob, countOf, type ItemJob, itemJobName, itemParts, useItemJob } from './item-job.ts';
import { openStatuses } from './item-status.ts';
import { NoteList } from './note-list.tsx';
import { OutcomeChip } from './outcome-chip.tsx';
import { PendingTab } from './pending-tab.tsx';
import { RowsTab } from './rows-tab.tsx';
import { itemSearch } from './search.ts';
import './items.css';

const crumbs = [{ label: 'Items', to: '/items' }];

export default function ItemsJobPage() {
  const { jobId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useItemJob(jobId);
  const problem =
    error === null ? null : (
      <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
    );
  if (data === undefined) {
    return (
      <Page title="Items" breadcrumbs={crumbs}>
        {problem ?? <Skeleton height={240} />}
      </Page>
    );
  }
  const job = asItemJob(data);
  if (job === null) {
    return (
      <Page title="Items" breadcrumbs={crumbs}>
        <Empty
          sentence={`Job ${jobId} belongs to the pipeline ${data.pipeline} and has no rows.`}
          button={<To href={`/jobs/${jobId}`}>Open job</To>}
        />
      </Page>
    );
  }
  return <ItemJobView key={job.jobId} job={job} problem={problem} />;
}

function ItemJobView({ job, problem }: { job: ItemJob; problem: ReactNode }) {
  const now = useNow();
  return (
    <Page
      title={itemJobName(job)}
      breadcrumbs={crumbs}
      state={<OutcomeChip job={job} />}
      sentence={
        <span className="items-sentence">
          {sentenceOf(job, now)} Processor <b>{job.processor}</b>.{' '}
          <To href={`/jobs/${job.jobId}`}>Job timeline and details</To>
        </span>
      }
      actions={<ItemActions job={job} />}
    >
      {problem}
      <JobError job={job} />
      <Sum job={job} />
      <NoteList notes={job.notes ?? []} />
      <FailuresPanel job={job} />
      <ItemTabs job={job} />
    </Page>
  );
}

/** How long it waited for a worker, and how long it ran. */
function timesOf({ status, createdAt, startedAt, finishedAt }: ItemJob): string {
  if (startedAt === null) return '';
  const queued = durationText(Math.max(0, Date.parse(startedAt) - Date.parse(createdAt)));
  // The sentence of a job that is done says how long it took.
  if (status === 'success' || finishedAt === null) return ` It was queued for ${queued}.`;
  const ran = durationText(Date.parse(finishedAt) - Date.parse(startedAt));
  return ` It was queued for ${queued} and ran ${ran}.`;
}

/** A canceled job keeps its rows: open ones are skipped. */
function sentenceOf(job: ItemJob, nowMs: number): string {
  if (job.status !== 'canceled' || !job.cleanupOpen) return `${stateSentence(job, nowMs)}${timesOf(job)}`;
  const open = countOf(job.counts, openStatuses);
  return `Canceled; ${plural(open, 'open row')} ${open === 1 ? 'is' : 'are'} being skipped.`;
}

/** The progress; the chips above the rows show the sum. */
function Sum({ job }: { job: ItemJob }) {
  const parts = itemParts(job.counts).filter(({ value }) => value > 0);
  const isOpen = ['queued', 'running', 'paused'].includes(job.status);
  if (!isOpen) return <CountBar total={job.totalItems} parts={parts} />;
  return (
    <Progress
      done={job.processedItems}
      total={job.totalItems}
      noun="rows"
      isMoving={job.status === 'running'}
    />
  );
}

function ItemTabs({ job }: { job: ItemJob }) {
  const [{ tab = 'rows' }, change] = useListState(itemSearch);
  const open = countOf(job.counts, openStatuses);
  return (
    <Tabs
      value={tab}
      keepMounted={false}
      onChange={(value) => change({ tab: value === 'pending' || value === 'control' ? value : undefined })}
    >
      <Tabs.List mb="sm">
        <Tabs.Tab value="rows">Rows</Tabs.Tab>
        <Tabs.Tab value="pending">Pending{open === 0 ? '' : ` (${count(open)})`}</Tabs.Tab>
        <Tabs.Tab value="control">Control</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="rows">
        <RowsTab job={job} />
      </Tabs.Panel>
      <Tabs.Panel value="pending">
        <PendingTab job={job} />
      </Tabs.Panel>
      <Tabs.Panel value="control">
        <ControlTab job={job} />
      </Tabs.Panel>
    </Tabs>
  );
}
