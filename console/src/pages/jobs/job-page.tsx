import { Button, Skeleton, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import type { Job } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { CountSum } from '../../parts/counts.tsx';
import { Icon } from '../../parts/icons.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { count } from '../../parts/number.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { jobName, ownPage } from '../../parts/pipelines.ts';
import { Problem } from '../../parts/problem.tsx';
import { Progress } from '../../parts/progress.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { useNow } from '../../parts/time.tsx';
import { useGo } from '../../parts/to.tsx';
import { JobActions } from './job-actions.tsx';
import { JobError } from './job-error.tsx';
import { useJobEvents } from './job-events.ts';
import { JobAttempts, JobFacts } from './job-facts.tsx';
import { counterWords, figuresOf, otherCounters } from './job-figures.ts';
import { stateSentence } from './job-sentence.ts';
import { JobTimeline } from './job-timeline.tsx';
import { jobSearch } from './search.ts';
import './jobs.css';

const crumbs = [{ label: 'Jobs', to: '/jobs' }];

export default function JobPage() {
  const { jobId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({
    queryKey: ['jobs', 'one', jobId],
    queryFn: ({ signal }) => api.get('/api/jobs/{job_id}', { path: { job_id: jobId }, signal }),
    // Between events a running job still counts up.
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 2_000 : false),
  });
  const problem =
    error === null ? null : (
      <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
    );
  if (data === undefined) {
    return (
      <Page title="Job" breadcrumbs={crumbs}>
        {problem ?? <Skeleton height={200} />}
      </Page>
    );
  }
  return <JobView job={data} problem={problem} />;
}

function JobView({ job, problem }: { job: Job; problem: React.ReactNode }) {
  const now = useNow();
  const go = useGo();
  const own = ownPage(job);
  return (
    <Page
      title={jobName(job)}
      breadcrumbs={crumbs}
      state={<StatusChip status={job.status} of="job" />}
      sentence={stateSentence(job, now)}
      actions={
        <>
          {own === null ? null : (
            <Button
              variant="default"
              rightSection={<Icon name="chevronRight" size={13} />}
              onClick={() => go(own.href)}
            >
              {own.label}
            </Button>
          )}
          <JobActions job={job} />
        </>
      }
    >
      {problem}
      <JobError job={job} />
      <JobCounts job={job} />
      <JobTabs job={job} />
    </Page>
  );
}

function JobCounts({ job }: { job: Job }) {
  const figures = figuresOf(job);
  if (figures === null) return null;
  const { total, nouns, parts, progress } = figures;
  const isOpen = ['queued', 'running', 'paused', 'failed'].includes(job.status);
  const others = otherCounters(job);
  return (
    <Panel title="Counters">
      <div className="stack">
        <CountSum total={total} noun={nouns[total === 1 ? 0 : 1]} parts={parts} withBar={parts.length > 0} />
        {isOpen && progress !== null ? (
          <Progress
            {...progress}
            noun={nouns[1]}
            isMoving={job.status === 'running'}
            withBar={parts.length === 0}
          />
        ) : null}
        <p className="dim small" hidden={others.length === 0}>
          {others.map(([name, value]) => `${count(value)} ${counterWords(name)}`).join(' · ')}
        </p>
      </div>
    </Panel>
  );
}

function JobTabs({ job }: { job: Job }) {
  const [{ tab = 'events' }, change] = useListState(jobSearch);
  const log = useJobEvents(job);
  return (
    <Tabs value={tab} onChange={(value) => change({ tab: value === 'json' ? 'json' : undefined })}>
      <Tabs.List mb="sm">
        <Tabs.Tab value="events">Timeline</Tabs.Tab>
        <Tabs.Tab value="json">As JSON</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="events">
        <div className="columns">
          <JobTimeline job={job} log={log} />
          <div className="stack">
            <JobAttempts job={job} events={log.events} />
            <JobFacts job={job} />
          </div>
        </div>
      </Tabs.Panel>
      <Tabs.Panel value="json">
        <JsonView value={job} />
      </Tabs.Panel>
    </Tabs>
  );
}
