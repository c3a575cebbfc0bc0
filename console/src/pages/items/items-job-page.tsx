import { Skeleton, Tabs } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useListState } from '../../list-state.ts';
import { CountBar } from '../../parts/counts.tsx';
import { Empty } from '../../parts/empty.tsx';
import { count, plural } from '../../parts/number.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Progress } from '../../parts/progress.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { useNow } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { JobError } from '../jobs/job-error.tsx';
import { stateSentence } from '../jobs/job-sentence.ts';
import { ControlTab } from './control-tab.tsx';
import { ItemActions } from './item-actions.tsx';
import { asItemJob, countOf, type ItemJob, itemJobName, itemParts, useItemJob } from './item-job.ts';
import { openStatuses } from './item-status.ts';
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
      state={<StatusChip status={job.status} of="job" />}
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
      <ItemTabs job={job} />
    </Page>
  );
}

/** A canceled job keeps its rows: open ones are skipped. */
function sentenceOf(job: ItemJob, nowMs: number): string {
  if (job.status !== 'canceled' || !job.cleanupOpen) return stateSentence(job, nowMs);
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
